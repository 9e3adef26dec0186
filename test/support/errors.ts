/** For `toThrow`, `toEqual` and `toMatch`: an error or a text by its code and what it names; the other words may change. */
import { expect } from "bun:test";
import type { BuddyError, ErrorCode } from "../../src/lib/errors.ts";

export function buddyError<E extends BuddyError = BuddyError>(code: ErrorCode, ...names: readonly string[]): E {
  const all = new RegExp(names.map((name) => `(?=[^]*${RegExp.escape(name)})`).join(""));
  return expect.objectContaining({ code, message: expect.stringMatching(all) }) as unknown as E;
}

/** A text that has all these names, numbers and values as whole words, in any order. */
export function naming(...names: readonly (string | number)[]): RegExp {
  const whole = (name: string) =>
    `${/^\w/.test(name) ? "(?<!\\w)" : ""}${RegExp.escape(name)}${/\w$/.test(name) ? "(?!\\w)" : ""}`;
  return new RegExp(`^${names.map((name) => `(?=[^]*${whole(String(name))})`).join("")}`);
}
