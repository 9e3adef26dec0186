/** For `toThrow` and `toEqual`: an error by its code and what it names, in any order; the other words may change. */
import { expect } from "bun:test";
import type { BuddyError, ErrorCode } from "../../src/lib/errors.ts";

export function buddyError<E extends BuddyError = BuddyError>(code: ErrorCode, ...names: readonly string[]): E {
  const all = new RegExp(names.map((name) => `(?=[^]*${RegExp.escape(name)})`).join(""));
  return expect.objectContaining({ code, message: expect.stringMatching(all) }) as unknown as E;
}
