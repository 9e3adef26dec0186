/** Errors of tools in words: all of it for the model, what happened for people. */
import { expect, test } from "bun:test";
import { inWordsForPeople } from "../../../src/agent/calls/call-results.ts";
import { BuddyError, inWords } from "../../../src/lib/errors.ts";

test.each([
  ["no background shell has this id", "list_shells lists them.", false],
  ["there are 2 managed sessions already", "End one with tmux-kill-session, or raise [tmux].max_sessions.", false],
  ["the file is too large", "Use read_file with offset.", false],
  ["web1 does not answer", "Check it with: ssh web1", true],
  ["the disk is full", undefined, true],
])("%s (%s)", (message, hint, whole) => {
  const error = new BuddyError("tool", message, hint === undefined ? {} : { hint });
  expect(inWordsForPeople(error)).toBe(whole ? inWords(error) : message);
});
