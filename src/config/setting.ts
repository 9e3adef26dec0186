/** The kinds of settings: each knows how to read a TOML value, what it expects in words, and its default. */
import * as z from "zod/mini";
import { DURATION_FORMAT, formatDuration, LONGEST_DURATION_MS, parseDuration } from "../lib/durations.ts";

export interface Setting<T> {
  /** From the value of the TOML file to the value the program uses. */
  readonly schema: z.ZodMiniType<T>;
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
  return { schema: z.boolean(), fallback, expects: "true or false", text, show: String };
}

export function anyText(fallback: string, text: string): Setting<string> {
  return { schema: z.string(), fallback, expects: "a text in quotes", text, show: quoted };
}

export function textLike(pattern: RegExp, fallback: string, expects: string, text: string): Setting<string> {
  return { schema: z.string().check(z.regex(pattern)), fallback, expects, text, show: quoted };
}

export function oneOf<const T extends string>(words: readonly T[], fallback: NoInfer<T>, text: string): Setting<T> {
  const expects = `one of ${words.map(quoted).join(", ")}`;
  return { schema: z.enum(words), fallback, expects, text, show: quoted };
}

export function wholeNumber(min: number, max: number, fallback: number, text: string): Setting<number> {
  const schema = z.number().check(z.int(), z.gte(min), z.lte(max));
  return { schema, fallback, expects: `a whole number from ${min} to ${max}`, text, show: String };
}

export function decimal(min: number, max: number, text: string): Setting<number | undefined> {
  const schema = z.number().check(z.gte(min), z.lte(max));
  return optional({ schema, fallback: 0, expects: `a number from ${min} to ${max}`, text, show: String });
}

/** Milliseconds to the program; `500ms 10s 5m 2h 1d` or a number of seconds in the file. */
export function duration(fallback: string, text: string): Setting<number> {
  const schema = z.pipe(
    z.union([z.string(), z.number()]),
    z.transform((value: string | number, context): number => {
      const ms = parseDuration(String(value));
      if (ms !== undefined && ms > 0 && ms <= LONGEST_DURATION_MS) return ms;
      context.issues.push({ code: "custom", message: "no duration", input: value });
      return z.NEVER;
    }),
  );
  return {
    schema,
    fallback: parseDuration(fallback) ?? 0,
    expects: `${DURATION_FORMAT} (a bare number is seconds; at most 24d)`,
    text,
    show: (ms) => quoted(formatDuration(ms)),
  };
}

export function texts(fallback: readonly string[], text: string): Setting<readonly string[]> {
  const schema = z.readonly(z.array(z.string().check(z.minLength(1))));
  return { schema, fallback, expects: "a list of texts", text, show: (list) => `[${list.map(quoted).join(", ")}]` };
}

/** A setting that may be left out; then it is undefined. */
export function optional<T>(setting: Setting<T>): Setting<T | undefined> {
  const show = (value: T | undefined) => (value === undefined ? "(not set)" : setting.show(value));
  return { ...setting, fallback: undefined, show };
}

/** Reads other forms than the documented one, too: older files stay valid. */
export function alsoReads<T>(setting: Setting<T>, other: (value: unknown) => T | undefined): Setting<T> {
  const schema = z.pipe(
    z.transform((value: unknown) => other(value) ?? value),
    setting.schema as z.ZodMiniType<T, unknown>,
  );
  return { ...setting, schema };
}

function quoted(value: string): string {
  return JSON.stringify(value);
}
