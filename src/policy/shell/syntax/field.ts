/** One argument of a command: text, with noncharacters as stand-ins for what the text alone does not show. */

export interface Field {
  /** Dequoted and expanded; may contain the stand-ins below. */
  readonly value: string;
  /** As it was written, for people. */
  readonly source: string;
  /** What a process substitution prints, if known. */
  readonly prints?: string | undefined;
  /** The argument is a process substitution. */
  readonly process?: boolean;
  /** HOME replaces the path of the home directory, which was written out. */
  readonly written?: boolean;
}

/** Any characters: an active `*`. `cleaned` removes noncharacters from the text that is judged. */
export const STAR = "\uFDD0";
/** One character of a set: an active `?` or `[…]`. */
export const ONE = "\uFDD1";
/** Text that only the running shell knows; it may be empty or anything. */
export const UNKNOWN = "\uFDD2";
/** A home directory. */
export const HOME = "\uFDD3";

/** A number that only the running shell knows. */
export const NUMBER = "\uFDD4";

/** Numbers that only the running shell knows, separated by blanks or line ends; perhaps none. */
export const NUMBERS = "\uFDD8";
/** The same separated by commas: a single word. */
export const LISTED = "\uFDD9";

/** A name that only the running shell knows: letters, digits, dots, dashes; no blank, no slash, no dash in front. */
export const WORD = "\uFDDA";
/** Several of them, separated by blanks or line ends; perhaps none. */
export const WORDS = "\uFDDB";

/** After UNKNOWN, NUMBERS or WORDS: it was not quoted, so it may be several words or none. */
export const SPLIT = "\uFDD5";

/** In what a command prints: the text is a guess, which is used to find dangers but not to prove anything. */
export const GUESS = "\uFDD6";
/** In what a command prints: the text, or nothing. */
export const PERHAPS = "\uFDD7";

/** Every text that this output may be. */
export function outputs(printed: string | undefined): readonly string[] {
  if (printed === undefined) return [UNKNOWN];
  const text = printed.replace(/[\uFDD6\uFDD7]/g, "");
  return [text, ...(printed.includes(GUESS) ? [UNKNOWN] : []), ...(printed.includes(PERHAPS) ? [""] : [])];
}

const STANDINS = /[\uFDD0-\uFDEF]/g;

export function cleaned(text: string): string {
  return text.search(/[\uFDD0-\uFDEF]/) < 0 ? text : text.replace(STANDINS, "\uFFFD");
}

export function isUnknown(text: string): boolean {
  return /[\uFDD2\uFDD4\uFDD8-\uFDDB]/.test(text);
}

/** Only numbers, each a separate word; perhaps none. */
export function areNumbers(word: string): boolean {
  return word === NUMBERS + SPLIT;
}

/** Only names or numbers; perhaps none. */
export function areNames(word: string): boolean {
  return word === WORDS + SPLIT || areNumbers(word);
}

/** Depends on the names of existing files. */
export function isGlob(text: string): boolean {
  return text.includes(STAR) || text.includes(ONE);
}

/** Exactly this text on every machine. */
export function isFixed(text: string): boolean {
  return !isUnknown(text) && !isGlob(text);
}

/** May be an option: its first character is a dash, unknown or a glob. */
export function maybeOption(text: string): boolean {
  const first = text[0];
  return first === "-" || first === UNKNOWN || first === STAR || first === ONE;
}

export function field(value: string, source: string = value): Field {
  return { value, source };
}

/** For people: known text dequoted, other text as it was written. */
export function shown(item: Field): string {
  if (isUnknown(item.value) || item.process === true) return cleaned(item.source);
  return readable(item.value);
}

export function readable(value: string): string {
  return value
    .replaceAll(STAR, "*")
    .replaceAll(ONE, "?")
    .replaceAll(UNKNOWN, "…")
    .replace(/[\uFDD4\uFDD8-\uFDDB]/g, "…")
    .replaceAll(SPLIT, "")
    .replaceAll(HOME, "~");
}

/** Makes globs in plain text active, as after an unquoted expansion. */
export function activated(text: string): string {
  if (!/[*?[]/.test(text)) return text;
  return text.replace(/\*+/g, STAR).replace(/\?|\[[^\]/]+\]/g, ONE);
}

/** The last part of a program's path. */
export function programName(value: string): string {
  const slash = value.lastIndexOf("/");
  return slash < 0 ? value : value.slice(slash + 1);
}

// ── Whether a pattern with active globs could match a name.

/** Time is linear in pattern × name. A leading dot is matched only by a dot, as in the shell. */
export function globMatches(pattern: string, name: string): boolean {
  const first = pattern[0];
  if (name.startsWith(".") && (first === STAR || first === ONE)) return false;
  let p = 0;
  let n = 0;
  let star = -1;
  let mark = 0;
  while (n < name.length) {
    if (p < pattern.length && (pattern[p] === ONE || pattern[p] === name[n])) {
      p++;
      n++;
    } else if (p < pattern.length && pattern[p] === STAR) {
      star = p++;
      mark = n;
    } else if (star >= 0) {
      p = star + 1;
      n = ++mark;
    } else return false;
  }
  while (p < pattern.length && pattern[p] === STAR) p++;
  return p === pattern.length;
}

/** Matches everything in a directory: `*`, `**`, `?*`, `.*`. */
export function matchesEverything(pattern: string): boolean {
  const rest = pattern.startsWith(".") ? pattern.slice(1) : pattern;
  if (!rest.includes(STAR) || rest.includes(UNKNOWN)) return false;
  for (const character of rest) if (character !== STAR && character !== ONE) return false;
  return true;
}

/** The pattern in `${x#…}` and the like; undefined if a part of it is unknown. */
export function patternToRegExp(pattern: string, greedy: boolean): string | undefined {
  if (pattern.includes(UNKNOWN) || pattern.includes(ONE)) return undefined;
  let out = "";
  for (const character of pattern) {
    if (character === STAR) out += greedy ? "[^]*" : "[^]*?";
    else out += character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  }
  return out;
}
