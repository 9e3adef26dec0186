/** The one reader of arguments: which words are options, values and operands, in every way a program may read them. */
import { isDeviceToRead } from "../shell/dangers/protected-paths.ts";
import {
  areNames,
  areNumbers,
  type Field,
  field,
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
} from "../shell/syntax/field.ts";

export interface Option {
  /** How many values it takes: in the next words, or after `=` or its letter. */
  readonly values: 0 | 1 | 2;
  /** It may have a value, only in the same word. */
  readonly optional: boolean;
  /** Its value is always the next word, and its letter the last of a bundle. */
  readonly apart: boolean;
  /** What a value must match, and what it stands for. */
  readonly shape: Shape | undefined;
  /** One option of each group other than 0 is required, before every operand. */
  readonly group: number;
}

export interface Operand {
  readonly shape: Shape;
  readonly least: number;
  readonly most: number;
}

export interface Shape {
  readonly name: string;
  readonly pattern: { test(word: string): boolean } | undefined;
  /** It names a file whose contents are read. */
  readonly contents: boolean;
  /** This word and all that follow are a command, or a text for a shell. */
  readonly rest: boolean;
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
  /** Options that are not listed take no value, and follow operands. */
  readonly partial: boolean;
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

/** One way to read the words. */
export interface Reading {
  readonly options: readonly GivenOption[];
  readonly operands: readonly PlacedOperand[];
  /** From the first word of an operand that takes all that follow. */
  readonly rest: readonly Field[];
  /** The index of the first word that was not read: of the subcommand, or of `rest`. */
  readonly at: number;
  /** Why the form does not cover the words; empty if it does. */
  readonly unknown: readonly Refusal[];
}

export interface GivenOption {
  readonly name: string;
  /** Undefined if the form does not list it. */
  readonly option: Option | undefined;
  readonly values: readonly Field[];
}

export interface PlacedOperand {
  readonly shape: Shape;
  readonly field: Field;
}

/** One of these options, separated by commas; `operand` stands for any operand. */
export function isGiven({ options, operands }: Reading, names: string): boolean {
  const all = names.split(",");
  return options.some(({ name }) => all.includes(name)) || (all.includes("operand") && operands.length > 0);
}

const UNKNOWN_OPTION = "with a word that may be an option";
const SEVERAL_WORDS = "with words that are only known when it runs";
const TOO_MANY = "with that many arguments";
const MANY = 1_000;
const MAX_READINGS = 12;

/** Why a call is not proven to be a read: what it is called with (“with --output”), or what it does. */
export type Refusal = string | { readonly does: string };

export function refused(call: string, why: Refusal): string {
  return typeof why === "string" ? `${call} is not known to be read-only ${why}` : `${call} ${why.does}`;
}

/** Undefined if the arguments match the form. */
export function outside(form: Form, args: readonly Field[]): Refusal | undefined {
  return likeliest(form, args).unknown[0];
}

/**
 * The likeliest reading. There are others only if something in it is unknown. `front`: only the options before the
 * first operand, for programs with subcommands.
 */
export function likeliest(form: Form, args: readonly Field[], front = false): Reading {
  return new Reader(form, args, front, []).read();
}

/** All readings up to a limit, the likeliest first: what follows an unlisted option may be its value or an operand. */
export function readings(form: Form, args: readonly Field[], front = false): readonly Reading[] {
  const found: Reading[] = [];
  const open: (readonly number[])[] = [[]];
  for (let choices = open.shift(); choices !== undefined && found.length < MAX_READINGS; choices = open.shift()) {
    const reader = new Reader(form, args, front, choices);
    found.push(reader.read());
    for (let at = choices.length; at < reader.forks.length; at++)
      for (let other = 1; other < (reader.forks[at] as number); other++)
        open.push([...reader.taken.slice(0, at), other]);
  }
  return found;
}

class Reader {
  /** How many ways there were to go on at each fork, and which was taken. */
  readonly forks: number[] = [];
  readonly taken: number[] = [];
  readonly #options: GivenOption[] = [];
  readonly #operands: Field[] = [];
  readonly #unknown: Refusal[] = [];
  readonly #groups = new Set<number>();
  /** Where the operand that takes all that follows stands in the form; -1: there is none. */
  readonly #restSlot: number;
  #at = 0;
  #rest: number | undefined;
  #ended = false;
  /** Options after the first operand: programs that do not reorder take them for operands. */
  #late = 0;

  constructor(
    readonly form: Form,
    readonly args: readonly Field[],
    readonly front: boolean,
    readonly choices: readonly number[],
  ) {
    this.#restSlot = form.operands.findIndex(({ shape }) => shape.rest);
  }

  read(): Reading {
    const { form, args, front } = this;
    if (!front) this.#firstWord();
    while (this.#at < args.length && this.#rest === undefined && this.#word());
    if (!front && ![...form.groups].every((group) => this.#groups.has(group))) this.#why("without certain options");
    return {
      options: this.#options,
      operands: front ? [] : this.#placed(),
      rest: this.#rest === undefined ? [] : args.slice(this.#rest),
      at: this.#rest ?? this.#at,
      unknown: this.#unknown,
    };
  }

  /** Which of so many ways to go on. */
  #fork(ways: number): number {
    const taken = this.choices[this.forks.length] ?? 0;
    this.forks.push(ways);
    this.taken.push(taken);
    return taken;
  }

  #why(why: Refusal): void {
    this.#unknown.push(why);
  }

  #firstWord(): void {
    const { form, args } = this;
    const first = args[0]?.value ?? "";
    if (form.alone && (args.length !== 1 || !/^-[^]/.test(first) || first === "--"))
      this.#why("with other arguments than one option");
    if (form.first && !((form.options.get(firstOption(first))?.group ?? 0) > 0))
      this.#why("without certain options in front");
    if (form.at && args.some(({ value }) => value.startsWith("@") || (maybeOption(value) && !value.startsWith("-"))))
      this.#why("with a word that may name a file (@)");
    if (form.old && /^[A-Za-z]+$/.test(first)) this.#bundle(args[0] as Field, first, true);
  }

  /** Reads the next word with its values; false where the words of a subcommand begin. */
  #word(): boolean {
    const { form, front } = this;
    const word = this.args[this.#at] as Field;
    const { value } = word;
    const dashed = value.startsWith("-") && value !== "-";
    if (front && (value === "-" || !maybeOption(value))) return false;
    if (value.includes(SPLIT) && !(front && dashed)) {
      // If there is none, the command of `pdsh $numbers -w web1` begins later.
      if (form.open || (areNames(value) && this.#restSlot < 0)) return this.#operand(word);
      return this.#several(word, SEVERAL_WORDS);
    }
    if (!this.#ended && value === "--" && !form.words && !front) {
      this.#ended = true;
      this.#at++;
      if (this.#operands.length > 0 && !form.reorders) this.#late++;
      return true;
    }
    // `git blame -- HEAD --output=f`, and programs with their own parser, take it for an option.
    if (this.#ended && dashed && !form.open && this.#restSlot < 0) this.#why(`with ${value} after --`);
    if (this.#ended || !maybeOption(value) || value === "-" || (form.open && !dashed)) return this.#operand(word);
    if (!dashed) return this.#several(word, UNKNOWN_OPTION);
    const late = this.#operands.length > 0 && !form.reorders && !form.partial;
    // The command that `timeout 5` runs begins here.
    if (late && this.#restSlot >= 0) return this.#operand(word);
    const before = this.#at;
    this.#option(word);
    if (late) this.#late += this.#at - before;
    return true;
  }

  /** A word that only the running shell knows: operands, options with or without a value, or nothing. */
  #several(word: Field, why: string): boolean {
    this.#why(why);
    if (this.form.partial) return this.#operand(word);
    const way = this.#fork(3);
    if (way === 0) return this.front ? false : this.#operand(word);
    this.#at += way;
    return true;
  }

  #operand(word: Field): boolean {
    const before = this.form.operands.slice(0, Math.max(this.#restSlot, 0));
    const wanted = before.reduce((sum, { least }) => sum + least, 0);
    // NAME=value words stand between the options of sudo and its command.
    const slot = before.at(-1);
    const matches = slot !== undefined && slot.most > 1 && slot.shape.pattern?.test(word.value) === true;
    if (this.#restSlot >= 0 && this.#operands.length >= wanted && !matches) this.#rest = this.#at;
    else {
      this.#operands.push(word);
      this.#at++;
    }
    return true;
  }

  #option(word: Field): void {
    const { value } = word;
    if (value.startsWith("--") || this.form.words) this.#long(word);
    else if (this.form.options.has("-#") && /^-\d+$/.test(value)) this.#at++;
    else this.#bundle(word, value.slice(1), false);
  }

  #long(word: Field): void {
    const { options, words } = this.form;
    const { value } = word;
    this.#at++;
    const equals = words && options.has(value) ? -1 : value.indexOf("=");
    const given = equals < 0 ? value : value.slice(0, equals);
    if (!isFixed(given)) this.#why(UNKNOWN_OPTION);
    // One letter, with its value in the same word.
    const letter = words && !options.has(given) ? options.get(value.slice(0, 2)) : undefined;
    if (letter?.values === 1 && !letter.apart && letter.shape !== undefined)
      return this.#note(given, letter, [part(word, value.slice(2))]);
    if (words && options.has("-#") && /^-\d+$/.test(value)) return;
    const name = options.has(given) ? given : this.#longer(given);
    const option = options.get(name);
    if (option === undefined) {
      this.#options.push({
        name,
        option,
        values: equals < 0 ? this.#maybeValue() : [part(word, value.slice(equals + 1))],
      });
    } else if (equals < 0) this.#note(name, option, this.#following(name, option));
    else {
      if (option.values !== 1 && !option.optional) this.#why(`with a value for ${name}`);
      this.#note(name, option, [part(word, value.slice(equals + 1))]);
    }
  }

  /** Programs accept the beginning of a name: any of the listed ones that begin so. */
  #longer(given: string): string {
    if (isFixed(given)) this.#why(`with ${given}`);
    if (this.form.words || given.length < 3) return given;
    const all = [...this.form.options.keys()].filter((one) => one.startsWith(given)).slice(0, 8);
    return all[all.length < 2 ? 0 : this.#fork(all.length)] ?? given;
  }

  /** Nobody knows whether the next word is the value of an unlisted option. */
  #maybeValue(): Field[] {
    const next = this.args[this.#at];
    return !this.form.partial && next !== undefined && !/^-./.test(next.value) && this.#fork(2) === 1
      ? [this.args[this.#at++] as Field]
      : [];
  }

  #bundle(word: Field, letters: string, old: boolean): void {
    this.#at++;
    for (let i = 0; i < letters.length; i++) {
      const name = `-${letters[i]}`;
      const option = isFixed(name) ? this.form.options.get(name) : undefined;
      const rest = letters.slice(i + 1);
      if (option === undefined) {
        this.#why(isFixed(name) ? `with ${name}` : UNKNOWN_OPTION);
        const glued = rest !== "" && !this.form.partial && this.#fork(2) === 1;
        const values = glued ? [part(word, rest)] : rest === "" ? this.#maybeValue() : [];
        this.#options.push({ name, option, values });
        if (glued) return;
      } else if (old || rest === "") this.#note(name, option, this.#following(name, option));
      else if (option.optional || option.values === 1) {
        if (option.apart) this.#why(`with ${name}`);
        return this.#note(name, option, [part(word, rest)]);
      } else this.#note(name, option, []);
    }
  }

  #note(name: string, option: Option, values: readonly Field[]): void {
    if (option.group > 0 && (this.#operands.length === 0 || this.form.reorders)) this.#groups.add(option.group);
    for (const { value } of values)
      if (option.shape !== undefined && !fits(option.shape, value)) this.#why(`with that value for ${name}`);
    this.#options.push({ name, option, values });
  }

  /** Values in the next words. A value that looks like an option may be one in another version of the program. */
  #following(name: string, option: Option): Field[] {
    const values: Field[] = [];
    for (let count = option.values; count > 0 && this.#at < this.args.length; count--) {
      const word = this.args[this.#at] as Field;
      const { value } = word;
      if ((value.includes(SPLIT) || isGlob(value)) && !this.form.open) {
        if (areNumbers(value) && onlyNumbers(option.shape)) {
          // All but the first are operands; if there is none, the program refuses the next word, which is not a number.
          this.#operands.push(word);
          this.#at++;
          continue;
        }
        // An absolute path, even one of several files, is never an option.
        if (!value.startsWith("/") || value.includes(SPLIT) || option.shape?.contents !== true)
          this.#why(SEVERAL_WORDS);
      }
      if (/^-./.test(value) && !this.form.open && !/^-\d+(?:min|[smhd])?$/.test(value)) {
        this.#why(`with ${name} ${value}`);
        if (this.#fork(2) === 1) break;
      }
      this.#at++;
      values.push(word);
    }
    return values;
  }

  /** Each operand in its place; a place for any number leaves what later ones need. */
  #placed(): PlacedOperand[] {
    const { form } = this;
    const list = this.#restSlot < 0 ? form.operands : form.operands.slice(0, this.#restSlot);
    const words = this.#operands;
    const [only] = list;
    if (form.joined && only !== undefined && words.length > 0) {
      if (!fits(only.shape, words.map(({ value }) => value).join(" "))) this.#why(refusal(only.shape, ""));
      return words.map((field) => ({ shape: only.shape, field }));
    }
    const placed: PlacedOperand[] = [];
    let index = 0;
    let used = 0;
    for (const [at, field] of words.entries()) {
      const needed = () => list.slice(index + 1).reduce((sum, { least }) => sum + least, 0);
      for (let slot = list[index]; slot !== undefined; slot = list[index]) {
        if (used < slot.most && (used < slot.least || words.length - at > needed())) break;
        index++;
        used = 0;
      }
      const slot = list[index];
      if (slot === undefined) this.#why(TOO_MANY);
      else {
        if (slot.most < MANY && (isGlob(field.value) || field.value.includes(SPLIT))) this.#why(SEVERAL_WORDS);
        if (!fits(slot.shape, field.value)) this.#why(refusal(slot.shape, field.value));
        // There may be none.
        if (!areNames(field.value)) used++;
      }
      const shape = slot?.shape ?? list.at(-1)?.shape;
      if (shape !== undefined) placed.push({ shape, field });
    }
    const missing =
      used < (list[index]?.least ?? 0) ||
      list.slice(index + 1).some(({ least }) => least > 0) ||
      (this.#rest === undefined && this.#restSlot >= 0 && (form.operands[this.#restSlot] as Operand).least > 0);
    if (missing) this.#why("with too few arguments");
    const most = list.reduce((sum, { most: each }) => sum + each, 0);
    if (this.#late > 0 && words.length + this.#late > most) this.#why(TOO_MANY);
    return placed;
  }
}

const firstOption = (word: string) => (word.startsWith("--") ? word : word.slice(0, 2));

/** For people, a part that only the running shell knows is shown with the whole word. */
export const part = (word: Field, value: string): Field => field(value, isFixed(value) ? value : word.source);

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
