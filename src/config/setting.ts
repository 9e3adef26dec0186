/** The kinds of settings: each knows what may be in the file (a zod schema), its words, and its default. */
import { DURATION_FORMAT, formatDuration, LONGEST_DURATION_MS, parseDuration } from "../lib/durations.ts";
import { BuddyError } from "../lib/errors.ts";
import type { Schema, Zod } from "./zod.ts";

export interface Setting<T> {
  /** What may be in the file. Made when it is first needed: most settings of a file are not written in it. */
  schema(zod: Zod): Schema;
  /** True for what the schema takes for certain, without asking it. */
  plain(raw: unknown): boolean;
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

let zod: Zod | undefined;

/** Before a schema is asked; zod takes 3 ms, so it is loaded for a value that is not plainly right. */
export async function prepareSettings(): Promise<void> {
  zod ??= (await import("./zod.ts")).zod;
}

/** What `read` complains about is settled by the schemas. */
export async function judged<T>(read: () => T): Promise<T> {
  try {
    return read();
  } catch (error) {
    if (zod !== undefined || !(error instanceof BuddyError)) throw error;
    await prepareSettings();
    return read();
  }
}

/** Checks what was written, then turns it into what the program uses. */
function reading<T>(
  schema: (zod: Zod) => Schema,
  plain: (raw: unknown) => boolean,
  convert: (raw: never) => T | undefined,
): Pick<Setting<T>, "schema" | "plain" | "read"> {
  let made: Schema | undefined;
  return {
    schema,
    plain,
    read(raw) {
      if (plain(raw)) return convert(raw as never);
      if (zod === undefined) return undefined;
      made ??= schema(zod);
      return made.safeParse(raw).success ? convert(raw as never) : undefined;
    },
  };
}

function asWritten<T>(raw: T): T {
  return raw;
}

export type ValueOf<S> = S extends Setting<infer T> ? T : never;

export function yesNo(fallback: boolean, text: string): Setting<boolean> {
  const checked = reading<boolean>((z) => z.boolean(), isYesNo, asWritten);
  return { ...checked, fallback, expects: "true or false", text, show: String };
}

/** true, false, or a word for something between. */
export function yesNoOr<const T extends string>(
  word: T,
  fallback: boolean | NoInfer<T>,
  text: string,
): Setting<boolean | T> {
  const plain = (raw: unknown) => isYesNo(raw) || raw === word;
  const checked = reading<boolean | T>((z) => z.union([z.boolean(), z.literal(word)]), plain, asWritten);
  const show = (value: boolean | T) => JSON.stringify(value);
  return { ...checked, fallback, expects: `${quoted(word)}, true or false`, text, show };
}

/** true, false, or a text of a certain form. */
export function yesNoOrText(pattern: RegExp, expects: string, text: string): Setting<boolean | string | undefined> {
  const checked = reading<boolean | string>(
    (z) => z.union([z.boolean(), z.string().check(z.regex(pattern))]),
    (raw) => isYesNo(raw) || (isText(raw) && pattern.test(raw)),
    asWritten,
  );
  return optional<boolean | string>({ ...checked, fallback: false, expects, text, show: JSON.stringify });
}

export function anyText(fallback: string, text: string): Setting<string> {
  const checked = reading<string>((z) => z.string(), isText, asWritten);
  return { ...checked, fallback, expects: "a quoted string", text, show: quoted };
}

export function textLike(pattern: RegExp, fallback: string, expects: string, text: string): Setting<string> {
  const plain = (raw: unknown) => isText(raw) && pattern.test(raw);
  const checked = reading<string>((z) => z.string().check(z.regex(pattern)), plain, asWritten);
  return { ...checked, fallback, expects, text, show: quoted };
}

export function oneOf<const T extends string>(words: readonly T[], fallback: NoInfer<T>, text: string): Setting<T> {
  const plain = (raw: unknown) => words.includes(raw as T);
  return {
    ...reading<T>((z) => z.enum(words as unknown as [T, ...T[]]), plain, asWritten),
    fallback,
    get expects() {
      return `one of ${words.map(quoted).join(", ")}`;
    },
    text,
    show: quoted,
  };
}

export function wholeNumber(min: number, max: number, fallback: number, text: string): Setting<number> {
  const plain = (raw: unknown) => Number.isSafeInteger(raw) && isWithin(raw, min, max);
  const checked = reading<number>((z) => z.int().check(z.gte(min), z.lte(max)), plain, asWritten);
  return { ...checked, fallback, expects: `a whole number from ${min} to ${max}`, text, show: String };
}

/** An amount of money in USD; 0 means without a limit. */
export function amount(max: number, text: string): Setting<number> {
  const plain = (raw: unknown) => isWithin(raw, 0, max);
  const checked = reading<number>((z) => z.number().check(z.gte(0), z.lte(max)), plain, asWritten);
  return { ...checked, fallback: 0, expects: `an amount in USD from 0 to ${max}`, text, show: String };
}

export function decimal(min: number, max: number, text: string): Setting<number | undefined> {
  const plain = (raw: unknown) => isWithin(raw, min, max);
  const checked = reading<number>((z) => z.number().check(z.gte(min), z.lte(max)), plain, asWritten);
  return optional({ ...checked, fallback: 0, expects: `a number from ${min} to ${max}`, text, show: String });
}

/** Milliseconds to the program; `500ms 10s 5m 2h 1d` or a number of seconds in the file. */
export function duration(fallback: number, text: string): Setting<number> {
  const convert = (raw: string | number) => {
    const ms = parseDuration(String(raw)) ?? 0;
    return ms >= 1 && ms <= LONGEST_DURATION_MS ? ms : undefined;
  };
  return {
    ...reading(
      (z) => z.union([z.string(), z.number()]),
      (raw) => isText(raw) || Number.isFinite(raw),
      convert,
    ),
    fallback,
    expects: `${DURATION_FORMAT} (a bare number is seconds; at most 24d)`,
    text,
    show: (ms) => quoted(formatDuration(ms)),
  };
}

export function texts(fallback: readonly string[], text: string): Setting<readonly string[]> {
  const checked = reading<readonly string[]>(listOfTexts, isList, asWritten);
  return {
    ...checked,
    fallback,
    expects: "a list of strings",
    text,
    show: (list) => `[${list.map(quoted).join(", ")}]`,
  };
}

/** One text or a list of them. */
export function textOrTexts(text: string): Setting<readonly string[] | undefined> {
  const list = texts([], text);
  const convert = (raw: string | readonly string[]) => (typeof raw === "string" ? [raw] : raw);
  const plain = (raw: unknown) => isFullText(raw) || isList(raw);
  const checked = reading<readonly string[]>((z) => z.union([fullText(z), listOfTexts(z)]), plain, convert);
  return optional({ ...list, ...checked, expects: "a string or a list of strings" });
}

/** A program and its arguments, or a list of these, one for each step. */
export function commandLines(text: string): Setting<readonly (readonly string[])[] | undefined> {
  const { show } = texts([], text);
  const schema = (z: Zod) => {
    const command = z.array(fullText(z)).check(z.minLength(1));
    return z.union([command, z.array(command).check(z.minLength(1))]);
  };
  const convert = (raw: readonly string[] | readonly (readonly string[])[]) =>
    (Array.isArray(raw[0]) ? raw : [raw]) as readonly (readonly string[])[];
  return optional({
    ...reading<readonly (readonly string[])[]>(schema, (raw) => isCommand(raw) || isListOf(raw, isCommand), convert),
    fallback: [],
    expects: 'a program and its arguments, such as ["kubectl", "exec", "-i", "api", "--"]',
    text,
    show: (lists) => lists.map(show).join(", "),
  });
}

/** A table of texts, such as HTTP headers. */
export function textTable(text: string): Setting<Readonly<Record<string, string>> | undefined> {
  const checked = reading<Readonly<Record<string, string>>>(
    (z) => z.record(z.string(), z.string()),
    isTextTable,
    table,
  );
  return optional({ ...checked, fallback: {}, expects: "a table of strings", text, show: JSON.stringify });
}

/** What is let through and what is kept out, by patterns; a plain list is what is let through. */
export interface AllowDeny {
  /** Empty: everything. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

export function allowDeny(text: string): Setting<AllowDeny> {
  const list = texts([], text);
  const schema = (z: Zod) => {
    const named = { allow: z.optional(listOfTexts(z)), deny: z.optional(listOfTexts(z)) };
    return z.union([listOfTexts(z), z.strictObject(named)]);
  };
  const convert = (raw: readonly string[] | Partial<AllowDeny>): AllowDeny =>
    "length" in raw ? { allow: raw, deny: [] } : { allow: raw.allow ?? [], deny: raw.deny ?? [] };
  return {
    ...reading(schema, isList, convert),
    fallback: { allow: [], deny: [] },
    expects: 'a list of patterns, or { allow = ["get_*"], deny = ["get_secret"] }',
    text,
    show: ({ allow, deny }) => (deny.length === 0 ? list.show(allow) : JSON.stringify({ allow, deny })),
  };
}

/** A table of anything that JSON can say. */
export function jsonTable(text: string): Setting<Readonly<Record<string, unknown>> | undefined> {
  const checked = reading<Readonly<Record<string, unknown>>>(
    (z) => z.record(z.string(), z.unknown()),
    isPlainTable,
    table,
  );
  return optional({ ...checked, fallback: {}, expects: "a table", text, show: JSON.stringify });
}

/** A program and its arguments: a list, or one text that is split at spaces. */
export function commandLine(text: string): Setting<readonly string[] | undefined> {
  const list = texts([], text);
  const convert = (raw: string | readonly string[]) => {
    const words = typeof raw === "string" ? raw.split(/\s+/).filter((word) => word !== "") : raw;
    return words.length === 0 ? undefined : words;
  };
  const plain = (raw: unknown) => isText(raw) || isList(raw);
  const checked = reading<readonly string[]>((z) => z.union([z.string(), listOfTexts(z)]), plain, convert);
  return optional({ ...list, ...checked, expects: 'a program and its arguments, such as ["pass", "show", "openai"]' });
}

/** Texts; those in slashes are regular expressions. */
export function patterns(fallback: readonly string[], text: string): Setting<readonly string[]> {
  const list = texts(fallback, text);
  const convert = (raw: readonly string[]) => (raw.every(isPattern) ? raw : undefined);
  return {
    ...list,
    ...reading(listOfTexts, isList, convert),
    expects: "a list of strings; those in /slashes/ are regular expressions",
  };
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

function fullText(z: Zod): Schema {
  return z.string().check(z.minLength(1));
}

function listOfTexts(z: Zod): Schema {
  return z.array(fullText(z));
}

/** The parser makes objects of dates, too. */
function table<T extends object>(raw: T): T | undefined {
  return raw.constructor === Object ? raw : undefined;
}

function quoted(value: string): string {
  return JSON.stringify(value);
}

/** What values of a file plainly are, without a schema; zod decides about everything else. */
function isYesNo(raw: unknown): boolean {
  return typeof raw === "boolean";
}

function isText(raw: unknown): raw is string {
  return typeof raw === "string";
}

function isFullText(raw: unknown): boolean {
  return isText(raw) && raw !== "";
}

function isWithin(raw: unknown, min: number, max: number): boolean {
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
