/** The options at the front of a command that runs another one: where they end and what they were. */
import { type Field, isFixed, UNKNOWN } from "../syntax/field.ts";

export interface OptionShape {
  /** Letters that take no value, and letters that take one. */
  readonly flags?: string;
  readonly values?: string;
  /** Letters that take the rest of their word, if there is one. */
  readonly optional?: string;
  /** Long names, without the dashes. */
  readonly long?: readonly string[];
  readonly longValues?: readonly string[];
  /** Single-dash words that take a value, as `-target`. */
  readonly words?: readonly string[];
}

export interface Options {
  /** Index of the first word that is no option. */
  readonly at: number;
  readonly seen: ReadonlyMap<string, Field | undefined>;
  /** An option that is not in the shape, or one that cannot be known: what follows may be its value. */
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
      if (value !== undefined) seen.set(name, { value, source: value });
      else if (isAmong(name, shape.longValues)) seen.set(name, argv[at++]);
      else {
        seen.set(name, undefined);
        if (!isAmong(name, shape.long)) odd = true;
      }
      continue;
    }
    if (shape.words?.includes(word.slice(1)) === true) {
      seen.set(word.slice(1), argv[at++]);
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
  return { at: Math.min(at, argv.length), seen, odd };
}

export function longOption(word: string): [name: string, value: string | undefined] {
  const equals = word.indexOf("=");
  return equals < 0 ? [word.slice(2), undefined] : [word.slice(2, equals), word.slice(equals + 1)];
}

/** GNU programs take any unambiguous beginning of a long name. */
function isAmong(name: string, names: readonly string[] | undefined): boolean {
  return names?.some((full) => full === name || (name.length > 1 && full.startsWith(name))) === true;
}
