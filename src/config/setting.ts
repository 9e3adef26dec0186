/** A setting as data: its type, its default and what it is for; `value-schemas.ts` has the zod schema of each type. */
import { formatDuration } from "../lib/durations.ts";

export type SettingType =
  | { readonly type: "yes-no" }
  /** true, false, or one word for something in between. */
  | { readonly type: "yes-no-or-word"; readonly word: string }
  /** true, false, or a text that matches a pattern. */
  | { readonly type: "yes-no-or-text"; readonly pattern: RegExp; readonly expects: string }
  | { readonly type: "text"; readonly pattern?: RegExp; readonly expects: string }
  /** `yesNo`: the words that true and false stand for. */
  | {
      readonly type: "one-of";
      readonly words: readonly string[];
      readonly yesNo?: readonly [yes: string, no: string] | undefined;
    }
  | { readonly type: "whole-number" | "number" | "amount"; readonly min: number; readonly max: number }
  /** Milliseconds, at least `min`; `500ms 10s 5m 2h 1d` or a number of seconds in the file. */
  | { readonly type: "duration"; readonly min: number }
  | { readonly type: "texts" }
  /** One text or a list of them. */
  | { readonly type: "text-or-texts" }
  /** Texts; those in slashes are regular expressions. */
  | { readonly type: "patterns" }
  /** A program and its arguments: a list, or one text that is split at spaces. */
  | { readonly type: "command-line" }
  /** A program and its arguments, or a list of these, one for each step. */
  | { readonly type: "command-lines" }
  /** A table of texts, such as HTTP headers. */
  | { readonly type: "text-table" }
  /** A table of any JSON values. */
  | { readonly type: "json-table" }
  /** Patterns; a plain list in the file is `allow`. */
  | { readonly type: "allow-deny" };

export interface Setting<T> {
  readonly of: SettingType;
  readonly fallback: T;
  /** What it is for, in a line. */
  readonly text: string;
}

export type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** Empty `allow`: everything. */
export interface AllowDeny {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** Undefined if it is not in the file. */
export function optional<T>(setting: Setting<T>): Setting<T | undefined> {
  return { ...setting, fallback: undefined };
}

export function yesNo(fallback: boolean, text: string): Setting<boolean> {
  return { of: { type: "yes-no" }, fallback, text };
}

export function yesNoOr<const T extends string>(
  word: T,
  fallback: boolean | NoInfer<T>,
  text: string,
): Setting<boolean | T> {
  return { of: { type: "yes-no-or-word", word }, fallback, text };
}

export function yesNoOrText(pattern: RegExp, expects: string, text: string): Setting<boolean | string | undefined> {
  return { of: { type: "yes-no-or-text", pattern, expects }, fallback: undefined, text };
}

export function anyText(fallback: string, text: string): Setting<string> {
  return { of: ANY_TEXT, fallback, text };
}

/** One for all, and so one schema. */
const ANY_TEXT: SettingType = { type: "text", expects: "a quoted string" };

export function textLike(pattern: RegExp, fallback: string, expects: string, text: string): Setting<string> {
  return { of: { type: "text", pattern, expects }, fallback, text };
}

export function oneOf<const T extends string>(
  words: readonly T[],
  fallback: NoInfer<T>,
  text: string,
  yesNo?: readonly [yes: NoInfer<T>, no: NoInfer<T>],
): Setting<T> {
  return { of: { type: "one-of", words, yesNo }, fallback, text };
}

export function wholeNumber(min: number, max: number, fallback: number, text: string): Setting<number> {
  return { of: { type: "whole-number", min, max }, fallback, text };
}

/** An amount of money in USD; 0 means without a limit. */
export function amount(max: number, text: string): Setting<number> {
  return { of: { type: "amount", min: 0, max }, fallback: 0, text };
}

export function decimal(min: number, max: number, text: string): Setting<number | undefined> {
  return { of: { type: "number", min, max }, fallback: undefined, text };
}

export function duration(fallback: number, text: string, min = 1): Setting<number> {
  return { of: { type: "duration", min }, fallback, text };
}

export function texts(fallback: readonly string[], text: string): Setting<readonly string[]> {
  return { of: { type: "texts" }, fallback, text };
}

export function textOrTexts(text: string): Setting<readonly string[] | undefined> {
  return { of: { type: "text-or-texts" }, fallback: undefined, text };
}

export function patterns(fallback: readonly string[], text: string): Setting<readonly string[]> {
  return { of: { type: "patterns" }, fallback, text };
}

export function commandLine(text: string): Setting<readonly string[] | undefined> {
  return { of: { type: "command-line" }, fallback: undefined, text };
}

export function commandLines(text: string): Setting<readonly (readonly string[])[] | undefined> {
  return { of: { type: "command-lines" }, fallback: undefined, text };
}

export function textTable(text: string): Setting<Readonly<Record<string, string>> | undefined> {
  return { of: { type: "text-table" }, fallback: undefined, text };
}

export function jsonTable(text: string): Setting<Readonly<Record<string, unknown>> | undefined> {
  return { of: { type: "json-table" }, fallback: undefined, text };
}

export function allowDeny(text: string): Setting<AllowDeny> {
  return { of: { type: "allow-deny" }, fallback: { allow: [], deny: [] }, text };
}

/** A value as it would be written in the file. */
export function shownValue({ of }: Setting<unknown>, value: unknown): string {
  if (value === undefined || value === null) return "(not set)";
  switch (of.type) {
    case "duration":
      return JSON.stringify(formatDuration(value as number));
    case "texts":
    case "text-or-texts":
    case "patterns":
    case "command-line":
      return listText(value);
    case "command-lines":
      return (value as readonly unknown[]).map(listText).join(", ");
    case "allow-deny": {
      const { allow, deny } = value as AllowDeny;
      return deny.length === 0 ? listText(allow) : JSON.stringify({ allow, deny });
    }
    default:
      return JSON.stringify(value);
  }
}

function listText(value: unknown): string {
  return `[${(value as readonly string[]).map((one) => JSON.stringify(one)).join(", ")}]`;
}
