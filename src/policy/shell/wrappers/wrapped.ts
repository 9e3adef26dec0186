/** What a wrapper (a program that runs another one) would run, and functions to describe wrappers. */
import { type Field, isFixed, outputs, programName, SPLIT, UNKNOWN } from "../syntax/field.ts";

/** A program's standard input: inherited, known text, or something only the running shell knows. */
export type Input =
  | { readonly kind: "inherited" }
  /** `guessed`: it may be a different text. */
  | { readonly kind: "known"; readonly text: string; readonly guessed?: boolean }
  | { readonly kind: "unknown" };

export const INHERITED: Input = { kind: "inherited" };

/** The input of a command that reads what another one prints. */
export function inputOf(printed: string | undefined): Input {
  if (printed === undefined) return { kind: "unknown" };
  const [text = "", ...others] = outputs(printed);
  return { kind: "known", text, guessed: others.length > 0 };
}

export interface InnerScript {
  /** Undefined: only the running shell knows. */
  readonly text: string | undefined;
  /** `$0` and the words after it. */
  readonly positional?: readonly string[];
  /** Runs in its own shell: its assignments do not last. */
  readonly own: boolean;
  /** The name of that shell, if it is known. */
  readonly shell?: string;
}

/** What a wrapper runs; nothing if it has neither commands nor scripts. */
export interface Wrapped {
  /** The wrapper itself changes nothing. */
  readonly harmless: boolean;
  readonly commands?: readonly (readonly Field[])[];
  /** Index in the wrapper's words where the inner command starts. */
  readonly at?: number;
  readonly scripts?: readonly InnerScript[];
  readonly assigns?: readonly { readonly name: string; readonly value: string }[];
  readonly uncertain?: string;
  /** Runs with another user's rights. */
  readonly privileged?: boolean;
  /** The inner command's input, if it is not the wrapper's. */
  readonly input?: Input;
  /** The inner command starts in this directory. */
  readonly cwd?: string;
}

export type Wrapper = (argv: readonly Field[], input: Input) => Wrapped | undefined;

export function runs(
  argv: readonly Field[],
  options: Options,
  at: number,
  harmless: boolean,
  more: Partial<Wrapped> = {},
): Wrapped {
  const inner = argv.slice(at);
  if (!options.odd)
    return inner.length === 0 ? { harmless: false, ...more } : { harmless, commands: [inner], at, ...more };
  // The command may begin at any later word: each of these is checked.
  const uncertain = `what ${programName(argv[0]?.value ?? "")} runs depends on a word that is only known when it runs`;
  const begins = argv.flatMap((word, index) => (index > 0 && /^[\w./]/.test(word.value) ? [index] : [])).slice(0, 8);
  return {
    harmless: false,
    commands: [...new Set([at, ...begins])].filter((index) => index < argv.length).map((index) => argv.slice(index)),
    uncertain,
    ...more,
  };
}

/** `prog [options] [operands] command …`. */
export function plain(shape: OptionShape, operands = 0, harmless = false, more: Partial<Wrapped> = {}): Wrapper {
  return (argv) => {
    const options = leadingOptions(argv, 1, shape);
    return runs(argv, options, options.at + operands, harmless, more);
  };
}

/** Skips `NAME=value` words, as env and sudo take them. */
export function assignments(
  argv: readonly Field[],
  from: number,
): { at: number; assigns: { name: string; value: string }[] } {
  const assigns: { name: string; value: string }[] = [];
  let at = from;
  for (; at < argv.length; at++) {
    const match = /^([A-Za-z_]\w*)=([^]*)$/.exec((argv[at] as Field).value);
    if (match === null) break;
    assigns.push({ name: match[1] as string, value: match[2] as string });
  }
  return { at, assigns };
}

export function script(text: string | undefined, own = true, positional?: readonly string[]): InnerScript {
  const guess = text === undefined ? undefined : outputs(text)[0];
  return { text: guess, own, ...(positional === undefined ? {} : { positional }) };
}

/** A shell that reads commands from its input. */
export function fromInput(input: Input): Partial<Wrapped> {
  switch (input.kind) {
    case "known":
      return { scripts: [script(input.text)], input: { kind: "unknown" } };
    case "unknown":
      return { scripts: [script(undefined)] };
    case "inherited":
      return {};
  }
}

export function joined(words: readonly Field[]): string {
  return words.map((word) => word.value).join(" ");
}

// ── The options in front of a command's operands: where they end and what they are.

export interface OptionShape {
  /** Letters that take no value, and letters that take one. */
  readonly flags?: string;
  readonly values?: string;
  /** Letters that take the rest of their word as a value. */
  readonly optional?: string;
  /** Long names without the dashes, separated by blanks. */
  readonly long?: string;
  readonly longValues?: string;
}

interface Options {
  /** Index of the first word that is not an option. */
  readonly at: number;
  readonly seen: ReadonlyMap<string, Field | undefined>;
  /** There is an option that is not in the shape or is unknown: the next word may be its value. */
  readonly odd: boolean;
}

export function leadingOptions(argv: readonly Field[], from: number, shape: OptionShape): Options {
  const seen = new Map<string, Field | undefined>();
  let odd = false;
  let at = from;
  while (at < argv.length) {
    const word = (argv[at] as Field).value;
    if (word === "--") {
      at++;
      break;
    }
    if (word.startsWith(UNKNOWN)) {
      odd = true;
      at++;
      continue;
    }
    if (!word.startsWith("-") || word === "-") break;
    at++;
    if (!isFixed(word)) odd = true;
    if (word.startsWith("--")) {
      const [name, value] = longOption(word);
      const valued = wholeName(name, shape.longValues);
      const plain = wholeName(name, shape.long);
      if (value !== undefined) seen.set(valued ?? plain ?? name, { value, source: value });
      else if (valued !== undefined && plain !== name) seen.set(valued, argv[at++]);
      else {
        seen.set(plain ?? name, undefined);
        if (plain === undefined) odd = true;
      }
      continue;
    }
    for (let i = 1; i < word.length; i++) {
      const letter = word[i] as string;
      if (shape.values?.includes(letter) === true) {
        const rest = word.slice(i + 1);
        seen.set(letter, rest === "" ? argv[at++] : { value: rest, source: rest });
        break;
      }
      if (shape.optional?.includes(letter) === true) {
        const rest = word.slice(i + 1);
        seen.set(letter, rest === "" ? undefined : { value: rest, source: rest });
        break;
      }
      seen.set(letter, undefined);
      if (shape.flags?.includes(letter) !== true) odd = true;
    }
  }
  // A value that may be several words shifts the words after it.
  odd ||= argv.slice(from, at).some(({ value }) => value.includes(SPLIT));
  return { at: Math.min(at, argv.length), seen, odd };
}

export function longOption(word: string): [name: string, value: string | undefined] {
  const equals = word.indexOf("=");
  return equals < 0 ? [word.slice(2), undefined] : [word.slice(2, equals), word.slice(equals + 1)];
}

/** GNU programs accept abbreviated long names. */
function wholeName(name: string, names: string | undefined): string | undefined {
  if (names === undefined || name === "") return undefined;
  const all = ` ${names} `;
  if (all.includes(` ${name} `)) return name;
  const at = name.length > 1 ? all.indexOf(` ${name}`) : -1;
  return at < 0 ? undefined : all.slice(at + 1, all.indexOf(" ", at + 1));
}
