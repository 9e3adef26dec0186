/** What may be in the file for each type of setting: a zod schema, which also makes the value the program uses. */
import * as z from "zod/mini";
import { DURATION_FORMAT, LONGEST_DURATION_MS, parseDuration } from "../lib/durations.ts";
import type { AllowDeny, Setting, SettingType } from "./setting.ts";

/** Undefined if the value in the file is wrong. */
export function readValue<T>(setting: Setting<T>, raw: unknown): T | undefined {
  let schema = made.get(setting.of);
  if (schema === undefined) made.set(setting.of, (schema = schemaOf(setting.of)));
  const { success, data } = schema.safeParse(raw);
  return success ? (data as T) : undefined;
}

const made = new WeakMap<SettingType, z.ZodMiniType>();

export function schemaOf(of: SettingType): z.ZodMiniType {
  switch (of.type) {
    case "yes-no":
      return z.boolean();
    case "yes-no-or-word":
      return z.union([z.boolean(), z.literal(of.word)]);
    case "yes-no-or-text":
      return z.union([z.boolean(), z.string().check(z.regex(of.pattern))]);
    case "text":
      return of.pattern === undefined ? z.string() : z.string().check(z.regex(of.pattern));
    case "one-of": {
      const words = z.enum(of.words as readonly [string, ...string[]]);
      if (of.yesNo === undefined) return words;
      const [yes, no] = of.yesNo;
      return z.pipe(
        z.union([words, z.boolean()]),
        z.transform((raw) => (raw === true ? yes : raw === false ? no : raw)),
      );
    }
    case "whole-number":
      return z.int().check(z.gte(of.min), z.lte(of.max));
    case "number":
    case "amount":
      return z.number().check(z.gte(of.min), z.lte(of.max));
    case "duration": {
      const ms = (raw: string | number) => parseDuration(String(raw)) ?? Number.NaN;
      const fits = (raw: string | number) => ms(raw) >= of.min && ms(raw) <= LONGEST_DURATION_MS;
      return z.pipe(z.union([z.string(), z.number()]).check(z.refine(fits)), z.transform(ms));
    }
    case "texts":
      return texts();
    case "text-or-texts":
      return z.pipe(z.union([text(), texts()]), z.transform(asList));
    case "patterns":
      return texts().check(z.refine((list) => list.every(isPattern)));
    case "command-line":
      return z.pipe(
        z.pipe(z.union([z.string(), texts()]), z.transform(splitWords)),
        z.array(z.string()).check(z.minLength(1)),
      );
    case "command-lines": {
      const command = texts().check(z.minLength(1));
      return z.pipe(
        z.union([command, z.array(command).check(z.minLength(1))]),
        z.transform((raw) => (Array.isArray(raw[0]) ? raw : [raw])),
      );
    }
    case "text-table":
      return z.record(z.string(), z.string());
    case "json-table":
      return z.record(z.string(), z.unknown());
    case "allow-deny":
      return z.pipe(
        z.union([texts(), z.strictObject({ allow: z.optional(texts()), deny: z.optional(texts()) })]),
        z.transform((raw): AllowDeny =>
          Array.isArray(raw) ? { allow: raw, deny: [] } : { allow: raw.allow ?? [], deny: raw.deny ?? [] },
        ),
      );
  }
}

/** Ends the sentence "… must be". */
export function expectation(of: SettingType): string {
  switch (of.type) {
    case "yes-no":
      return "true or false";
    case "yes-no-or-word":
      return `${JSON.stringify(of.word)}, true or false`;
    case "yes-no-or-text":
    case "text":
      return of.expects;
    case "one-of":
      return `one of ${of.words.map((word) => JSON.stringify(word)).join(", ")}`;
    case "whole-number":
      return `a whole number from ${of.min} to ${of.max}`;
    case "number":
      return `a number from ${of.min} to ${of.max}`;
    case "amount":
      return `an amount in USD from ${of.min} to ${of.max}`;
    case "duration":
      return `${DURATION_FORMAT} (a bare number is seconds; at most 24d)`;
    case "texts":
      return "a list of strings";
    case "text-or-texts":
      return "a string or a list of strings";
    case "patterns":
      return "a list of strings; those in /slashes/ are regular expressions";
    case "command-line":
      return 'a program and its arguments, such as ["pass", "show", "openai"]';
    case "command-lines":
      return 'a program and its arguments, such as ["kubectl", "exec", "-i", "api", "--"]';
    case "text-table":
      return "a table of strings";
    case "json-table":
      return "a table";
    case "allow-deny":
      return 'a list of patterns, or { allow = ["get_*"], deny = ["get_secret"] }';
  }
}

function text() {
  return z.string().check(z.minLength(1));
}

function texts() {
  return z.array(text());
}

function asList(raw: string | string[]): readonly string[] {
  return typeof raw === "string" ? [raw] : raw;
}

function splitWords(raw: string | string[]): string[] {
  return typeof raw === "string" ? raw.split(/\s+/).filter((word) => word !== "") : raw;
}

function isPattern(entry: string): boolean {
  const [, body, flags] = /^\/([^]+)\/([imsu]*)$/.exec(entry.trim()) ?? [];
  try {
    return body === undefined || new RegExp(body, flags) instanceof RegExp;
  } catch {
    return false;
  }
}
