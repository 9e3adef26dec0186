/**
 * The kinds of settings: each knows how to read a TOML value, what it expects in words, and its default.
 * Read by hand: with zod/mini the same table took 4 of the 13 ms that loading a full configuration took.
 */
import { DURATION_FORMAT, formatDuration, LONGEST_DURATION_MS, parseDuration } from "../lib/durations.ts";

export interface Setting<T> {
  /** From the value of the TOML file to the value the program uses; undefined when it is not what is expected. */
  read(raw: unknown): T | undefined;
  readonly fallback: T;
  /** Ends the sentence "… must be". */
  readonly expects: string;
  /** What it is for, in a line. */
  readonly text: string;
  /** As it would be written in the file. */
  show(value: T): string;
}

export type ValueOf<S> = S extends Setting<infer T> ? T : never;

export function yesNo(fallback: boolean, text: string): Setting<boolean> {
  const read = (raw: unknown) => (typeof raw === "boolean" ? raw : undefined);
  return { read, fallback, expects: "true or false", text, show: String };
}

/** true, false, or a word for something between. */
export function yesNoOr<const T extends string>(
  word: T,
  fallback: boolean | NoInfer<T>,
  text: string,
): Setting<boolean | T> {
  const read = (raw: unknown) => (typeof raw === "boolean" || raw === word ? (raw as boolean | T) : undefined);
  const show = (value: boolean | T) => JSON.stringify(value);
  return { read, fallback, expects: `${quoted(word)}, true or false`, text, show };
}

/** true, false, or a text of a certain form. */
export function yesNoOrText(pattern: RegExp, expects: string, text: string): Setting<boolean | string | undefined> {
  const read = (raw: unknown) =>
    typeof raw === "boolean" || (typeof raw === "string" && pattern.test(raw)) ? raw : undefined;
  return optional<boolean | string>({ read, fallback: false, expects, text, show: JSON.stringify });
}

export function anyText(fallback: string, text: string): Setting<string> {
  return { read: readText, fallback, expects: "a text in quotes", text, show: quoted };
}

export function textLike(pattern: RegExp, fallback: string, expects: string, text: string): Setting<string> {
  const read = (raw: unknown) => (typeof raw === "string" && pattern.test(raw) ? raw : undefined);
  return { read, fallback, expects, text, show: quoted };
}

export function oneOf<const T extends string>(words: readonly T[], fallback: NoInfer<T>, text: string): Setting<T> {
  const read = (raw: unknown) => words.find((word) => word === raw);
  return {
    read,
    fallback,
    get expects() {
      return `one of ${words.map(quoted).join(", ")}`;
    },
    text,
    show: quoted,
  };
}

export function wholeNumber(min: number, max: number, fallback: number, text: string): Setting<number> {
  const read = (raw: unknown) => (Number.isInteger(raw) ? readNumber(raw, min, max) : undefined);
  return { read, fallback, expects: `a whole number from ${min} to ${max}`, text, show: String };
}

/** An amount of money in USD; 0 is no limit. */
export function amount(max: number, text: string): Setting<number> {
  const read = (raw: unknown) => readNumber(raw, 0, max);
  return { read, fallback: 0, expects: `an amount in USD from 0 to ${max}`, text, show: String };
}

export function decimal(min: number, max: number, text: string): Setting<number | undefined> {
  const read = (raw: unknown) => readNumber(raw, min, max);
  return optional({ read, fallback: 0, expects: `a number from ${min} to ${max}`, text, show: String });
}

/** Milliseconds to the program; `500ms 10s 5m 2h 1d` or a number of seconds in the file. */
export function duration(fallback: number, text: string): Setting<number> {
  const read = (raw: unknown) => {
    const ms = typeof raw === "string" || typeof raw === "number" ? parseDuration(String(raw)) : undefined;
    return readNumber(ms, 1, LONGEST_DURATION_MS);
  };
  return {
    read,
    fallback,
    expects: `${DURATION_FORMAT} (a bare number is seconds; at most 24d)`,
    text,
    show: (ms) => quoted(formatDuration(ms)),
  };
}

export function texts(fallback: readonly string[], text: string): Setting<readonly string[]> {
  const read = (raw: unknown) =>
    Array.isArray(raw) && raw.every((one) => typeof one === "string" && one !== "") ? (raw as string[]) : undefined;
  return { read, fallback, expects: "a list of texts", text, show: (list) => `[${list.map(quoted).join(", ")}]` };
}

/** One text or a list of them. */
export function textOrTexts(text: string): Setting<readonly string[] | undefined> {
  const list = texts([], text);
  const read = (raw: unknown) => (typeof raw === "string" && raw !== "" ? [raw] : list.read(raw));
  return optional({ ...list, read, expects: "a text or a list of texts" });
}

/** A program and its arguments, or a list of these, one for each step. */
export function commandLines(text: string): Setting<readonly (readonly string[])[] | undefined> {
  const { read: readOne, show } = texts([], text);
  const read = (raw: unknown) => {
    const lists = Array.isArray(raw) && raw.some(Array.isArray) ? raw.map(readOne) : [readOne(raw)];
    const full = lists.filter((list) => list !== undefined && list.length > 0);
    return full.length === lists.length && full.length > 0 ? (full as string[][]) : undefined;
  };
  return optional({
    read,
    fallback: [],
    expects: 'a program and its arguments, such as ["kubectl", "exec", "-i", "api", "--"]',
    text,
    show: (lists) => lists.map(show).join(", "),
  });
}

/** A table of texts, such as HTTP headers. */
export function textTable(text: string): Setting<Readonly<Record<string, string>> | undefined> {
  const read = (raw: unknown) =>
    isTable(raw) && Object.values(raw).every((one) => typeof one === "string")
      ? (raw as Record<string, string>)
      : undefined;
  return optional({ read, fallback: {}, expects: "a table of texts", text, show: JSON.stringify });
}

/** What is let through and what is kept out, by patterns; a plain list is what is let through. */
export interface AllowDeny {
  /** Empty: everything. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

export function allowDeny(text: string): Setting<AllowDeny> {
  const list = texts([], text);
  const read = (raw: unknown): AllowDeny | undefined => {
    if (!isTable(raw)) return list.read(raw) && { allow: list.read(raw) ?? [], deny: [] };
    const { allow = [], deny = [], ...other } = raw;
    if (Object.keys(other).length > 0) return undefined;
    const [allowed, denied] = [list.read(allow), list.read(deny)];
    return allowed && denied && { allow: allowed, deny: denied };
  };
  return {
    read,
    fallback: { allow: [], deny: [] },
    expects: 'a list of patterns, or { allow = ["get_*"], deny = ["get_secret"] }',
    text,
    show: ({ allow, deny }) => (deny.length === 0 ? list.show(allow) : JSON.stringify({ allow, deny })),
  };
}

/** A table of anything that JSON can say. */
export function jsonTable(text: string): Setting<Readonly<Record<string, unknown>> | undefined> {
  const read = (raw: unknown) => (isTable(raw) ? raw : undefined);
  return optional({ read, fallback: {}, expects: "a table", text, show: JSON.stringify });
}

/** A program and its arguments: a list, or one text that is split at spaces. */
export function commandLine(text: string): Setting<readonly string[] | undefined> {
  const list = texts([], text);
  const read = (raw: unknown) => {
    const words = typeof raw === "string" ? raw.split(/\s+/).filter((word) => word !== "") : list.read(raw);
    return words === undefined || words.length === 0 ? undefined : words;
  };
  return optional({ ...list, read, expects: 'a program and its arguments, such as ["pass", "show", "openai"]' });
}

/** Texts of which those in slashes are regular expressions. */
export function patterns(fallback: readonly string[], text: string): Setting<readonly string[]> {
  const list = texts(fallback, text);
  const read = (raw: unknown) => (list.read(raw)?.every(isPattern) ? (raw as string[]) : undefined);
  return { ...list, read, expects: "a list of texts, those in /slashes/ regular expressions" };
}

function isPattern(entry: string): boolean {
  const [, body, flags] = /^\/([^]+)\/([imsu]*)$/.exec(entry.trim()) ?? [];
  try {
    return body === undefined || new RegExp(body, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

/** A setting that may be left out; then it is undefined. */
export function optional<T>(setting: Setting<T>): Setting<T | undefined> {
  const show = (value: T | undefined) => (value === undefined ? "(not set)" : setting.show(value));
  return { ...setting, fallback: undefined, show };
}

/** Reads another form than the documented one, too: older files stay valid. */
export function alsoReads<T>(setting: Setting<T>, other: (raw: unknown) => T | undefined): Setting<T> {
  return { ...setting, read: (raw) => other(raw) ?? setting.read(raw) };
}

function isTable(raw: unknown): raw is Record<string, unknown> {
  return typeof raw === "object" && raw !== null && raw.constructor === Object;
}

function readText(raw: unknown): string | undefined {
  return typeof raw === "string" ? raw : undefined;
}

function readNumber(raw: unknown, min: number, max: number): number | undefined {
  return typeof raw === "number" && raw >= min && raw <= max ? raw : undefined;
}

function quoted(value: string): string {
  return JSON.stringify(value);
}
