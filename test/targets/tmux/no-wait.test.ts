/** Commands that follow one that was not waited for, and what a command that ends does not wait for. */
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Transport } from "../../../src/targets/target.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { openTestTarget } from "../../support/tmux.ts";
import { needs } from "../../support/needs.ts";

const { test } = await needs("tmux");
const temporary = temporaryDirectory();

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

test("on a slow line the end of a command waited for a look at its program that was under way", async () => {
  await using opened = await openTestTarget("local");
  const { shell, transport } = opened.target;
  const pipe = join(temporary, "pipe");
  await transport.run('mkfifo "$1"', { args: [pipe] });
  const run = transport.run.bind(transport);
  const looks = Promise.withResolvers<void>();
  const withoutAnswer: Transport["run"] = (script, options) => {
    if (!script.includes("stty -a")) return run(script, options);
    looks.resolve();
    return new Promise(() => {});
  };
  Object.assign(transport, { run: withoutAnswer });
  const running = shell.run(`cat ${pipe}`);
  await looks.promise;
  writeFileSync(pipe, "text\n");
  const { outcome, output } = await running;
  Object.assign(transport, { run });
  expect([outcome, output.head]).toEqual([{ kind: "exited", code: 0 }, "text\n"]);
});
