/** Programs that run another one named by their arguments or their input: what they would run. */
import { type Field, field, isUnknown, programName } from "./field.ts";
import { findRuns } from "./find.ts";
import { leadingOptions, type OptionShape } from "./options.ts";
import { screenRuns, tmuxRuns } from "./terminals.ts";
import { assignments, type Input, joined, plain, rest, runs, script, type Wrapped, type Wrapper } from "./wrapped.ts";
import { afterDashes, containers, ssh } from "./wrapped-elsewhere.ts";
import { crontab, evaluate, later, nixShell, shell, source, su, sudo, trap } from "./wrapped-shells.ts";
import { parallelRuns, xargsRuns } from "./xargs.ts";

/** What the program would run; undefined: it is no wrapper. */
export function unwrap(argv: readonly Field[], input: Input): Wrapped | undefined {
  const name = programName(argv[0]?.value ?? "");
  const wrapper = Object.hasOwn(WRAPPERS, name)
    ? WRAPPERS[name]
    : /^ld(-linux[\w-]*)?\.so(\.\d+)*$/.test(name)
      ? plain({})
      : undefined;
  return wrapper?.(argv, input);
}

const env: Wrapper = (argv) => {
  const shape: OptionShape = {
    flags: "i0v",
    values: "uCSa",
    long: [
      "ignore-environment",
      "null",
      "debug",
      "list-signal-handling",
      "help",
      "version",
      "block-signal",
      "default-signal",
      "ignore-signal",
    ],
    longValues: ["unset", "chdir", "split-string", "argv0"],
  };
  const words = argv.map((word) => (word.value === "-" ? field("-i") : word));
  let uncertain: string | undefined;
  // -S puts the words of its value where it stood, and options go on from there.
  for (let i = 1, rounds = 0; i < words.length && rounds < 4; i++) {
    const word = (words[i] as Field).value;
    const match = /^(-[i0v]*S|--split-string=)([^]*)$/.exec(word);
    const text = word === "--split-string" || match?.[2] === "" ? words[i + 1]?.value : match?.[2];
    if (text === undefined) {
      if (/^-[uC]$|^--(?:unset|chdir)$/.test(word)) i++;
      else if (!word.startsWith("-")) break;
      continue;
    }
    if (isUnknown(text)) uncertain = "what env -S splits cannot be known";
    const split = text
      .split(/[ \t\n]+/)
      .filter((item) => item !== "")
      .map((item) => field(item.replace(/^(['"])(.*)\1$/, "$2").replaceAll("\\_", " ")));
    words.splice(i, match === null || match[2] === "" ? 2 : 1, ...split);
    i--;
    rounds++;
  }
  const options = leadingOptions(words, 1, shape);
  const { at, assigns } = assignments(words, options.at);
  const chdir = (options.seen.get("C") ?? options.seen.get("chdir"))?.value;
  const inner = rest(words, at);
  const same = argv.every((word, index) => word.value === words[index]?.value);
  return {
    harmless: true,
    assigns,
    ...(inner.length === 0 ? {} : { commands: [inner] }),
    ...(same ? { at } : {}),
    ...(chdir === undefined ? {} : { cwd: chdir }),
    ...(uncertain !== undefined || options.odd
      ? { uncertain: uncertain ?? "env with options that cannot be known" }
      : {}),
  };
};

const nice: Wrapper = (argv) => {
  const first = argv[1]?.value ?? "";
  if (/^-\d+$/.test(first) || /^--\d+$/.test(first)) return runs(argv, { at: 2, seen: new Map(), odd: false }, 2, true);
  return plain(
    { values: "n", longValues: ["adjustment"], long: ["help", "version"] },
    0,
    true,
  )(argv, { kind: "inherited" });
};

const timeout: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, {
    flags: "vfp",
    values: "ks",
    longValues: ["kill-after", "signal"],
    long: ["preserve-status", "foreground", "verbose", "help", "version"],
  });
  return runs(argv, options, options.at + 1, true);
};

/** With -p and friends they change a running process; with a command they only start it differently. */
function scheduler(shape: OptionShape, operands: number, onPid: string): Wrapper {
  return (argv) => {
    const options = leadingOptions(argv, 1, shape);
    if ([...options.seen.keys()].some((letter) => onPid.includes(letter) || letter === "pid"))
      return { harmless: false };
    return runs(argv, options, options.at + operands, true);
  };
}

const watch: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, {
    flags: "bcCegtwxdrpfv",
    values: "nqs",
    longValues: ["interval", "equexit", "shotsdir"],
    long: [
      "beep",
      "color",
      "no-color",
      "differences",
      "errexit",
      "chgexit",
      "precise",
      "no-title",
      "no-wrap",
      "exec",
      "no-rerun",
    ],
  });
  if (options.seen.has("x") || options.seen.has("exec")) return runs(argv, options, options.at, false);
  return { harmless: false, scripts: [script(joined(rest(argv, options.at)))] };
};

const scriptCommand: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, {
    flags: "aefqr",
    values: "cEIBOTmt",
    longValues: ["command", "log-in", "log-out", "log-io", "log-timing", "echo", "output-limit", "logging-format"],
    long: ["append", "flush", "quiet", "return", "force", "timing"],
  });
  const text =
    options.seen.get("c") ??
    options.seen.get("command") ??
    argv.slice(options.at).find((_, i, list) => list[i - 1]?.value === "-c");
  return { harmless: false, ...(text === undefined ? {} : { scripts: [script(text.value)] }) };
};

const flock: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, {
    flags: "sxenouFv",
    values: "wE",
    longValues: ["timeout", "wait", "conflict-exit-code"],
    long: ["shared", "exclusive", "nonblock", "nb", "close", "unlock", "no-fork", "verbose"],
  });
  const next = argv[options.at + 1]?.value;
  if (next === "-c" || next === "--command") return { harmless: false, scripts: [script(argv[options.at + 2]?.value)] };
  return runs(argv, options, options.at + 1, false);
};

const commandBuiltin: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, { flags: "pvV" });
  if (options.seen.has("v") || options.seen.has("V")) return { harmless: true };
  // -p looks programs up in the system's own path: the same program by name.
  return runs(argv, options, options.at, true);
};

const applets: Wrapper = (argv) => {
  const first = argv[1]?.value ?? "";
  if (first === "" || first.startsWith("--"))
    return { harmless: first === "--help" || first === "--list" || first === "" };
  return runs(argv, { at: 1, seen: new Map(), odd: false }, 1, true);
};

const su1: Wrapper = plain({}, 1, false, { privileged: true });

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  bash: shell,
  sh: shell,
  dash: shell,
  zsh: shell,
  ksh: shell,
  ksh93: shell,
  mksh: shell,
  ash: shell,
  rbash: shell,
  fish: shell,
  yash: shell,
  lksh: shell,
  posh: shell,
  csh: shell,
  tcsh: shell,
  sudo,
  doas: plain({ flags: "Lns", values: "aCu" }, 0, false, { privileged: true }),
  su,
  runuser: su,
  sg: su,
  pkexec: plain({ longValues: ["user"], long: ["disable-internal-agent", "keep-cwd"] }, 0, false, { privileged: true }),
  run0: plain(
    {
      flags: "n",
      values: "ugDE",
      longValues: ["user", "group", "chdir", "setenv", "background", "unit", "nice"],
      long: ["pipe", "pty"],
    },
    0,
    false,
    { privileged: true },
  ),
  gosu: su1,
  "su-exec": su1,
  setpriv: plain(
    {
      longValues: [
        "reuid",
        "regid",
        "groups",
        "inh-caps",
        "ambient-caps",
        "bounding-set",
        "securebits",
        "pdeathsig",
        "selinux-label",
        "apparmor-profile",
      ],
      long: ["clear-groups", "keep-groups", "init-groups", "reset-env", "no-new-privs", "nnp"],
    },
    0,
    false,
    { privileged: true },
  ),
  chroot: plain({ longValues: ["userspec", "groups"], long: ["skip-chdir"] }, 1, false, { privileged: true }),
  nsenter: plain(
    {
      flags: "ZFeamnpuiUCT",
      values: "tSGrw",
      longValues: ["target", "setuid", "setgid", "root", "wd"],
      long: ["all", "mount", "uts", "ipc", "net", "pid", "user", "cgroup", "time", "no-fork", "preserve-credentials"],
    },
    0,
    false,
    { privileged: true },
  ),
  unshare: plain({
    flags: "muinpUCTfrc",
    values: "RwSG",
    longValues: ["root", "wd", "setuid", "setgid", "propagation"],
    long: [
      "mount",
      "uts",
      "ipc",
      "net",
      "pid",
      "user",
      "cgroup",
      "time",
      "fork",
      "map-root-user",
      "map-current-user",
      "mount-proc",
      "keep-caps",
      "kill-child",
    ],
  }),
  "systemd-run": plain({
    flags: "qdGtPSrC",
    values: "pMHuE",
    longValues: [
      "property",
      "machine",
      "host",
      "unit",
      "description",
      "slice",
      "service-type",
      "uid",
      "gid",
      "nice",
      "working-directory",
      "setenv",
      "on-active",
      "on-boot",
      "on-calendar",
      "timer-property",
    ],
    long: [
      "user",
      "system",
      "scope",
      "remain-after-exit",
      "send-sighup",
      "no-block",
      "wait",
      "pty",
      "pipe",
      "quiet",
      "collect",
      "shell",
      "same-dir",
    ],
  }),
  "systemd-inhibit": plain({ longValues: ["what", "who", "why", "mode"], long: ["list"] }),
  "dbus-run-session": plain({ longValues: ["config-file", "dbus-daemon"] }),
  fakeroot: plain({ flags: "uhv", values: "lsibf" }),
  unbuffer: plain({ flags: "p" }),
  "xvfb-run": plain({
    flags: "al",
    values: "efnps",
    longValues: ["server-args", "server-num", "auth-file", "error-file", "xauth-protocol"],
    long: ["auto-servernum", "listen-tcp"],
  }),
  torsocks: plain({}),
  proxychains: plain({ flags: "q", values: "f" }),
  proxychains4: plain({ flags: "q", values: "f" }),
  rlwrap: plain({ flags: "acimnrRvz" }),
  caffeinate: plain({ flags: "disu", values: "tw" }),
  strace: plain({ flags: "cCdDfFhikqrtTvVwxyYzZ", values: "abeEIoOpPsSuUX" }),
  ltrace: plain({ flags: "bcCdfhilLrStttV", values: "aeFlnopsuxw" }),
  valgrind: plain({ flags: "dqv" }),
  nohup: plain({}),
  setsid: plain({ flags: "cfw", long: ["ctty", "fork", "wait"] }),
  stdbuf: plain({ values: "ioe", longValues: ["input", "output", "error"] }, 0, true),
  nice,
  timeout,
  ionice: scheduler(
    { flags: "t", values: "cnpPu", longValues: ["class", "classdata", "pid", "pgid", "uid"], long: ["ignore"] },
    0,
    "pPu",
  ),
  chrt: scheduler(
    {
      flags: "abdfimorvR",
      values: "pTPD",
      longValues: ["pid"],
      long: ["batch", "deadline", "fifo", "idle", "max", "other", "rr"],
    },
    1,
    "p",
  ),
  taskset: scheduler({ flags: "ac", values: "p", longValues: ["pid"], long: ["all-tasks", "cpu-list"] }, 1, "p"),
  numactl: plain({
    flags: "asH",
    values: "imNCp",
    longValues: ["interleave", "membind", "cpunodebind", "physcpubind", "preferred"],
    long: ["localalloc", "all", "show", "hardware"],
  }),
  prlimit: plain({}),
  cpulimit: plain({ values: "leP", flags: "fizv" }),
  time: plain(
    {
      flags: "apvqV",
      values: "fo",
      longValues: ["format", "output"],
      long: ["append", "portability", "quiet", "verbose"],
    },
    0,
    false,
  ),
  watch,
  script: scriptCommand,
  flock,
  ssh,
  autossh: ssh,
  mosh: afterDashes(undefined),
  sshpass: plain({ flags: "ev", values: "fdpP" }),
  env,
  xargs: xargsRuns,
  parallel: parallelRuns,
  find: findRuns,
  gfind: findRuns,
  docker: containers,
  podman: containers,
  nerdctl: containers,
  "docker-compose": containers,
  kubectl: afterDashes("exec"),
  oc: afterDashes("exec"),
  k3s: afterDashes("exec"),
  lxc: afterDashes("exec"),
  incus: afterDashes("exec"),
  "aws-vault": afterDashes("exec"),
  op: afterDashes("run"),
  "lxc-attach": afterDashes(undefined),
  machinectl: afterDashes("shell"),
  direnv: (argv) => (argv[1]?.value === "exec" ? { harmless: false, commands: [rest(argv, 3)], at: 3 } : undefined),
  command: commandBuiltin,
  builtin: plain({}, 0, true),
  exec: plain({ flags: "cl", values: "a" }),
  eval: evaluate,
  source,
  ".": source,
  trap,
  noglob: plain({}, 0, true),
  nocorrect: plain({}, 0, true),
  busybox: applets,
  toybox: applets,
  at: later,
  batch: later,
  crontab,
  "nix-shell": nixShell,
  nix: nixShell,
  tmux: tmuxRuns,
  screen: screenRuns,
  entr: plain({ flags: "acdnprsz" }),
};

export function isPrivileging(name: string): boolean {
  return PRIVILEGING.has(name);
}
const PRIVILEGING = new Set(["sudoedit", "visudo", "vipw", "vigr", "newgrp", "kdesu", "gksu", "gksudo", "setcap"]);
