/** Errors in words: what happened and a hint for people, and advice in terms of its tools for the model alone. */
import { expect, test } from "bun:test";
import { BuddyError, inWords } from "../../src/lib/errors.ts";

test.each([
  [{}, "it failed", "it failed"],
  [{ hint: "Try ssh." }, "it failed. Try ssh.", "it failed. Try ssh."],
  [{ advice: "Use read_file." }, "it failed", "it failed. Use read_file."],
  [{ hint: "Raise it.", advice: "Use read_file." }, "it failed. Raise it.", "it failed. Raise it. Use read_file."],
])("%j", (options, people, model) => {
  const error = new BuddyError("tool", "it failed", options);
  expect([inWords(error), inWords(error, "model")]).toEqual([people, model]);
});
