/** The types of settings: what may be in the file (a zod schema), how it is described, and its default. */
import { DURATION_FORMAT, formatDuration, LONGEST_DURATION_MS, parseDuration } from "../lib/durations.ts";
import { BuddyError } from "../lib/errors.ts";
import type { Schema, Zod } from "./zod.ts";

/** What settings of one type have in common; `of` are the parameters of one: its pattern, its words, its range. */
interface Kind<T, Of> {
  schema(zod: Zod, of: Of): Schema;
  plain(raw: unknown, of: Of): boolean;
  /** From the value in the file to the value the program uses; undefined if it is wrong. */
  convert?(raw: never): T | undefined;
  expects(of: Of): string;
  show(value: T): string;
}

let zod: Zod | undefined;

/** Loads zod, which takes 3 ms: only for a value that fails the quick check. */
export async function prepareSettings(): Promise<void> {
  zod ??= (await import("./zod.ts")).zod;
}

/** If `read` throws, zod is loaded and `read` is tried again: the schemas accept more than the quick checks. */
export async function judged<T>(read: () => T): Promise<T> {
  try {
    return read();
  } catch (error) {
    if (zod !== undefined || !(error instanceof BuddyError)) throw error;
    await prepareSettings();
    return read();
  }
}

/** Every start creates all of them, so they are small and of one shape. */
// oxlint-disable-next-line typescript/no-explicit-any -- only its kind uses its parameters
export class Setting<T, Of = any> {
  readonly kind: Kind<T & {}, Of>;
  readonly of: Of;
  readonly fallback: T;
  /** What it is for, in a line. */
  readonly text: string;
  /** Reads another form than the documented one. */
  readonly other: ((raw: unknown) => T | undefined) | undefined;
  made: Schema | undefined = undefined;

  constructor(
    kind: Kind<T & {}, Of>,
    of: Of,
    fallback: T,
    text: string,
    other: ((raw: unknown) => T | undefined) | undefined = undefined,
  ) {
    this.kind = kind;
    this.of = of;
    this.fallback = fallback;
    this.text = text;
    this.other = other;
  }

  /** Made when it is first needed: most files contain few settings. */
  schema(zod: Zod): Schema {
    return (this.made ??= this.kind.schema(zod, this.of));
  }

  /** The quick check: true only for values that the schema accepts. */
  plain(raw: unknown): boolean {
    return this.kind.plain(raw, this.of);
  }

  /** From the value in the file to the value the program uses; undefined if it is wrong. */
  read(raw: unknown): T | undefined {
    const other = this.other?.(raw);
    if (other !== undefined) return other;
    const right = this.plain(raw) || (zod !== undefined && this.schema(zod).safeParse(raw).success);
    if (!right) return undefined;
    return this.kind.convert === undefined ? (raw as T) : this.kind.convert(raw as never);
  }

  /** Ends the sentence "… must be". */
  get expects(): string {
    return this.kind.expects(this.of);
  }

  /** As it would be written in the file. */
  show(value: T): string {
    return value === undefined || value === null ? "(not set)" : this.kind.show(value);
  }
}

export type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** Undefined if it is not in the file. */
export function optional<T>({ kind, of, text, other }: Setting<T>): Setting<T | undefined> {
  return new Setting<T | undefined>(kind, of, undefined, text, other);
}

/** Also reads another form than the documented one: older files stay valid. */
export function alsoReads<T>(
  { kind, of, fallback, text }: Setting<T>,
  other: (raw: unknown) => T | undefined,
): Setting<T> {
  return new Setting(kind, of, fallback, text, other);
}

const YES_NO: Kind<boolean, undefined> = {
  schema: (z) => z.boolean(),
  plain: isYesNo,
  expects: () => "true or false",
  show: String,
};

export function yesNo(fallback: boolean, text: string): Setting<boolean> {
  return new Setting(YES_NO, undefined, fallback, text);
}

const YES_NO_OR: Kind<boolean | string, string> = {
  schema: (z, word) => z.union([z.boolean(), z.literal(word)]),
  plain: (raw, word) => isYesNo(raw) || raw === word,
  expects: (word) => `${quoted(word)}, true or false`,
  show: JSON.stringify,
};

/** true, false, or one word for something in between. */
export function yesNoOr<const T extends string>(
  word: T,
  fallback: boolean | NoInfer<T>,
  text: string,
): Setting<boolean | T> {
  return new Setting(YES_NO_OR as Kind<boolean | T, string>, word, fallback, text);
}

interface Form {
  readonly pattern: RegExp;
  readonly expects: string;
}

const YES_NO_OR_TEXT: Kind<boolean | string, Form> = {
  schema: (z, { pattern }) => z.union([z.boolean(), z.string().check(z.regex(pattern))]),
  plain: (raw, { pattern }) => isYesNo(raw) || (isText(raw) && pattern.test(raw)),
  expects: ({ expects }) => expects,
  show: JSON.stringify,
};

/** true, false, or a text of a certain form. */
export function yesNoOrText(pattern: RegExp, expects: string, text: string): Setting<boolean | string | undefined> {
  return new Setting<boolean | string | undefined>(YES_NO_OR_TEXT, { pattern, expects }, undefined, text);
}

const ANY_TEXT: Kind<string, undefined> = {
  schema: (z) => z.string(),
  plain: isText,
  expects: () => "a quoted string",
  show: quoted,
};

export function anyText(fallback: string, text: string): Setting<string> {
  return new Setting(ANY_TEXT, undefined, fallback, text);
}

const TEXT_LIKE: Kind<string, Form> = {
  schema: (z, { pattern }) => z.string().check(z.regex(pattern)),
  plain: (raw, { pattern }) => isText(raw) && pattern.test(raw),
  expects: ({ expects }) => expects,
  show: quoted,
};

export function textLike(pattern: RegExp, fallback: string, expects: string, text: string): Setting<string> {
  return new Setting(TEXT_LIKE, { pattern, expects }, fallback, text);
}

const ONE_OF: Kind<string, readonly string[]> = {
  schema: (z, words) => z.enum(words as [string, ...string[]]),
  plain: (raw, words) => words.includes(raw as string),
  expects: (words) => `one of ${words.map(quoted).join(", ")}`,
  show: quoted,
};

export function oneOf<const T extends string>(words: readonly T[], fallback: NoInfer<T>, text: string): Setting<T> {
  return new Setting(ONE_OF as unknown as Kind<T, readonly string[]>, words, fallback, text);
}

interface Range {
  readonly min: number;
  readonly max: number;
}

const WHOLE_NUMBER: Kind<number, Range> = {
  schema: (z, { min, max }) => z.int().check(z.gte(min), z.lte(max)),
  plain: (raw, range) => Number.isSafeInteger(raw) && isWithin(raw, range),
  expects: ({ min, max }) => `a whole number from ${min} to ${max}`,
  show: String,
};

export function wholeNumber(min: number, max: number, fallback: number, text: string): Setting<number> {
  return new Setting(WHOLE_NUMBER, { min, max }, fallback, text);
}

const AMOUNT: Kind<number, Range> = {
  schema: (z, { min, max }) => z.number().check(z.gte(min), z.lte(max)),
  plain: isWithin,
  expects: ({ max }) => `an amount in USD from 0 to ${max}`,
  show: String,
};

/** An amount of money in USD; 0 means without a limit. */
export function amount(max: number, text: string): Setting<number> {
  return new Setting(AMOUNT, { min: 0, max }, 0, text);
}

const DECIMAL: Kind<number, Range> = { ...AMOUNT, expects: ({ min, max }) => `a number from ${min} to ${max}` };

export function decimal(min: number, max: number, text: string): Setting<number | undefined> {
  return new Setting<number | undefined>(DECIMAL, { min, max }, undefined, text);
}

const DURATION: Kind<number, undefined> = {
  schema: (z) => z.union([z.string(), z.number()]),
  plain: (raw) => isText(raw) || Number.isFinite(raw),
  convert(raw: string | number) {
    const ms = parseDuration(String(raw)) ?? 0;
    return ms >= 1 && ms <= LONGEST_DURATION_MS ? ms : undefined;
  },
  expects: () => `${DURATION_FORMAT} (a bare number is seconds; at most 24d)`,
  show: (ms) => quoted(formatDuration(ms)),
};

/** In milliseconds; `500ms 10s 5m 2h 1d` or a number of seconds in the file. */
export function duration(fallback: number, text: string): Setting<number> {
  return new Setting(DURATION, undefined, fallback, text);
}

const TEXTS: Kind<readonly string[], undefined> = {
  schema: listOfTexts,
  plain: isList,
  expects: () => "a list of strings",
  show: (list) => `[${list.map(quoted).join(", ")}]`,
};

export function texts(fallback: readonly string[], text: string): Setting<readonly string[]> {
  return new Setting(TEXTS, undefined, fallback, text);
}

const TEXT_OR_TEXTS: Kind<readonly string[], undefined> = {
  schema: (z) => z.union([fullText(z), listOfTexts(z)]),
  plain: (raw) => isFullText(raw) || isList(raw),
  convert: (raw: string | readonly string[]) => (typeof raw === "string" ? [raw] : raw),
  expects: () => "a string or a list of strings",
  show: TEXTS.show,
};

/** One text or a list of them. */
export function textOrTexts(text: string): Setting<readonly string[] | undefined> {
  return new Setting<readonly string[] | undefined>(TEXT_OR_TEXTS, undefined, undefined, text);
}

const COMMAND_LINES: Kind<readonly (readonly string[])[], undefined> = {
  schema(z) {
    const command = z.array(fullText(z)).check(z.minLength(1));
    return z.union([command, z.array(command).check(z.minLength(1))]);
  },
  plain: (raw) => isCommand(raw) || isListOf(raw, isCommand),
  convert: (raw: readonly string[] | readonly (readonly string[])[]) =>
    (Array.isArray(raw[0]) ? raw : [raw]) as readonly (readonly string[])[],
  expects: () => 'a program and its arguments, such as ["kubectl", "exec", "-i", "api", "--"]',
  show: (lists) => lists.map(TEXTS.show).join(", "),
};

/** A program and its arguments, or a list of these, one for each step. */
export function commandLines(text: string): Setting<readonly (readonly string[])[] | undefined> {
  return new Setting<readonly (readonly string[])[] | undefined>(COMMAND_LINES, undefined, undefined, text);
}

const TEXT_TABLE: Kind<Readonly<Record<string, string>>, undefined> = {
  schema: (z) => z.record(z.string(), z.string()),
  plain: isTextTable,
  convert: table,
  expects: () => "a table of strings",
  show: JSON.stringify,
};

/** A table of texts, such as HTTP headers. */
export function textTable(text: string): Setting<Readonly<Record<string, string>> | undefined> {
  return new Setting<Readonly<Record<string, string>> | undefined>(TEXT_TABLE, undefined, undefined, text);
}

/** Patterns; a plain list in the file is `allow`. */
export interface AllowDeny {
  /** Empty: everything. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

const ALLOW_DENY: Kind<AllowDeny, undefined> = {
  schema(z) {
    const named = { allow: z.optional(listOfTexts(z)), deny: z.optional(listOfTexts(z)) };
    return z.union([listOfTexts(z), z.strictObject(named)]);
  },
  plain: isList,
  convert: (raw: readonly string[] | Partial<AllowDeny>) =>
    "length" in raw ? { allow: raw, deny: [] } : { allow: raw.allow ?? [], deny: raw.deny ?? [] },
  expects: () => 'a list of patterns, or { allow = ["get_*"], deny = ["get_secret"] }',
  show: ({ allow, deny }) => (deny.length === 0 ? TEXTS.show(allow) : JSON.stringify({ allow, deny })),
};

export function allowDeny(text: string): Setting<AllowDeny> {
  return new Setting<AllowDeny>(ALLOW_DENY, undefined, { allow: [], deny: [] }, text);
}

const JSON_TABLE: Kind<Readonly<Record<string, unknown>>, undefined> = {
  schema: (z) => z.record(z.string(), z.unknown()),
  plain: isPlainTable,
  convert: table,
  expects: () => "a table",
  show: JSON.stringify,
};

/** A table of any JSON values. */
export function jsonTable(text: string): Setting<Readonly<Record<string, unknown>> | undefined> {
  return new Setting<Readonly<Record<string, unknown>> | undefined>(JSON_TABLE, undefined, undefined, text);
}

const COMMAND_LINE: Kind<readonly string[], undefined> = {
  schema: (z) => z.union([z.string(), listOfTexts(z)]),
  plain: (raw) => isText(raw) || isList(raw),
  convert(raw: string | readonly string[]) {
    const words = typeof raw === "string" ? raw.split(/\s+/).filter((word) => word !== "") : raw;
    return words.length === 0 ? undefined : words;
  },
  expects: () => 'a program and its arguments, such as ["pass", "show", "openai"]',
  show: TEXTS.show,
};

/** A program and its arguments: a list, or one text that is split at spaces. */
export function commandLine(text: string): Setting<readonly string[] | undefined> {
  return new Setting<readonly string[] | undefined>(COMMAND_LINE, undefined, undefined, text);
}

const PATTERNS: Kind<readonly string[], undefined> = {
  ...TEXTS,
  convert: (raw: readonly string[]) => (raw.every(isPattern) ? raw : undefined),
  expects: () => "a list of strings; those in /slashes/ are regular expressions",
};

/** Texts; those in slashes are regular expressions. */
export function patterns(fallback: readonly string[], text: string): Setting<readonly string[]> {
  return new Setting(PATTERNS, undefined, fallback, text);
}

function isPattern(entry: string): boolean {
  const [, body, flags] = /^\/([^]+)\/([imsu]*)$/.exec(entry.trim()) ?? [];
  try {
    return body === undefined || new RegExp(body, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

function fullText(z: Zod): Schema {
  return z.string().check(z.minLength(1));
}

function listOfTexts(z: Zod): Schema {
  return z.array(fullText(z));
}

/** Undefined for a date, which the parser also makes an object. */
function table<T extends object>(raw: T): T | undefined {
  return raw.constructor === Object ? raw : undefined;
}

function quoted(value: string): string {
  return JSON.stringify(value);
}

// The quick checks; zod decides about everything else.

function isYesNo(raw: unknown): boolean {
  return typeof raw === "boolean";
}

function isText(raw: unknown): raw is string {
  return typeof raw === "string";
}

function isFullText(raw: unknown): boolean {
  return isText(raw) && raw !== "";
}

function isWithin(raw: unknown, { min, max }: Range): boolean {
  return typeof raw === "number" && raw >= min && raw <= max;
}

function isList(raw: unknown): boolean {
  return Array.isArray(raw) && raw.every(isFullText);
}

function isListOf(raw: unknown, item: (one: unknown) => boolean): boolean {
  return Array.isArray(raw) && raw.length > 0 && raw.every(item);
}

function isCommand(raw: unknown): boolean {
  return isListOf(raw, isFullText);
}

function isPlainTable(raw: unknown): boolean {
  return typeof raw === "object" && raw !== null && raw.constructor === Object;
}

function isTextTable(raw: unknown): boolean {
  return isPlainTable(raw) && Object.values(raw as object).every(isText);
}
