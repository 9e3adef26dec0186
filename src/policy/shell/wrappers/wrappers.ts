/** The table of wrappers: programs that run a command given in their arguments or input. */
import { words } from "../../../lib/text.ts";
import { type Field, programName } from "../syntax/field.ts";
import { env, flock, nice, scheduler, scriptCommand, timeout, watch } from "./environment.ts";
import { findRuns } from "./find.ts";
import {
  awkRuns,
  clientRuns,
  editorRuns,
  javaScript,
  makeRuns,
  otherLanguage,
  sedRuns,
  tarRuns,
} from "./other-languages.ts";
import { afterDashes, containers, screenRuns, ssh, tmuxRuns } from "./other-machines.ts";
import { callback, crontab, evaluate, keyBinding, later, nixShell, shell, source, su, sudo, trap } from "./shells.ts";
import { LOOSE } from "./unknown-options.ts";
import { type Input, leadingOptions, plain, runs, script, type Wrapped, type Wrapper } from "./wrapped.ts";
import { parallelRuns, xargsRuns } from "./xargs.ts";

/** What the program would run; undefined if it is not a wrapper. */
export function unwrap(argv: readonly Field[], input: Input): Wrapped | undefined {
  const name = programName(argv[0]?.value ?? "");
  if (argv.length === 2 && argv[1]?.value.startsWith("-") === true && REPORTS.has(name)) return undefined;
  const wrapper = Object.hasOwn(WRAPPERS, name)
    ? WRAPPERS[name]
    : Object.hasOwn(LOOSE, name)
      ? LOOSE[name]
      : /^ld(-linux[\w-]*)?\.so(\.\d+)*$/.test(name)
        ? plain({})
        : undefined;
  return wrapper?.(argv, input);
}

/** With a single option these run nothing: the read-only table lists the options that only print something. */
const REPORTS = new Set(words("ssh strace ltrace numactl"));

/** With a process id it shows or sets the limits of that process. */
const prlimit: Wrapper = (argv, input) =>
  argv.some(({ value }) => /^(?:-[a-z]*p|--pid)/.test(value)) ? undefined : plain({})(argv, input);

const commandBuiltin: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, { flags: "pvV" });
  if (options.seen.has("v") || options.seen.has("V")) return { harmless: true };
  // -p looks the program up in the system's default path.
  return runs(argv, options, options.at, true);
};

const applets: Wrapper = (argv) => {
  const first = argv[1]?.value ?? "";
  if (first === "" || first.startsWith("--"))
    return { harmless: first === "--help" || first === "--list" || first === "" };
  return runs(argv, { at: 1, seen: new Map(), odd: false }, 1, true);
};

const entr: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, { flags: "acdnprsxz" });
  return options.seen.has("s")
    ? { harmless: false, scripts: [script(argv[options.at]?.value)] }
    : runs(argv, options, options.at, false);
};

/** `ip netns exec NAME command`, `ip vrf exec NAME command`. */
const ip: Wrapper = (argv) => {
  const at = argv.findIndex((word, index) => index > 0 && /^(?:netns?|vrf)$/.test(word.value));
  const verb = argv[at + 1]?.value ?? "";
  return at > 0 && /^e(?:x(?:ec?)?)?$/.test(verb)
    ? { harmless: false, commands: [argv.slice(at + 3)], at: at + 3 }
    : undefined;
};

const named = (names: string, wrapper: Wrapper) => Object.fromEntries(words(names).map((name) => [name, wrapper]));

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  ...named("bash sh dash zsh ksh ksh93 mksh ash rbash fish yash lksh posh csh tcsh", shell),
  sudo,
  doas: plain({ flags: "Lns", values: "aCu" }, 0, false, { privileged: true }),
  ...named("su runuser sg", su),
  pkexec: plain({ longValues: "user", long: "disable-internal-agent keep-cwd" }, 0, false, { privileged: true }),
  run0: plain(
    {
      flags: "n",
      values: "ugDE",
      longValues: "user group chdir setenv background unit nice",
      long: "pipe pty",
    },
    0,
    false,
    { privileged: true },
  ),
  ...named("gosu su-exec", plain({}, 1, false, { privileged: true })),
  setpriv: plain(
    {
      longValues:
        "reuid regid groups inh-caps ambient-caps bounding-set securebits pdeathsig selinux-label apparmor-profile",
      long: "clear-groups keep-groups init-groups reset-env no-new-privs nnp",
    },
    0,
    false,
    { privileged: true },
  ),
  chroot: plain({ longValues: "userspec groups", long: "skip-chdir" }, 1, false, { privileged: true }),
  nsenter: plain(
    {
      flags: "ZFeamnpuiUCT",
      values: "tSGrw",
      longValues: "target setuid setgid root wd",
      long: "all mount uts ipc net pid user cgroup time no-fork preserve-credentials",
    },
    0,
    false,
    { privileged: true },
  ),
  unshare: plain({
    flags: "muinpUCTfrc",
    values: "RwSG",
    longValues: "root wd setuid setgid propagation",
    long: "mount uts ipc net pid user cgroup time fork map-root-user map-current-user mount-proc keep-caps kill-child",
  }),
  "systemd-run": plain({
    flags: "qdGtPSrC",
    values: "pMHuE",
    longValues:
      "property machine host unit description slice service-type uid gid nice working-directory setenv on-active on-boot on-calendar timer-property",
    long: "user system scope remain-after-exit send-sighup no-block wait pty pipe quiet collect shell same-dir",
  }),
  "systemd-inhibit": plain({ longValues: "what who why mode", long: "list" }),
  "dbus-run-session": plain({ longValues: "config-file dbus-daemon" }),
  fakeroot: plain({ flags: "uhv", values: "lsibf" }),
  unbuffer: plain({ flags: "p" }),
  "xvfb-run": plain({
    flags: "al",
    values: "efnps",
    longValues: "server-args server-num auth-file error-file xauth-protocol",
    long: "auto-servernum listen-tcp",
  }),
  ...named("torsocks nohup", plain({})),
  prlimit,
  ...named("proxychains proxychains4", plain({ flags: "q", values: "f" })),
  rlwrap: plain({ flags: "acimnrRvz" }),
  caffeinate: plain({ flags: "disu", values: "tw" }),
  strace: plain({ flags: "cCdDfFhikqrtTvVwxyYzZ", values: "abeEIoOpPsSuUX" }),
  ltrace: plain({ flags: "bcCdfhilLrStttV", values: "aeFlnopsuxw" }),
  setsid: plain({ flags: "cfw", long: "ctty fork wait" }),
  stdbuf: plain({ values: "ioe", longValues: "input output error" }, 0, true),
  nice,
  timeout,
  ionice: scheduler(
    { flags: "t", values: "cnpPu", longValues: "class classdata pid pgid uid", long: "ignore" },
    0,
    "pPu",
  ),
  chrt: scheduler(
    {
      flags: "abdfimorvR",
      values: "pTPD",
      longValues: "pid",
      long: "batch deadline fifo idle max other rr",
    },
    1,
    "p",
  ),
  taskset: scheduler({ flags: "ac", values: "p", longValues: "pid", long: "all-tasks cpu-list" }, 1, "p"),
  numactl: plain({
    flags: "asH",
    values: "imNCp",
    longValues: "interleave membind cpunodebind physcpubind preferred",
    long: "localalloc all show hardware",
  }),
  cpulimit: plain({ values: "leP", flags: "fizv" }),
  time: plain(
    {
      flags: "apvqV",
      values: "fo",
      longValues: "format output",
      long: "append portability quiet verbose",
    },
    0,
    false,
  ),
  watch,
  script: scriptCommand,
  flock,
  ...named("ssh autossh slogin rsh remsh", ssh),
  mosh: afterDashes(undefined),
  sshpass: plain({ flags: "ev", values: "fdpP" }),
  env,
  xargs: xargsRuns,
  parallel: parallelRuns,
  ...named("find gfind", findRuns),
  ...named("docker podman nerdctl docker-compose", containers),
  ip,
  kubectl: afterDashes(/^(?:exec|run|debug)$/),
  oc: afterDashes(/^(?:exec|rsh|run|debug)$/),
  ...named("k3s lxc incus aws-vault", afterDashes(/^exec$/)),
  op: afterDashes(/^run$/),
  "lxc-attach": afterDashes(undefined),
  machinectl: afterDashes(/^shell$/),
  direnv: (argv) => (argv[1]?.value === "exec" ? { harmless: false, commands: [argv.slice(3)], at: 3 } : undefined),
  command: commandBuiltin,
  builtin: plain({}, 0, true),
  exec: plain({ flags: "cl", values: "a" }),
  eval: evaluate,
  ...named("source .", source),
  trap,
  ...named("mapfile readarray compgen complete", callback),
  bind: keyBinding,
  ...named("noglob nocorrect", plain({}, 0, true)),
  ...named("busybox toybox", applets),
  ...named("at batch", later),
  crontab,
  ...named("nix nix-shell", nixShell),
  ...named("python python2 python3 perl ruby php lua emacs emacsclient osascript tclsh guile", otherLanguage),
  ...named("psql mysql mariadb sqlite3 expect", clientRuns),
  ...named("node nodejs deno bun", javaScript),
  ...named("awk gawk mawk nawk original-awk", awkRuns),
  ...named("sed gsed", sedRuns),
  ...named("vi vim nvim ex view", editorRuns),
  ...named("tar gtar bsdtar", tarRuns),
  tmux: tmuxRuns,
  screen: screenRuns,
  entr,
  ...named("make gmake", makeRuns),
};

export function isPrivileging(name: string): boolean {
  return PRIVILEGING.has(name);
}
const PRIVILEGING = new Set(["sudoedit", "visudo", "vipw", "vigr", "newgrp", "kdesu", "gksu", "gksudo", "setcap"]);
