/** The options in front of a command's operands: where they end and what they are. */
import { type Field, isFixed, SPLIT, UNKNOWN } from "../syntax/field.ts";

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

export interface Options {
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
