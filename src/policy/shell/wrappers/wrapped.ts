/** What a wrapper (a program that runs another one) would run, and functions to describe wrappers. */
import { type Field, outputs, programName } from "../syntax/field.ts";
import { leadingOptions, type Options, type OptionShape } from "./leading-options.ts";

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
