/** For `toThrow`: an error by its code and by what it names, in any order; the words around that may change. */
import { expect } from "bun:test";
import type { ErrorCode } from "../../src/lib/errors.ts";

export function buddyError(code: ErrorCode, ...names: readonly string[]): Error {
  const all = new RegExp(names.map((name) => `(?=[^]*${RegExp.escape(name)})`).join(""));
  return expect.objectContaining({ code, message: expect.stringMatching(all) }) as unknown as Error;
}
