/**
 * Shells and programs that pass text to one: sh -c, eval, source, trap, at, crontab, su, and builtins that run a
 * command later.
 */
import { type Field, field, programName, UNKNOWN } from "../syntax/field.ts";
import {
  assignments,
  fromInput,
  joined,
  leadingOptions,
  type OptionShape,
  runs,
  script,
  type Wrapped,
  type Wrapper,
} from "./wrapped.ts";

/** Only bash, dash and ash are harmless: zsh, fish and csh read start-up files even for `-c`. */
export const shell: Wrapper = (argv, input) => {
  const name = programName(argv[0]?.value ?? "");
  const shape: OptionShape = {
    flags: "abefhiklmnprstuvxBCEHPTVcDNqgyLXZ0123456789",
    values: "oO",
    long: "login posix norc noprofile restricted verbose debugger dump-strings help version noediting no-config private interactive emacs",
    longValues: "rcfile init-file command init-command features debug",
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
  const uncertain = options.odd ? { uncertain: "a shell with unknown options" } : {};
  if (seen.has("version") || seen.has("help")) return { harmless: argv.length === 2 };
  if (seen.has("c") || seen.has("command")) {
    const long = seen.get("command");
    const text = long ?? argv[options.at];
    const positional = argv.slice(options.at + 1).map((word) => word.value);
    const known = text !== undefined && !(text.value === UNKNOWN);
    const inner = { ...script(known ? text.value : undefined, true, positional), shell: name };
    return { harmless: quiet && /^(?:ba|da|a)?sh$/.test(name), scripts: [inner], ...uncertain };
  }
  const file = argv[options.at];
  if (file === undefined || seen.has("s") || /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/.test(file.value))
    return { harmless: false, ...fromInput(input), ...uncertain };
  if (file.process === true) return { harmless: false, scripts: [script(file.prints)], ...uncertain };
  return { harmless: false, ...uncertain };
};

export const sudo: Wrapper = (argv, input) => {
  const options = leadingOptions(argv, 1, {
    flags: "AbBEeHiKklnPSsvV",
    values: "CcDghpRrTtUu",
    long: "askpass background bell preserve-env edit set-home login list non-interactive preserve-groups reset-timestamp remove-timestamp stdin shell validate version help",
    longValues: "close-from chdir group host prompt chroot role type command-timeout other-user user",
  });
  const { at, assigns } = assignments(argv, options.at);
  const chdir = (options.seen.get("D") ?? options.seen.get("chdir"))?.value;
  const more: Partial<Wrapped> = { assigns, privileged: true, ...(chdir === undefined ? {} : { cwd: chdir }) };
  if (options.seen.has("l") || options.seen.has("list")) return { harmless: false, privileged: true };
  if (options.seen.has("e") || options.seen.has("edit"))
    return { harmless: false, ...more, commands: [[field("sudoedit"), ...argv.slice(at)]] };
  if (at >= argv.length && (options.seen.has("s") || options.seen.has("i")))
    return { harmless: false, ...fromInput(input), ...more };
  // With -s and -i the words are joined and passed to a shell.
  if (options.seen.has("s") || options.seen.has("i"))
    return { harmless: false, scripts: [script(joined(argv.slice(at)))], ...more };
  return runs(argv, options, at, false, more);
};

export const su: Wrapper = (argv, input) => {
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
      return { harmless: false, privileged: true, commands: [argv.slice(i + 1)], at: i + 1 };
    else if (!word.startsWith("-")) {
      if (separated) return { harmless: false, privileged: true, commands: [argv.slice(i)], at: i };
      // `su user args`: the rest are arguments of that user's shell.
      if (user !== undefined) return { harmless: false, privileged: true, commands: [[field("sh"), ...argv.slice(i)]] };
      user = word;
    }
  }
  return { harmless: false, privileged: true, ...fromInput(input) };
};

export const evaluate: Wrapper = (argv) => {
  const from = argv[1]?.value === "--" ? 2 : 1;
  const text = joined(argv.slice(from));
  return text.trim() === ""
    ? { harmless: true }
    : { harmless: true, scripts: [script(text === UNKNOWN ? undefined : text, false)] };
};

export const source: Wrapper = (argv, input) => {
  const file = argv[1]?.value === "--" ? argv[2] : argv[1];
  if (file?.process === true) return { harmless: false, scripts: [script(file.prints, false)] };
  if (/^(?:\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/.test(file?.value ?? ""))
    return { harmless: false, ...fromInput(input) };
  return { harmless: false };
};

export const trap: Wrapper = (argv) => {
  const action = argv[1]?.value === "--" ? argv[2] : argv[1];
  if (action === undefined || /^-[lp]/.test(action.value)) return { harmless: true };
  if (action.value === "-" || argv.length === 2) return { harmless: false };
  return { harmless: false, scripts: [script(action.value, false)] };
};

export const later: Wrapper = (argv, input) => {
  if (argv.slice(1).some((word) => /^-[lrcdV]/.test(word.value))) return { harmless: false };
  return { harmless: false, ...fromInput(input) };
};

export const crontab: Wrapper = (argv, input) => {
  if (argv.length > 1 && argv.at(-1)?.value !== "-") return undefined;
  if (input.kind === "known") {
    const lines = input.text.split("\n").filter((line) => !/^\s*(#|$|\w+\s*=)/.test(line));
    return { harmless: false, scripts: lines.map((line) => script(line.replace(/^\s*(?:@\w+|(?:\S+\s+){5})/, ""))) };
  }
  return { harmless: false, ...(input.kind === "unknown" ? { scripts: [script(undefined)] } : {}) };
};

export const nixShell: Wrapper = (argv) => {
  const at = argv.findIndex((word) => word.value === "--run" || word.value === "--command" || word.value === "-c");
  return at > 0 ? { harmless: false, scripts: [script(joined(argv.slice(at + 1)))] } : { harmless: false };
};

/** `mapfile -C command`, `compgen -C command`, `complete -C command`. */
export const callback: Wrapper = (argv) => hooked(argv, /^-[a-zA-Z]*C([^]*)$/, (text) => text);

/** `bind -x '"key": command'`. */
export const keyBinding: Wrapper = (argv) =>
  hooked(argv, /^-[a-zA-Z]*x([^]*)$/, (text) => text.slice(text.indexOf(":") + 1).replace(/^\s*"([^]*)"\s*$/, "$1"));

function hooked(argv: readonly Field[], option: RegExp, command: (text: string) => string): Wrapped | undefined {
  const at = argv.findIndex((word, index) => index > 0 && option.test(word.value));
  if (at < 0) return undefined;
  const text = option.exec(argv[at]?.value ?? "")?.[1] || argv[at + 1]?.value;
  return { harmless: false, scripts: [script(text === undefined ? undefined : command(text), false)] };
}
