/** Hints for the command line, as the REPL shows them. */
import { expect, test } from "bun:test";
import { replHint } from "../../../src/ui/commands/status.ts";

test.each([
  ["Sign in with: buddy login", "Sign in with: /login work"],
  ["Sign in with: buddy login other", "Sign in with: /login other"],
  ["choose another profile with --model.", "choose another profile with /model."],
  ["`buddy targets` lists the names.", "/targets lists the names."],
  ["See them with: buddy targets 'web*'", "See them with: /targets web*"],
  ["Runbooks: a, b. See: buddy skills", "Runbooks: a, b. See: /skills"],
  ["Choose one of them with --on NAME.", "Choose one of them with /on NAME."],
  ["`buddy models main` lists what there is", "`/model main:` lists what there is"],
  ["buddy sessions lists them", "/session lists them"],
  // What only the command line can do stays as it is.
  ["buddy sessions --all lists those of other directories", "buddy sessions --all lists those of other directories"],
  ["add one with: buddy mcp add NAME", "add one with: buddy mcp add NAME"],
  ["buddy sessions rm ID removes it", "buddy sessions rm ID removes it"],
  ["buddy skills check DIR", "buddy skills check DIR"],
  ["buddy targets --check", "buddy targets --check"],
])("%s", (hint, shown) => {
  expect(replHint(hint, "work")).toBe(shown);
});
