/** A form: the options and operands with which a program changes nothing, and whether a command line matches them. */
import { isDeviceToRead } from "../dangers/protected-paths.ts";
import {
  areNames,
  areNumbers,
  isFixed,
  isGlob,
  isUnknown,
  LISTED,
  maybeOption,
  NUMBER,
  NUMBERS,
  SPLIT,
  WORD,
  WORDS,
} from "../syntax/field.ts";

export interface Option {
  /** How many values it takes: in the next words, or after `=` or its letter. */
  readonly values: 0 | 1 | 2;
  /** It may have a value, only in the same word. */
  readonly optional: boolean;
  /** Its value is always the next word, and its letter the last of a bundle. */
  readonly apart: boolean;
  /** What a value must match. */
  readonly shape: Shape | undefined;
  /** One option of each group other than 0 is required, before every operand. */
  readonly group: number;
}

export interface Operand {
  readonly shape: Shape | undefined;
  readonly least: number;
  readonly most: number;
}

export interface Shape {
  readonly pattern: { test(word: string): boolean } | undefined;
  /** It names a file whose contents are read. */
  readonly contents: boolean;
}

export interface Form {
  /** By their names with dashes: `-a`, `--all`; `-#` is a dash and a number. */
  readonly options: ReadonlyMap<string, Option>;
  readonly operands: readonly Operand[];
  readonly groups: ReadonlySet<number>;
  /** No version has a harmful option: words may be unknown. */
  readonly open: boolean;
  /** Options are whole words with one dash; `--` does not end them. */
  readonly words: boolean;
  /** Every version of the program also accepts options after operands. */
  readonly reorders: boolean;
  /** The operands, joined with blanks, must match the shape of the only operand. */
  readonly joined: boolean;
  /** A first word without a dash is a bundle of letters whose values follow in order. */
  readonly old: boolean;
  /** The program reads more arguments from `@file`. */
  readonly at: boolean;
  /** Exactly one option and nothing else. */
  readonly alone: boolean;
  /** The first word must be a required option: the meaning of others depends on it. */
  readonly first: boolean;
  /** The function that checks the arguments instead, or a program whose rows do. */
  readonly reader: string | undefined;
}

const UNKNOWN_OPTION = "with a word that may be an option";
const SEVERAL_WORDS = "with words that are only known when it runs";
const MANY = 1_000;

/** Why a call is not proven to be a read: what it is called with (“with --output”), or what it does. */
export type Refusal = string | { readonly does: string };

export function refused(call: string, why: Refusal): string {
  return typeof why === "string" ? `${call} is not known to be read-only ${why}` : `${call} ${why.does}`;
}

/** Undefined if the arguments match the form. */
export function outside(form: Form, args: readonly string[]): Refusal | undefined {
  return new Match(form, args).run();
}

/** The index of the first operand, for programs with subcommands, or why the options before it do not match. */
export function leading(form: Form, args: readonly string[]): { readonly at: number } | { readonly why: string } {
  const match = new Match(form, args);
  while (match.at < args.length && maybeOption(args[match.at] as string)) {
    const why = match.option();
    if (why !== undefined) return { why };
  }
  return { at: match.at };
}

class Match {
  at = 0;
  readonly #operands: string[] = [];
  readonly #given = new Set<number>();
  /** Options after the first operand: programs that do not reorder take them for operands. */
  #late = 0;

  constructor(
    readonly form: Form,
    readonly args: readonly string[],
  ) {}

  run(): Refusal | undefined {
    const { form, args } = this;
    if (form.alone && (args.length !== 1 || !/^-[^]/.test(args[0] as string) || args[0] === "--"))
      return "with other arguments than one option";
    if (form.first && !((form.options.get(firstOption(args[0] ?? ""))?.group ?? 0) > 0))
      return "without certain options in front";
    if (form.at && args.some((word) => word.startsWith("@") || maybeUnknown(word)))
      return "with a word that may name a file (@)";
    let ended = false;
    if (form.old && /^[A-Za-z]+$/.test(args[0] ?? "")) {
      const why = this.#bundle(args[0] as string, true);
      if (why !== undefined) return why;
    }
    while (this.at < args.length) {
      const word = args[this.at] as string;
      if (word.includes(SPLIT)) {
        if (!form.open && !areNames(word)) return SEVERAL_WORDS;
        this.#operands.push(word);
        this.at++;
      } else if (!ended && word === "--" && !form.words) {
        ended = true;
        this.at++;
        if (this.#operands.length > 0 && !form.reorders) this.#late++;
      } else if (ended && /^-./.test(word) && !form.open) {
        // `git blame -- HEAD --output=f`, and programs with their own parser, take it for an option.
        return `with ${word} after --`;
      } else if (ended || !maybeOption(word) || word === "-" || (form.open && !word.startsWith("-"))) {
        this.#operands.push(word);
        this.at++;
      } else {
        const before = this.at;
        const why = this.option();
        if (why !== undefined) return why;
        if (this.#operands.length > 0 && !form.reorders) this.#late += this.at - before;
      }
    }
    for (const group of form.groups) if (!this.#given.has(group)) return "without certain options";
    return this.#operandsOutside();
  }

  /** Checks the current option with its values, and skips them. */
  option(): string | undefined {
    const word = this.args[this.at] as string;
    if (!word.startsWith("-")) return word.includes(SPLIT) ? SEVERAL_WORDS : UNKNOWN_OPTION;
    if (word.startsWith("--") || this.form.words) return this.#long(word);
    if (this.form.options.has("-#") && /^-\d+$/.test(word)) {
      this.at++;
      return undefined;
    }
    return this.#bundle(word.slice(1), false);
  }

  #long(word: string): string | undefined {
    const { options, words } = this.form;
    const equals = words && options.has(word) ? -1 : word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    if (!isFixed(name)) return UNKNOWN_OPTION;
    this.at++;
    const option = options.get(name);
    if (option === undefined) {
      // One letter, with its value in the same word.
      const short = words ? options.get(word.slice(0, 2)) : undefined;
      if (short?.values === 1 && !short.apart && short.shape !== undefined)
        return this.#value(name, short, word.slice(2));
      return words && options.has("-#") && /^-\d+$/.test(word) ? undefined : `with ${name}`;
    }
    this.#note(option);
    if (equals >= 0)
      return option.values === 1 || option.optional
        ? this.#value(name, option, word.slice(equals + 1))
        : `with a value for ${name}`;
    return this.#following(name, option);
  }

  #bundle(letters: string, old: boolean): string | undefined {
    this.at++;
    for (let i = 0; i < letters.length; i++) {
      const name = `-${letters[i]}`;
      if (!isFixed(name)) return UNKNOWN_OPTION;
      const option = this.form.options.get(name);
      if (option === undefined) return `with ${name}`;
      this.#note(option);
      const rest = letters.slice(i + 1);
      let why: string | undefined;
      if (old || rest === "") why = this.#following(name, option);
      else if (option.optional || option.values === 1)
        return option.apart ? `with ${name}` : this.#value(name, option, rest);
      if (why !== undefined) return why;
    }
    return undefined;
  }

  #note({ group }: Option): void {
    if (group > 0 && (this.#operands.length === 0 || this.form.reorders)) this.#given.add(group);
  }

  /** Values in the next words. A value that looks like an option may be one in another version of the program. */
  #following(name: string, option: Option): string | undefined {
    for (let count = option.values; count > 0 && this.at < this.args.length; count--) {
      const value = this.args[this.at++] as string;
      if (value.includes(SPLIT) || isGlob(value)) {
        if (this.form.open) continue;
        if (areNumbers(value) && onlyNumbers(option.shape)) {
          // All but the first are operands; if there is none, the program refuses the next word, which is not a number.
          this.#operands.push(value);
          continue;
        }
        // An absolute path, even one of several files, is never an option.
        if (!value.startsWith("/") || value.includes(SPLIT) || option.shape?.contents !== true) return SEVERAL_WORDS;
      }
      if (/^-./.test(value) && !this.form.open && !/^-\d+(?:min|[smhd])?$/.test(value)) return `with ${name} ${value}`;
      const why = this.#value(name, option, value);
      if (why !== undefined) return why;
    }
    return undefined;
  }

  #value(name: string, { shape }: Option, value: string): string | undefined {
    return shape === undefined || fits(shape, value) ? undefined : `with that value for ${name}`;
  }

  #operandsOutside(): Refusal | undefined {
    const list = this.form.operands;
    if (this.form.joined && list[0]?.shape !== undefined && this.#operands.length > 0)
      return fits(list[0].shape, this.#operands.join(" ")) ? undefined : refusal(list[0].shape, "");
    let index = 0;
    let used = 0;
    for (const word of this.#operands) {
      while (index < list.length && used >= (list[index] as Operand).most) {
        index++;
        used = 0;
      }
      const operand = list[index];
      if (operand === undefined) return "with that many arguments";
      if (operand.most < MANY && (isGlob(word) || word.includes(SPLIT))) return SEVERAL_WORDS;
      if (operand.shape !== undefined && !fits(operand.shape, word)) return refusal(operand.shape, word);
      // There may be none.
      if (!areNames(word)) used++;
    }
    if (used < (list[index]?.least ?? 0) || list.slice(index + 1).some(({ least }) => least > 0))
      return "with too few arguments";
    const most = list.reduce((sum, { most: each }) => sum + each, 0);
    return this.#late > 0 && this.#operands.length + this.#late > most ? "with that many arguments" : undefined;
  }
}

const firstOption = (word: string) => (word.startsWith("--") ? word : word.slice(0, 2));

function fits(shape: Shape, word: string): boolean {
  if (shape.contents && (isDeviceToRead(word) || (isGlob(word) && word.startsWith("/dev/")))) return false;
  if (shape.pattern === undefined) return true;
  const { pattern } = shape;
  const known = word.replaceAll(NUMBER, "1");
  return EXAMPLES.every((examples) => {
    const text = known.replace(/[\uFDD8-\uFDDB]\uFDD5?/g, (one) =>
      one.length === 1 && /[\uFDD8\uFDDB]/.test(one) ? "1 2" : (examples[one[0] as string] as string),
    );
    return !isUnknown(text) && pattern.test(text);
  });
}

/** Values for unknown numbers and names: a shape must match with each of these. */
const EXAMPLES: readonly Readonly<Record<string, string>>[] = [
  { [NUMBERS]: "1", [LISTED]: "1", [WORD]: "a", [WORDS]: "1" },
  { [NUMBERS]: "12", [LISTED]: "1,2", [WORD]: "A.b-c_1", [WORDS]: "A.b-c_1" },
];

/** The program accepts only numbers. */
function onlyNumbers(shape: Shape | undefined): boolean {
  const pattern = shape?.pattern;
  return pattern?.test("1") === true && !["a", "-a", ".", "/", ""].some((text) => pattern.test(text));
}

function refusal(shape: Shape, word: string): Refusal {
  return shape.contents && (isDeviceToRead(word) || word.startsWith("/dev/"))
    ? { does: "reads a device" }
    : "with an argument that is not known to be harmless";
}

function maybeUnknown(word: string): boolean {
  return maybeOption(word) && !word.startsWith("-");
}
