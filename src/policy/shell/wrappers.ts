/** Programs that run another one named by their arguments or their input: what they would run. */
import { type Field, field, isUnknown, programName, UNKNOWN } from "./field.ts";
import { leadingOptions, type Options, type OptionShape } from "./options.ts";
import { findRuns } from "./find.ts";
import { xargsRuns, parallelRuns } from "./xargs.ts";
import { tmuxRuns, screenRuns } from "./terminals.ts";

/** What a program's standard input is: the terminal's, known text, or something only the running shell knows. */
export type Input =
  { readonly kind: "inherited" } | { readonly kind: "known"; readonly text: string } | { readonly kind: "unknown" };

export interface InnerScript {
  /** Undefined: only the running shell knows. */
  readonly text: string | undefined;
  /** `$0` and the words after it. */
  readonly positional?: readonly string[];
  /** Runs in a shell of its own: what it assigns is gone afterwards. */
  readonly own: boolean;
}

/** What a wrapper runs. Empty: the program is one, but this use of it runs nothing. */
export interface Wrapped {
  /** The wrapper itself changes nothing; undefined: its row in the read-only table decides. */
  readonly harmless: boolean;
  readonly commands?: readonly (readonly Field[])[];
  /** Index in the wrapper's own words where the inner command starts. */
  readonly at?: number;
  readonly scripts?: readonly InnerScript[];
  readonly assigns?: readonly { readonly name: string; readonly value: string }[];
  readonly uncertain?: string;
  /** Another user's rights. */
  readonly privileged?: boolean;
  /** The command's input is not the wrapper's. */
  readonly input?: Input;
  /** The inner command starts in this directory. */
  readonly cwd?: string;
}

type Wrapper = (argv: readonly Field[], input: Input) => Wrapped | undefined;

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

const rest = (argv: readonly Field[], at: number) => argv.slice(at);

function runs(
  argv: readonly Field[],
  options: Options,
  at: number,
  harmless: boolean,
  more: Partial<Wrapped> = {},
): Wrapped {
  const inner = rest(argv, at);
  if (!options.odd)
    return inner.length === 0 ? { harmless: false, ...more } : { harmless, commands: [inner], at, ...more };
  // Any word from here on may be where the command begins; all of these are looked at.
  const uncertain = `what ${programName(argv[0]?.value ?? "")} runs depends on a word that cannot be known`;
  const begins = argv.flatMap((word, index) => (index > 0 && /^[\w./]/.test(word.value) ? [index] : [])).slice(0, 8);
  return {
    harmless: false,
    commands: [...new Set([at, ...begins])].filter((index) => index < argv.length).map((index) => rest(argv, index)),
    uncertain,
    ...more,
  };
}

/** `prog [options] [operands] command …`. */
function plain(shape: OptionShape, operands = 0, harmless = false, more: Partial<Wrapped> = {}): Wrapper {
  return (argv) => {
    const options = leadingOptions(argv, 1, shape);
    return runs(argv, options, options.at + operands, harmless, more);
  };
}

/** Skips `NAME=value` words, as env and sudo take them. */
function assignments(argv: readonly Field[], from: number): { at: number; assigns: { name: string; value: string }[] } {
  const assigns: { name: string; value: string }[] = [];
  let at = from;
  for (; at < argv.length; at++) {
    const match = /^([A-Za-z_]\w*)=([^]*)$/.exec((argv[at] as Field).value);
    if (match === null) break;
    assigns.push({ name: match[1] as string, value: match[2] as string });
  }
  return { at, assigns };
}

function script(text: string | undefined, own = true, positional?: readonly string[]): InnerScript {
  return { text, own, ...(positional === undefined ? {} : { positional }) };
}

/** A shell that reads what to do from its input. */
function fromInput(input: Input): Partial<Wrapped> {
  switch (input.kind) {
    case "known":
      return { scripts: [script(input.text)], input: { kind: "unknown" } };
    case "unknown":
      return { scripts: [script(undefined)] };
    case "inherited":
      return {};
  }
}

const shell: Wrapper = (argv, input) => {
  const shape: OptionShape = {
    flags: "abefhiklmnprstuvxBCEHPTVcDNqgyLXZ0123456789",
    values: "oO",
    long: [
      "login",
      "posix",
      "norc",
      "noprofile",
      "restricted",
      "verbose",
      "debugger",
      "dump-strings",
      "help",
      "version",
      "noediting",
      "no-config",
      "private",
      "interactive",
      "emacs",
    ],
    longValues: ["rcfile", "init-file", "command", "init-command", "features", "debug"],
  };
  // `+o name` switches an option off.
  const words = argv.map((word) =>
    /^\+[a-zA-Z]+$/.test(word.value) ? { ...word, value: `-${word.value.slice(1)}` } : word,
  );
  const options = leadingOptions(words, 1, shape);
  const { seen } = options;
  const quiet = [...seen.keys()].every(
    (letter) => "ceufxv".includes(letter) || (letter === "o" && seen.get("o")?.value === "pipefail"),
  );
  const uncertain = options.odd ? { uncertain: "a shell with options that cannot be known" } : {};
  if (seen.has("version") || seen.has("help")) return { harmless: argv.length === 2 };
  if (seen.has("c") || seen.has("command")) {
    const long = seen.get("command");
    const text = long ?? argv[options.at];
    const positional = rest(argv, options.at + 1).map((word) => word.value);
    const known = text !== undefined && !(text.value === UNKNOWN);
    return { harmless: quiet, scripts: [script(known ? text.value : undefined, true, positional)], ...uncertain };
  }
  const file = argv[options.at];
  if (file === undefined || seen.has("s") || /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/.test(file.value))
    return { harmless: false, ...fromInput(input), ...uncertain };
  if (file.process === true) return { harmless: false, scripts: [script(file.prints)], ...uncertain };
  return { harmless: false, ...uncertain };
};

const sudo: Wrapper = (argv, input) => {
  const options = leadingOptions(argv, 1, {
    flags: "AbBEeHiKklnPSsvV",
    values: "CcDghpRrTtUu",
    long: [
      "askpass",
      "background",
      "bell",
      "preserve-env",
      "edit",
      "set-home",
      "login",
      "list",
      "non-interactive",
      "preserve-groups",
      "reset-timestamp",
      "remove-timestamp",
      "stdin",
      "shell",
      "validate",
      "version",
      "help",
    ],
    longValues: [
      "close-from",
      "chdir",
      "group",
      "host",
      "prompt",
      "chroot",
      "role",
      "type",
      "command-timeout",
      "other-user",
      "user",
    ],
  });
  const { at, assigns } = assignments(argv, options.at);
  const chdir = (options.seen.get("D") ?? options.seen.get("chdir"))?.value;
  const more: Partial<Wrapped> = { assigns, privileged: true, ...(chdir === undefined ? {} : { cwd: chdir }) };
  if (options.seen.has("e") || options.seen.has("edit") || options.seen.has("l") || options.seen.has("list"))
    return { harmless: false, privileged: true };
  if (at >= argv.length && (options.seen.has("s") || options.seen.has("i")))
    return { harmless: false, ...fromInput(input), ...more };
  // With -s and -i the words are put together again and given to a shell.
  if (options.seen.has("s") || options.seen.has("i"))
    return { harmless: false, scripts: [script(joined(rest(argv, at)))], ...more };
  return runs(argv, options, at, false, more);
};

const su: Wrapper = (argv, input) => {
  const name = programName(argv[0]?.value ?? "");
  const values = new Set(["-s", "--shell", "-g", "--group", "-G", "--supp-group", "-w", "--whitelist-environment"]);
  let user: string | undefined;
  let separated = false;
  for (let i = 1; i < argv.length; i++) {
    const word = (argv[i] as Field).value;
    if (/^-[a-zA-Z]*c$/.test(word) || word === "--command" || word === "--session-command")
      return { harmless: false, privileged: true, scripts: [script(argv[i + 1]?.value)] };
    const given = /^--(?:session-)?command=([^]*)$/.exec(word) ?? /^-c([^]+)$/.exec(word);
    if (given !== null) return { harmless: false, privileged: true, scripts: [script(given[1])] };
    if (values.has(word)) i++;
    else if ((word === "-u" || word === "--user") && name === "runuser") {
      i++;
      separated = true;
    } else if (word === "--" && separated)
      return { harmless: false, privileged: true, commands: [rest(argv, i + 1)], at: i + 1 };
    else if (!word.startsWith("-")) {
      if (separated) return { harmless: false, privileged: true, commands: [rest(argv, i)], at: i };
      // `su user args`: the rest are arguments of that user's shell.
      if (user !== undefined) return { harmless: false, privileged: true, commands: [[field("sh"), ...rest(argv, i)]] };
      user = word;
    }
  }
  return { harmless: false, privileged: true, ...fromInput(input) };
};

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

function joined(words: readonly Field[]): string {
  return words.map((word) => word.value).join(" ");
}

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

const ssh: Wrapper = (argv, input) => {
  const options = leadingOptions(argv, 1, { flags: "46AaCfGgKkMNnqsTtVvXxYy", values: "BbcDEeFIiJLlmOopQRSWw" });
  const after = leadingOptions(argv, options.at + 1, {
    flags: "46AaCfGgKkMNnqsTtVvXxYy",
    values: "BbcDEeFIiJLlmOopQRSWw",
  });
  const command = rest(argv, after.at);
  const proxy = options.seen.get("o")?.value ?? "";
  const local = /^(?:ProxyCommand|LocalCommand)[= ]([^]+)$/i.exec(proxy);
  const scripts = local === null ? [] : [script(local[1])];
  if (command.length === 0) {
    if (options.odd && argv[options.at] !== undefined) scripts.push(script(joined(rest(argv, options.at))));
    return {
      harmless: false,
      ...fromInput(input),
      ...(scripts.length > 0 ? { scripts } : {}),
      ...(options.odd ? { uncertain: "what ssh runs depends on a word that cannot be known" } : {}),
    };
  }
  // An unknown word may be an option or the host: the command is looked for after both.
  if (options.odd && argv[options.at] !== undefined) scripts.push(script(joined(rest(argv, options.at))));
  return {
    harmless: false,
    scripts: [...scripts, script(joined(command))],
    ...(options.odd ? { uncertain: "what ssh runs depends on a word that cannot be known" } : {}),
  };
};

/** docker, podman, nerdctl: exec and run; the command follows the container or image. */
const containers: Wrapper = (argv, input) => {
  const global = leadingOptions(argv, 1, {
    flags: "Dv",
    values: "Hlc",
    longValues: [
      "host",
      "log-level",
      "context",
      "config",
      "connection",
      "url",
      "root",
      "runroot",
      "namespace",
      "tlscacert",
      "tlscert",
      "tlskey",
    ],
    long: ["debug", "tls", "tlsverify", "remote", "version", "help"],
  });
  let at = global.at;
  let verb = argv[at]?.value;
  if (verb === "container" || verb === "compose") {
    const group = leadingOptions(argv, at + 1, {
      values: "fp",
      longValues: ["file", "project-name", "profile", "env-file", "project-directory", "ansi", "progress", "parallel"],
    });
    at = group.at;
    verb = argv[at]?.value;
  }
  if (verb !== "exec" && verb !== "run") return undefined;
  const options = leadingOptions(argv, at + 1, {
    flags: "ditTPq",
    values: "euwvpmhlac",
    longValues: [
      "env",
      "env-file",
      "user",
      "workdir",
      "volume",
      "publish",
      "name",
      "network",
      "memory",
      "cpus",
      "hostname",
      "label",
      "mount",
      "detach-keys",
      "entrypoint",
      "add-host",
      "cap-add",
      "cap-drop",
      "cgroupns",
      "device",
      "dns",
      "gpus",
      "group-add",
      "ip",
      "ipc",
      "link",
      "log-driver",
      "log-opt",
      "mac-address",
      "pid",
      "pids-limit",
      "platform",
      "pull",
      "restart",
      "runtime",
      "security-opt",
      "shm-size",
      "stop-signal",
      "stop-timeout",
      "storage-opt",
      "sysctl",
      "tmpfs",
      "ulimit",
      "userns",
      "uts",
      "volumes-from",
      "volume-driver",
      "expose",
      "health-cmd",
      "cidfile",
      "index",
      "annotation",
      "cpuset-cpus",
      "arch",
      "os",
    ],
    long: [
      "detach",
      "interactive",
      "tty",
      "privileged",
      "rm",
      "init",
      "no-healthcheck",
      "oom-kill-disable",
      "publish-all",
      "read-only",
      "sig-proxy",
      "quiet",
      "no-deps",
      "service-ports",
      "use-aliases",
      "build",
      "remove-orphans",
      "latest",
      "replace",
      "no-hosts",
    ],
  });
  const entry = options.seen.get("entrypoint");
  const inner = rest(argv, options.at + 1);
  const privileged = options.seen.has("privileged") ? { privileged: true } : {};
  if (entry !== undefined) return { harmless: false, commands: [[entry, ...inner]], ...privileged };
  if (inner.length === 0) return { harmless: false, ...(verb === "run" ? {} : fromInput(input)), ...privileged };
  return {
    harmless: false,
    commands: [inner],
    at: options.at + 1,
    ...privileged,
    ...(options.odd ? { uncertain: "a container option that cannot be known" } : {}),
  };
};

/** kubectl exec, lxc exec, incus exec, aws-vault exec, op run …: everything after `--`. */
function afterDashes(verb: string | undefined): Wrapper {
  return (argv) => {
    if (verb !== undefined && !argv.slice(1, 8).some((word) => word.value === verb)) return undefined;
    const dashes = argv.findIndex((word) => word.value === "--");
    if (dashes > 0) return { harmless: false, commands: [rest(argv, dashes + 1)], at: dashes + 1 };
    // The old form without dashes: after the verb and the name; which words are options' values cannot be told.
    const at = argv.findIndex((word) => word.value === verb) + 2;
    return verb !== undefined && at > 1 && at < argv.length
      ? {
          harmless: false,
          commands: [rest(argv, at)],
          uncertain: `${programName(argv[0]?.value ?? "")} ${verb} without --`,
        }
      : { harmless: false };
  };
}

const commandBuiltin: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, { flags: "pvV" });
  if (options.seen.has("v") || options.seen.has("V")) return { harmless: true };
  // -p looks programs up in the system's own path: the same program by name.
  return runs(argv, options, options.at, true);
};

const evaluate: Wrapper = (argv) => {
  const from = argv[1]?.value === "--" ? 2 : 1;
  const text = joined(rest(argv, from));
  return text.trim() === ""
    ? { harmless: true }
    : { harmless: true, scripts: [script(text === UNKNOWN ? undefined : text, false)] };
};

const source: Wrapper = (argv, input) => {
  const file = argv[1]?.value === "--" ? argv[2] : argv[1];
  if (file?.process === true) return { harmless: false, scripts: [script(file.prints, false)] };
  if (/^(?:\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/.test(file?.value ?? ""))
    return { harmless: false, ...fromInput(input) };
  return { harmless: false };
};

const trap: Wrapper = (argv) => {
  const action = argv[1]?.value === "--" ? argv[2] : argv[1];
  if (action === undefined || /^-[lp]/.test(action.value)) return { harmless: true };
  if (action.value === "-" || argv.length === 2) return { harmless: false };
  return { harmless: false, scripts: [script(action.value, false)] };
};

const applets: Wrapper = (argv) => {
  const first = argv[1]?.value ?? "";
  if (first === "" || first.startsWith("--"))
    return { harmless: first === "--help" || first === "--list" || first === "" };
  return runs(argv, { at: 1, seen: new Map(), odd: false }, 1, true);
};

const later: Wrapper = (argv, input) => {
  if (argv.slice(1).some((word) => /^-[lrcdV]/.test(word.value))) return { harmless: false };
  return { harmless: false, ...fromInput(input) };
};

const crontab: Wrapper = (argv, input) => {
  if (argv.length > 1 && argv.at(-1)?.value !== "-") return undefined;
  if (input.kind === "known") {
    const lines = input.text.split("\n").filter((line) => !/^\s*(#|$|\w+\s*=)/.test(line));
    return { harmless: false, scripts: lines.map((line) => script(line.replace(/^\s*(?:@\w+|(?:\S+\s+){5})/, ""))) };
  }
  return { harmless: false, ...(input.kind === "unknown" ? { scripts: [script(undefined)] } : {}) };
};

const nixShell: Wrapper = (argv) => {
  const at = argv.findIndex((word) => word.value === "--run" || word.value === "--command" || word.value === "-c");
  return at > 0 ? { harmless: false, scripts: [script(argv[at + 1]?.value)] } : { harmless: false };
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
