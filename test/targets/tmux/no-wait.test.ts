/** Commands that follow one that was not waited for. */
import { expect } from "bun:test";
import { openTestTarget } from "../../support/tmux.ts";
import { needs } from "../../support/needs.ts";

const { test } = await needs("tmux");

test("a command that ends meanwhile is not reported to the next one as a program of the operator's", async () => {
  await using opened = await openTestTarget("local");
  const { shell } = opened.target;
  const outcomes: unknown[] = [];
  for (let round = 0; round < 12; round++) {
    await shell.run("true", { noWait: true });
    const { outcome, notes } = await shell.run("echo next", { waitMs: 10_000 });
    // Still running is a right answer; the operator has run nothing.
    expect(notes.filter((note) => note.includes("operator"))).toEqual([]);
    outcomes.push(outcome.kind);
    await shell.wait({ waitMs: 10_000 });
  }
  expect(outcomes).toContain("exited");
});
