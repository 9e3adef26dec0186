/** Commands that run on another machine, in a container or in another terminal. */
import { type Field, field, programName } from "../syntax/field.ts";
import { fromInput, joined, leadingOptions, script, type Wrapped, type Wrapper } from "./wrapped.ts";

const SSH_OPTIONS = { flags: "46AaCfGgKkMNnqsTtVvXxYy", values: "BbcDEeFIiJLlmOopQRSWw" };

export const ssh: Wrapper = (argv, input) => {
  const options = leadingOptions(argv, 1, SSH_OPTIONS);
  // Options may also follow the host.
  const command = argv.slice(leadingOptions(argv, options.at + 1, SSH_OPTIONS).at);
  const proxy = options.seen.get("o")?.value ?? "";
  const local = /^(?:ProxyCommand|LocalCommand)[= ]([^]+)$/i.exec(proxy);
  const scripts = local === null ? [] : [script(local[1])];
  // An unknown word may be an option or the host: the command may begin after either.
  if (options.odd && argv[options.at] !== undefined) scripts.push(script(joined(argv.slice(options.at))));
  if (command.length > 0) scripts.push(script(joined(command)));
  return {
    harmless: false,
    ...(command.length === 0 ? fromInput(input) : {}),
    ...(scripts.length > 0 ? { scripts } : {}),
    ...(options.odd ? { uncertain: "what ssh runs depends on a word that is only known when it runs" } : {}),
  };
};

/** docker, podman, nerdctl: exec and run; the command follows the container or image. */
export const containers: Wrapper = (argv, input) => {
  const global = leadingOptions(argv, 1, {
    flags: "Dv",
    values: "Hlc",
    longValues: "host log-level context config connection url root runroot namespace tlscacert tlscert tlskey",
    long: "debug tls tlsverify remote version help",
  });
  let at = global.at;
  let verb = argv[at]?.value;
  if (verb === "container" || verb === "compose") {
    const group = leadingOptions(argv, at + 1, {
      values: "fp",
      longValues: "file project-name profile env-file project-directory ansi progress parallel",
    });
    at = group.at;
    verb = argv[at]?.value;
  }
  if (verb !== "exec" && verb !== "run") return undefined;
  const options = leadingOptions(argv, at + 1, {
    flags: "ditTPq",
    values: "euwvpmhlac",
    longValues:
      "env env-file user workdir volume publish name network memory cpus hostname label mount detach-keys entrypoint add-host cap-add cap-drop cgroupns device dns gpus group-add ip ipc link log-driver log-opt mac-address pid pids-limit platform pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs ulimit userns uts volumes-from volume-driver expose health-cmd cidfile index annotation cpuset-cpus arch os",
    long: "detach interactive tty privileged rm init no-healthcheck oom-kill-disable publish-all read-only sig-proxy quiet no-deps service-ports use-aliases build remove-orphans latest replace no-hosts",
  });
  const entry = options.seen.get("entrypoint");
  const inner = argv.slice(options.at + 1);
  const privileged = options.seen.has("privileged") ? { privileged: true } : {};
  if (entry !== undefined) return { harmless: false, commands: [[entry, ...inner]], ...privileged };
  if (inner.length === 0) return { harmless: false, ...(verb === "run" ? {} : fromInput(input)), ...privileged };
  return {
    harmless: false,
    commands: [inner],
    at: options.at + 1,
    ...privileged,
    ...(options.odd ? { uncertain: "a container option is only known when it runs" } : {}),
  };
};

/** kubectl exec, lxc exec, incus exec, aws-vault exec, op run …: everything after `--`. */
export function afterDashes(verb: RegExp | undefined): Wrapper {
  return (argv) => {
    const verbAt =
      verb === undefined ? 0 : argv.slice(0, 8).findIndex((word, index) => index > 0 && verb.test(word.value));
    if (verbAt < 0) return undefined;
    const dashes = argv.findIndex((word) => word.value === "--");
    if (dashes > 0) return { harmless: false, commands: [argv.slice(dashes + 1)], at: dashes + 1 };
    // The old form without dashes: the command follows the verb and the name; option values are not told apart.
    const at = verbAt + 2;
    const name = argv[verbAt]?.value ?? "";
    return verb !== undefined && name !== "run" && name !== "debug" && at < argv.length
      ? {
          harmless: false,
          commands: [argv.slice(at)],
          uncertain: `${programName(argv[0]?.value ?? "")} ${name} without --`,
        }
      : { harmless: false };
  };
}

const STARTS =
  /^(?:new(?:-session|-window|w)?|neww|split-window|splitw|respawn-pane|respawnp|respawn-window|respawnw|run-shell|run|if-shell|if|display-popup|popup|pipe-pane|pipep)$/;
const TYPES = /^(?:send-keys|send)$/;

export function tmuxRuns(argv: readonly Field[]): Wrapped | undefined {
  const global = leadingOptions(argv, 1, { flags: "2CDlNuvV", values: "cfLST" });
  const scripts: { text: string; own: true }[] = [];
  const tail = argv.slice(global.at);
  let from = 0;
  for (let i = 0; i <= tail.length; i++) {
    if (i < tail.length && tail[i]?.value !== ";") continue;
    const words = tail.slice(from, i);
    from = i + 1;
    const verb = words[0]?.value ?? "";
    if (!STARTS.test(verb) && !TYPES.test(verb)) continue;
    const options = leadingOptions(words, 1, {
      flags: "AdDEPXkbBCfhvZoOIlMRHK",
      values: verb.startsWith("send") ? "tN" : "censtxyFwTpSm",
    });
    const given = words.slice(options.at).map((word) => word.value);
    const typed = TYPES.test(verb)
      ? given.map((word) => (/^(?:Enter|C-m|C-j|KPEnter)$/.test(word) ? "\n" : word))
      : given;
    const text = typed.join(" ");
    if (text.trim() !== "") scripts.push({ text, own: true });
  }
  return scripts.length === 0 ? undefined : { harmless: false, scripts };
}

export function screenRuns(argv: readonly Field[]): Wrapped {
  const options = leadingOptions(argv, 1, { flags: "aADdmqrRUvx", values: "cehLpsSTtX" });
  const typed = options.seen.get("X")?.value;
  if (typed === "stuff" || typed === "exec") {
    const text = argv
      .slice(options.at)
      .map((word) => word.value)
      .join(" ");
    return { harmless: false, scripts: [{ text: text.replace(/\\[nr]|\^M/g, "\n"), own: true }] };
  }
  const inner = argv.slice(options.at);
  return inner.length === 0
    ? { harmless: false }
    : { harmless: false, commands: [inner.map((word) => field(word.value, word.source))] };
}
