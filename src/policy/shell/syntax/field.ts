/**
 * One argument as a command would get it: text, where four noncharacters represent what the text alone does not show.
 */
export interface Field {
  /** Dequoted and expanded; may contain STAR, ONE, UNKNOWN and HOME. */
  readonly value: string;
  /** As it was written, for people. */
  readonly source: string;
  /** What a process substitution prints, where that is known. */
  readonly prints?: string | undefined;
  /** The argument is a process substitution. */
  readonly process?: boolean;
  /** HOME represents the whole path of the home directory, as it was written. */
  readonly written?: boolean;
}

/** Any run of characters: an active `*`. Noncharacters of Unicode: `cleaned` keeps them out of what people write. */
export const STAR = "\uFDD0";
/** One character of a set: an active `?` or `[…]`. */
export const ONE = "\uFDD1";
/** Text that only the running shell knows; may be empty, may hold anything. */
export const UNKNOWN = "\uFDD2";
/** A home directory. */
export const HOME = "\uFDD3";

/** A number that only the running shell knows. */
export const NUMBER = "\uFDD4";

/** Numbers that only the running shell knows, with blanks or line ends between them; or none. */
export const NUMBERS = "\uFDD8";
/** The same with commas between them: a single word. */
export const LISTED = "\uFDD9";

/** A name that only the running shell knows: letters, digits, dots, dashes; no blank, no slash, no dash in front. */
export const WORD = "\uFDDA";
/** Several of them, with blanks or line ends between them; or none. */
export const WORDS = "\uFDDB";

/** After UNKNOWN, NUMBERS or WORDS: it was not quoted, so it may turn out to be several words or none. */
export const SPLIT = "\uFDD5";

/** In what a command prints: the text is a guess, good enough to find dangers in, but nothing can be proven by it. */
export const GUESS = "\uFDD6";
/** The same: it, or nothing. */
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

/** Nothing but numbers, each a word of its own; perhaps none. */
export function areNumbers(word: string): boolean {
  return word === NUMBERS + SPLIT;
}

/** Nothing but names, or numbers; perhaps none. */
export function areNames(word: string): boolean {
  return word === WORDS + SPLIT || areNumbers(word);
}

/** Whether a file name decides what this is. */
export function isGlob(text: string): boolean {
  return text.includes(STAR) || text.includes(ONE);
}

/** Exactly this text, whatever the machine looks like. */
export function isFixed(text: string): boolean {
  return !isUnknown(text) && !isGlob(text);
}

/** Could turn out to be an option: unknown or globbed from its first character on. */
export function maybeOption(text: string): boolean {
  const first = text[0];
  return first === "-" || first === UNKNOWN || first === STAR || first === ONE;
}

export function field(value: string, source: string = value): Field {
  return { value, source };
}

/** The words people see: known text dequoted, the rest as it was written. */
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

/** Globs written in plain text become active, as after an unquoted expansion. */
export function activated(text: string): string {
  if (!/[*?[]/.test(text)) return text;
  return text.replace(/\*+/g, STAR).replace(/\?|\[[^\]/]+\]/g, ONE);
}

/** The last part of a program's path: what names the program. */
export function programName(value: string): string {
  const slash = value.lastIndexOf("/");
  return slash < 0 ? value : value.slice(slash + 1);
}
