/** Wrappers whose options are not listed: the command is searched for wherever it may begin. */
import { words } from "../../../lib/text.ts";
import { type Field, field, programName } from "../syntax/field.ts";
import { recursive } from "./find.ts";
import { debuggerRuns } from "./other-languages.ts";
import { fromInput, joined, leadingOptions, runs, script, type Wrapper } from "./wrapped.ts";

interface Loose {
  /** Runs something only after this word. */
  readonly verb?: RegExp;
  /** Words between the options and the command. */
  readonly operands?: number;
  /** Options whose value is shell text, in the next word or after `=`. */
  readonly text?: RegExp;
  /** Runs only the text of these options. */
  readonly textOnly?: boolean;
  /** The words are joined and passed to a shell. */
  readonly shell?: boolean;
  /** Usually runs programs of a project, which are not checked: only those of the system are. */
  readonly project?: boolean;
}

const OF_THE_SYSTEM =
  /^(?:git|rm|dd|mkfs.*|mke2fs|wipefs|shred|tee|mv|cp|chmod|chown|chgrp|find|rsync|(?:ba|da|z|k|mk|a|c|tc)?sh|fish|busybox|sudo|doas|su|env|exec|eval|xargs|parallel|nice|nohup|timeout|time|stdbuf|setsid|ssh|docker|podman|kubectl)$/;

function loosely({ verb, operands = 0, text, textOnly = false, shell = false, project = false }: Loose): Wrapper {
  return (argv) => {
    const verbAt = verb === undefined ? 0 : argv.findIndex((word, index) => index > 0 && verb.test(word.value));
    if (verbAt < 0) return undefined;
    const from = verbAt + 1;
    const scripts = text === undefined ? [] : textsOf(argv, from, text).map((item) => script(item));
    if (textOnly) return scripts.length === 0 ? undefined : { harmless: false, scripts };
    if (scripts.length > 0) return { harmless: false, scripts };
    const dashes = argv.findIndex((word, index) => index >= from && word.value === "--");
    const options = leadingOptions(argv, from, {});
    const at = dashes < 0 ? options.at + operands : dashes + 1;
    if (shell) {
      // After an unknown option the command may begin later.
      const begins = options.odd && dashes < 0 ? [at, at + 1, at + 2, at + 3] : [at];
      return {
        harmless: false,
        scripts: begins.filter((begin) => begin < argv.length).map((begin) => script(joined(argv.slice(begin)))),
        ...(options.odd ? { uncertain: `where the command of ${argv[0]?.source ?? ""} begins` } : {}),
      };
    }
    if (project && !argv.slice(from).some((word) => OF_THE_SYSTEM.test(programName(word.value)))) return undefined;
    // An entry of shell_allow that names the verb covers what follows it.
    if (dashes >= 0) {
      // `--` may belong to the command: `firejail rm -r -- x`.
      const before = options.at + operands;
      const early = before < dashes ? runs(argv, options, before, false).commands : undefined;
      const commands = [argv.slice(at), ...(early ?? [])];
      return { harmless: false, commands, at: verbAt === 0 ? at : verbAt };
    }
    return runs(argv, options, at, false, verbAt === 0 ? {} : { at: verbAt });
  };
}

function textsOf(argv: readonly Field[], from: number, option: RegExp): (string | undefined)[] {
  return argv.flatMap((word, index) => {
    if (index < from || !word.value.startsWith("-")) return [];
    const equals = word.value.indexOf("=");
    if (equals > 0 && option.test(word.value.slice(0, equals))) return [word.value.slice(equals + 1)];
    return option.test(word.value) ? [argv[index + 1]?.value] : [];
  });
}

/** scp and the like: programs named by their options. */
const remote: Wrapper = (argv) => {
  const scripts = argv.flatMap((word, index) => {
    const before = argv[index - 1]?.value ?? "";
    const command = /^(?:-o)?(?:ProxyCommand|LocalCommand)[= ]([^]+)$/i.exec(word.value)?.[1];
    if (command !== undefined) return [script(command)];
    if (before === "-S") return [script(word.value)];
    return [];
  });
  return scripts.length === 0 ? undefined : { harmless: false, scripts };
};

/** `--exec /bin/program -- its arguments`. */
const startStop: Wrapper = (argv) => {
  const at = argv.findIndex((word) => /^(?:-x|-a|--exec|--startas)$/.test(word.value));
  const dashes = argv.findIndex((word) => word.value === "--");
  const program = argv[at + 1];
  return at < 0 || program === undefined
    ? undefined
    : { harmless: false, commands: [[program, ...(dashes < 0 ? [] : argv.slice(dashes + 1))]] };
};

/** `EXEC:command` and `SYSTEM:text` among the addresses. */
const socat: Wrapper = (argv) => {
  const scripts = argv.flatMap((word) => {
    const text = /^(?:EXEC|SYSTEM|SHELL):([^]+)$/i.exec(word.value)?.[1];
    return text === undefined ? [] : [script(text)];
  });
  return scripts.length === 0 ? undefined : { harmless: false, scripts };
};

const ansible: Wrapper = (argv) => {
  const module = argv.findIndex((word) => /^(?:-m|--module-name)$/.test(word.value));
  if (module > 0 && !/(?:^|\.)(?:shell|command|raw)$/.test(argv[module + 1]?.value ?? "")) return undefined;
  return loosely({ text: /^(?:-a|--args)$/, textOnly: true })(argv, { kind: "inherited" });
};

/** Without a pattern it runs on everything below the given directories, or the current one. */
const fd: Wrapper = (argv, input) => {
  const wrapped = loosely({ verb: FD_RUNS })(argv, input);
  const at = argv.findIndex((word) => FD_RUNS.test(word.value));
  const [pattern, ...places] = argv.slice(1, at).filter(({ value }) => !value.startsWith("-"));
  if (wrapped === undefined || !/^[.*]?$/.test(pattern?.value ?? "")) return wrapped;
  const all = (places.length === 0 ? [field(".")] : places).map((place) => recursive([...argv.slice(at + 1), place]));
  return { ...wrapped, commands: [...(wrapped.commands ?? []), ...all] };
};
const FD_RUNS = /^(?:-[a-zA-Z]*[xX]|--exec|--exec-batch)$/;

const RUN = /^(?:run|exec)$/;
const COMMAND = /^(?:-c|--command|-e|--exec|-x)$/;
const another = loosely({});
const afterRun = loosely({ verb: RUN, project: true });
const afterOne = loosely({ operands: 1 });
const onHosts = loosely({ shell: true });
const otherShell = loosely({ text: /^(?:-c|-Command|-command|--command|--commands|-EncodedCommand)$/, textOnly: true });
const terminal = loosely({ verb: /^(?:-e|-x|--command|--execute|--)$/, shell: true });
const inContainer = loosely({ verb: RUN, operands: 1 });

const named = (names: string, wrapper: Wrapper) => words(names).map((name) => [name, wrapper] as const);

export const LOOSE: Readonly<Record<string, Wrapper>> = Object.fromEntries([
  ...named("firejail proot catchsegv tini dumb-init chpst softlimit linux32 linux64 i386 x86_64 chronic ifne", another),
  ...named("tsp nq systemd-cat eatmydata cgexec choom dtach watchexec dotenv bwrap flatpak-spawn runcon", another),
  ...named(
    "distrobox-host-exec host-spawn systemd-nspawn uftrace valgrind heaptrack setarch sem annotate-output",
    another,
  ),
  ...named("envdir logsave faketime arch-chroot setuidgid s6-setuidgid s6-envdir", afterOne),
  ...named("poetry uv pipenv conda mamba micromamba bundle yarn asdf rbenv pyenv hatch pdm rye", afterRun),
  ...named("doppler chamber teller infisical toolbox", afterRun),
  ...named("multipass crictl runc crun buildah nomad", inContainer),
  ...named("pwsh powershell xonsh nu elvish oksh", otherShell),
  ...named("pdsh pssh parallel-ssh clush dsh", onHosts),
  ...named("xterm konsole alacritty kitty gnome-terminal xfce4-terminal urxvt foot wezterm", terminal),
  ...named("scp sftp sshfs", remote),
  ["mise", loosely({ verb: /^(?:exec|x)$/, project: true })],
  ["heroku", loosely({ verb: /^run(?::detached)?$/, shell: true })],
  ["adb", loosely({ verb: /^shell$/, shell: true })],
  ["perf", loosely({ verb: /^(?:stat|record|trace)$/ })],
  ["rr", loosely({ verb: /^record$/ })],
  ["gdb", (argv, input) => debuggerRuns(argv, input) ?? loosely({ verb: /^--args$/ })(argv, input)],
  ["lldb", (argv, input) => debuggerRuns(argv, input) ?? loosely({ verb: /^--$/ })(argv, input)],
  ["npm", loosely({ verb: /^exec$/, text: /^(?:-c|--call)$/, project: true })],
  ["pnpm", loosely({ verb: /^exec$/, project: true })],
  ["npx", loosely({ text: /^(?:-c|--call)$/, project: true })],
  ["pueue", loosely({ verb: /^add$/, shell: true })],
  ["guix", loosely({ verb: /^(?:shell|environment)$/ })],
  ["distrobox", loosely({ verb: /^enter$/ })],
  ["snap", loosely({ verb: /^run$/, text: /^-c$/, textOnly: true })],
  ["vagrant", loosely({ verb: /^ssh$/, text: /^(?:-c|--command)$/ })],
  ["gcloud", loosely({ verb: /^ssh$/, text: /^--command$/ })],
  ["fly", loosely({ verb: /^ssh$/, text: /^(?:-C|--command)$/, textOnly: true })],
  ["flyctl", loosely({ verb: /^ssh$/, text: /^(?:-C|--command)$/, textOnly: true })],
  ["salt", loosely({ verb: /^cmd\.(?:run|shell|run_all)$/, shell: true })],
  ["salt-call", loosely({ verb: /^cmd\.(?:run|shell|run_all)$/, shell: true })],
  ["nodemon", loosely({ text: COMMAND, textOnly: true })],
  ["hyperfine", loosely({ shell: true })],
  ["capsh", loosely({ text: /^-c$/, textOnly: true })],
  ...named("fd fdfind", fd),
  ["rsync", loosely({ text: /^(?:-[a-zA-Z]*e|--rsh)$/, textOnly: true })],
  ["ncat", loosely({ text: /^(?:-e|-c|--exec|--sh-exec)$/, textOnly: true })],
  ["nc", loosely({ text: /^(?:-e|-c)$/, textOnly: true })],
  ["start-stop-daemon", startStop],
  ["socat", socat],
  ["ansible", ansible],
  ["newgrp", (_argv, input) => ({ harmless: false, privileged: true, ...fromInput(input) })],
]);
