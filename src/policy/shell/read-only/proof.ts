/** What a row of the read-only table is made of: a proof over a program's arguments, and the ways to build one. */
import { isGlob, isUnknown, maybeOption } from "../syntax/field.ts";
import { longOption } from "../wrappers/options.ts";

/** Undefined: proven to change nothing. Otherwise why not, to be read after the program's name. */
export type Proof = (args: readonly string[]) => string | undefined;

export interface ReadOnlyRow {
  readonly programs: readonly string[];
  readonly proof: Proof;
  /** Commands that this row proves and does not prove; a test runs over them. */
  readonly yes: readonly string[];
  readonly no: readonly string[];
}

/** No argument makes it change anything. */
export const always: Proof = () => undefined;

export interface Refused {
  /** Letters of short options, also in bundles. */
  readonly short?: string;
  /** Long options without dashes; beginnings of them count. */
  readonly long?: readonly string[];
  /** Whole words with one dash, as in `-exec`. */
  readonly words?: readonly string[];
  /** Most operands it may have. */
  readonly operands?: number;
  /** A word after the first operand is an operand whatever it looks like, as some versions of the program read it. */
  readonly strict?: boolean;
}

/** Everything but these options. A word that may turn out to be an option is not proven. */
export function without(refused: Refused): Proof {
  return (args) => {
    let operands = 0;
    let options = true;
    for (const word of args) {
      if (options && word === "--") options = false;
      else if (options && maybeOption(word) && word !== "-") {
        if (!word.startsWith("-")) return `${NOT_KNOWN} an option`;
        if (isUnknown(word) && !/^--?[A-Za-z][\w-]*=/.test(word)) return `${NOT_KNOWN} an option`;
        const found = refusedOption(word, refused);
        if (found !== undefined) return `with ${found}`;
      } else {
        operands += isGlob(word) ? SEVERAL : 1;
        if (refused.strict === true) options = false;
      }
    }
    return refused.operands !== undefined && operands > refused.operands ? "with that many arguments" : undefined;
  };
}

const NOT_KNOWN = "with what may be";
/** A pattern may become any number of words. */
const SEVERAL = 1_000;

function refusedOption(word: string, { short = "", long = [], words = [] }: Refused): string | undefined {
  if (words.includes(word)) return word;
  if (word.startsWith("--")) {
    const [name] = longOption(word);
    return long.some((full) => full.startsWith(name)) ? `--${name}` : undefined;
  }
  for (const letter of word.slice(1)) if (short.includes(letter)) return `-${letter}`;
  return undefined;
}

export interface Allowed {
  readonly short?: string;
  /** Letters with a value, in the same word or the next. */
  readonly values?: string;
  readonly long?: readonly string[];
  readonly longValues?: readonly string[];
  readonly words?: readonly string[];
  /** Most operands, or which they may be; any number unless given. */
  readonly operands?: number | RegExp;
}

/** These options and no others. */
export function only(allowed: Allowed): Proof {
  return (args) => {
    const {
      short = "",
      values = "",
      long = [],
      longValues = [],
      words = [],
      operands = Number.POSITIVE_INFINITY,
    } = allowed;
    let count = 0;
    let options = true;
    for (let i = 0; i < args.length; i++) {
      const word = args[i] as string;
      if (options && word === "--") options = false;
      else if (options && maybeOption(word) && word !== "-") {
        if (!word.startsWith("-")) return `${NOT_KNOWN} an option`;
        if (words.includes(word)) continue;
        if (word.startsWith("--")) {
          const [name, value] = longOption(word);
          if (longValues.includes(name)) {
            if (value === undefined) i++;
          } else if (!long.includes(name)) return `with --${name}`;
          continue;
        }
        for (let at = 1; at < word.length; at++) {
          const letter = word[at] as string;
          if (values.includes(letter)) {
            if (at === word.length - 1) i++;
            break;
          }
          if (!short.includes(letter)) return `with -${letter}`;
        }
      } else if (typeof operands === "number" ? (count += isGlob(word) ? SEVERAL : 1) > operands : !operands.test(word))
        return typeof operands === "number" ? "with that many arguments" : `with ${word}`;
    }
    return undefined;
  };
}

/** The first word that is no option decides. */
export function subcommands(
  table: Readonly<Record<string, Proof>>,
  globals: Allowed & { readonly none?: Proof } = {},
): Proof {
  return (args) => {
    const { short = "", values = "", long = [], longValues = [] } = globals;
    let at = 0;
    for (; at < args.length; at++) {
      const word = args[at] as string;
      if (!maybeOption(word)) break;
      if (!word.startsWith("-")) return `${NOT_KNOWN} an option`;
      if (word.startsWith("--")) {
        const [name, value] = longOption(word);
        if (longValues.includes(name)) {
          if (value === undefined) at++;
        } else if (!long.includes(name)) return `with --${name}`;
      } else if (values.includes(word[1] as string)) {
        if (word.length === 2) at++;
      } else for (const letter of word.slice(1)) if (!short.includes(letter)) return `with -${letter}`;
    }
    const name = args[at];
    if (name === undefined) return globals.none === undefined ? "without a subcommand" : globals.none(args);
    const proof = Object.hasOwn(table, name) ? table[name] : undefined;
    return proof === undefined ? `${name} is not known to be read-only` : proof(args.slice(at + 1));
  };
}

/** At least one of these options must be there, and the rest must hold too. */
export function having(pattern: RegExp, what: string, proof: Proof): Proof {
  return (args) => (optionWords(args).some((word) => pattern.test(word)) ? proof(args) : `without ${what}`);
}

/** The words a program reads as options: not those behind `--`, and not the values of long options that take the next word. */
export function optionWords(args: readonly string[], longValues: readonly string[] = []): string[] {
  const options: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const word = args[i] as string;
    if (word === "--") break;
    if (!word.startsWith("-")) continue;
    options.push(word);
    if (word.startsWith("--") && longValues.includes(word.slice(2))) i++;
  }
  return options;
}

/** Options of one dash and many letters, as openssl has them: these words, these with a value in the next word, and operands. */
export function dashWords(words: readonly string[], values: RegExp, operands: number): Proof {
  return (args) => {
    const rest: string[] = [];
    for (let i = 0; i < args.length; i++)
      if (values.test(args[i] as string)) i++;
      else rest.push(args[i] as string);
    return only({ words, operands })(rest);
  };
}
