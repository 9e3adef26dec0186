/**
 * argv → command, flags and positionals, strictly: unknown, repeated, incomplete or extra words are errors.
 * citty's own parser accepts all of these, reads --no-tmux as --tmux=false, and has no optional values.
 */
import { resolve } from "node:path";
import { closestMatch } from "../../lib/text.ts";
import { BuddyError } from "../../lib/errors.ts";
import { type Args, COMMANDS, type Call, loadCommand } from "../command.ts";
import { type FlagValues, GLOBAL_ARGS, SESSION_NAME } from "./options.ts";

export type Token =
  | { readonly kind: "flag"; readonly name: string; readonly shown: string; readonly value: string | true }
  | { readonly kind: "unknown"; readonly shown: string }
  /** `maybeSession`: it follows a bare --tmux and could be its value. */
  | { readonly kind: "word"; readonly text: string; readonly maybeSession: boolean; readonly literal?: true };

export interface ParsedArguments {
  readonly globals: FlagValues;
  readonly own: FlagValues;
  readonly positionals: readonly string[];
  /** How many of the positionals, counted from the last, stood after --. */
  readonly literal: number;
}

/** The first word that is not the value of a flag; undefined if there is none. */
export async function commandName(argv: readonly string[]): Promise<string | undefined> {
  if (isCommand(argv[0] ?? "")) return argv[0];
  const tokens = tokenizeUpToError(argv, GLOBAL_ARGS);
  // Without a word no command can own the flag.
  const first = tokens.find(({ kind }) => kind !== "flag");
  if (first?.kind !== "unknown" || !tokens.some(({ kind }) => kind === "word")) return takeCommand(tokens).name;
  // A command's own flags may precede its name; which of them take a value, only all commands together know.
  const commands = await Promise.all(Object.keys(COMMANDS).map((one) => loadCommand(one)));
  const all: Args = Object.assign({}, ...commands.map(({ args }) => args), GLOBAL_ARGS);
  const { name } = takeCommand(tokenizeUpToError(argv, all));
  // After an unknown option a word may be its value: then the option is the mistake, not the word.
  const unknown = tokenizeUpToError(argv, all).find((token) => token.kind === "unknown");
  if (unknown !== undefined && name !== undefined && !isCommand(name)) throw unknownOption(unknown.shown, "", all);
  return name;
}

export function isCommand(word: string): boolean {
  return Object.hasOwn(COMMANDS, word);
}

/** The tokens of a command's line without its name; "" is the REPL. */
export function tokensFor(argv: readonly string[], name: string, args: Args): readonly Token[] {
  // The name of the command and the first word of what it takes.
  const restFrom = Object.values(args).some((arg) => arg.verbatim === true) ? 2 : undefined;
  const tokens = tokenize(argv, { ...GLOBAL_ARGS, ...args }, restFrom);
  return name === "" ? tokens : takeCommand(tokens).rest;
}

/** The values that a command's `run` gets, as citty's types describe them. */
export function argumentsOf({ own, positionals }: ParsedArguments, args: Args): Call["args"] {
  const values: Record<string, string | true | string[]> = {};
  let word = 0;
  for (const [name, { type }] of Object.entries(args)) {
    const value = type === "positional" ? positionals[word++] : own.get(name);
    if (value !== undefined) values[name] = value;
  }
  // Their types depend on the definitions, which only the command's own file knows.
  return { ...values, _: [...positionals] } as unknown as Call["args"];
}

/** Only the position of the command matters here; mistakes after it are reported once its flags are known. */
function tokenizeUpToError(argv: readonly string[], table: Args): Token[] {
  try {
    return tokenize(argv, table);
  } catch (error) {
    for (let end = argv.length - 1; end >= 0; end--) {
      try {
        return tokenize(argv.slice(0, end), table);
      } catch {
        continue;
      }
    }
    throw error;
  }
}

/**
 * Splits argv by a table of flags; so far, only a missing or an unwanted value is an error. After word number
 * `restFrom` everything is a word.
 */
export function tokenize(argv: readonly string[], table: Args, restFrom = Number.POSITIVE_INFINITY): Token[] {
  const tokens: Token[] = [];
  let afterTmux = false;
  let words = 0;
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i] ?? "";
    const next = argv[i + 1];
    if (arg === "--") {
      for (const text of argv.slice(i + 1)) tokens.push({ kind: "word", text, maybeSession: false, literal: true });
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      tokens.push({ kind: "word", text: arg, maybeSession: afterTmux && SESSION_NAME.test(arg) });
      afterTmux = false;
      if (++words < restFrom) continue;
      for (const text of argv.slice(i + 1)) tokens.push({ kind: "word", text, maybeSession: false });
      break;
    }
    afterTmux = false;
    if (!arg.startsWith("--")) {
      if (readCluster(arg, next, table, tokens)) i++;
      continue;
    }
    const [, name = "", inline] = /^--([^=]*)(?:=([\s\S]*))?$/.exec(arg) ?? [];
    const def = table[name];
    const shown = `--${name}`;
    if (def === undefined) tokens.push({ kind: "unknown", shown });
    else if (def.type === "boolean") {
      if (inline !== undefined) throw new BuddyError("usage", `${shown} takes no value`);
      tokens.push({ kind: "flag", name, shown, value: true });
    } else if (def.optionalValue === true) {
      tokens.push({ kind: "flag", name, shown, value: inline === undefined || inline === "" ? true : inline });
      afterTmux = inline === undefined;
    } else {
      tokens.push({ kind: "flag", name, shown, value: requireValue(shown, inline ?? next, inline !== undefined, def) });
      if (inline === undefined) i++;
    }
  }
  return tokens;
}

/** Takes the command's name out of the tokens: the first word that is not the value of a bare --tmux. */
export function takeCommand(tokens: readonly Token[]): {
  readonly name: string | undefined;
  readonly rest: readonly Token[];
} {
  const rest: Token[] = [];
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== "word") rest.push(token);
    else if (token.maybeSession && !isCommand(token.text)) giveToTmux(rest, token.text);
    else return { name: token.text, rest: [...rest, ...tokens.slice(i + 1)] };
  }
  return { name: undefined, rest };
}

/** Judges what is left of the command line once the command is known; `args` are the command's own arguments. */
export function judgeTokens(tokens: readonly Token[], command: string, args: Args, startDir: string): ParsedArguments {
  const globals = new Map<string, string | true>();
  const own = new Map<string, string | true>();
  const positionals = Object.entries(args).filter(([, def]) => def.type === "positional");
  const slots = positionals.filter(([, def]) => def.rest === undefined);
  const settled = settleSession(
    tokens,
    positionals.some(([, def]) => def.verbatim === true) ? Number.POSITIVE_INFINITY : slots.length,
  );
  const words: string[] = [];
  for (const token of settled) {
    if (token.kind === "unknown") throw unknownOption(token.shown, command, args);
    if (token.kind === "word") {
      words.push(token.text);
      continue;
    }
    const def = args[token.name] ?? (GLOBAL_ARGS as Args)[token.name];
    const values = token.name in args ? own : globals;
    const before = values.get(token.name);
    // A switch given twice, as in -vv, loses nothing; of two values one would be lost.
    if (before !== undefined && def?.repeats !== true && (token.value !== true || before !== true))
      throw new BuddyError("usage", `--${token.name} is given twice`, { hint: "Give it once" });
    if (before !== undefined && def?.twice !== undefined) values.set(def.twice, true);
    if (typeof token.value === "string") def?.check?.(token.value, token.shown);
    const value = def?.path === true && typeof token.value === "string" ? resolve(startDir, token.value) : token.value;
    values.set(token.name, typeof before === "string" ? `${before}\0${value}` : value);
  }
  const rest = positionals.at(-1)?.[1].rest;
  const more = rest === true || (rest !== undefined && own.has(rest));
  const literal = settled.filter((token) => token.kind === "word" && token.literal === true).length;
  return { globals, own, positionals: requirePositionals(words, slots, command, more), literal };
}

/** A bare --tmux takes the word after it only when the command has no use for that word: see `buddy --help`. */
function settleSession(tokens: readonly Token[], slots: number): Token[] {
  const words = tokens.filter((token) => token.kind === "word").length;
  const settled: Token[] = [];
  for (const token of tokens) {
    if (token.kind === "word" && token.maybeSession && words > slots) giveToTmux(settled, token.text);
    else settled.push(token);
  }
  return settled;
}

/** The last token is the bare --tmux that the word follows. */
function giveToTmux(tokens: Token[], session: string): void {
  const flag = tokens.pop();
  if (flag?.kind === "flag") tokens.push({ ...flag, value: session });
}

/** `more`: another positional takes the words that are left. */
function requirePositionals(
  words: readonly string[],
  slots: readonly [string, Args[string]][],
  command: string,
  more: boolean,
) {
  const extra = words[slots.length];
  if (extra !== undefined && !more) {
    const hint = slots.length > 0 ? "Put text with spaces in quotes." : `buddy ${command} takes no arguments`;
    throw new BuddyError("usage", `too many arguments: "${extra}"`, { hint });
  }
  for (const [i, [name, def]] of slots.entries()) {
    const word = words[i];
    if (word === undefined) {
      if (def.required === false) continue;
      const what = def.choices === undefined ? name.toUpperCase() : def.choices.join("|");
      throw new BuddyError("usage", `buddy ${command} needs an argument: ${what}`, {
        hint: `See: buddy ${command} --help`,
      });
    }
    if (def.choices !== undefined && !def.choices.includes(word)) {
      const meant = closestMatch(word, def.choices);
      throw new BuddyError(
        "usage",
        def.choices.length === 1
          ? `unknown word "${word}"; expected ${def.choices[0]}`
          : `"${word}" is not one of ${def.choices.join(", ")}`,
        {
          hint: meant === undefined ? `See: buddy ${command} --help` : `Did you mean ${meant}?`,
        },
      );
    }
  }
  return words;
}

function unknownOption(shown: string, command: string, args: Args): BuddyError {
  const known = [...Object.entries(args), ...Object.entries(GLOBAL_ARGS)].flatMap(([name, def]) =>
    def.type === "positional" ? [] : [`--${name}`],
  );
  const isCommand = shown.startsWith("--") && Object.hasOwn(COMMANDS, shown.slice(2));
  const near = shown.startsWith("--") ? closestMatch(shown, known) : undefined;
  const meant = isCommand ? `buddy ${shown.slice(2)}` : near;
  const help = command === "" ? "buddy help all" : `buddy ${command} --help, buddy help all`;
  return new BuddyError(
    "usage",
    meant === undefined ? `unknown option ${shown}` : `unknown option ${shown}; did you mean ${meant}?`,
    { hint: `Options are listed by: ${help}\nText that begins with - goes after --` },
  );
}

/** `-q`, `-qv`, `-m NAME`, `-mNAME`, `-m=NAME`; true when the next argument was used as value. */
function readCluster(arg: string, next: string | undefined, table: Args, tokens: Token[]): boolean {
  for (let i = 1; i < arg.length; i++) {
    const shown = `-${arg[i]}`;
    const name = Object.keys(table).find((long) => table[long]?.alias === arg[i]);
    const def = name === undefined ? undefined : table[name];
    if (name === undefined || def === undefined) {
      tokens.push({ kind: "unknown", shown: i === 1 ? arg : shown });
      return false;
    }
    if (def.type === "boolean") {
      tokens.push({ kind: "flag", name, shown, value: true });
      continue;
    }
    const rest = arg.slice(i + 1).replace(/^=/, "");
    tokens.push({ kind: "flag", name, shown, value: requireValue(shown, rest || next, rest !== "", def) });
    return rest === "";
  }
  return false;
}

function requireValue(shown: string, value: string | undefined, attached: boolean, def: Args[string]): string {
  // A flag is not a value: in `--model --json` the model was forgotten. `-5` is a number, and checked as one;
  // `-,web` is a list with standard input in it.
  const missing = value === undefined || value === "" || (!attached && /^-(?!\d|,|$)/.test(value));
  if (!missing) return value;
  throw new BuddyError("usage", `${shown} needs a value: ${shown} ${def.valueHint ?? "VALUE"}`);
}
