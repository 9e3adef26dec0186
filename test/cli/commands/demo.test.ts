/**
 * `buddy demo` inside this process: the tour runs on the real machine, answers its own question, and leaves nothing.
 */
import { afterEach, expect, test } from "bun:test";
import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { demo } from "../../../src/cli/commands/demo/guided-run.ts";
import { Output } from "../../../src/lib/output.ts";
import { type Flags, Here } from "../../support/in-process.ts";
import { needs } from "../../support/needs.ts";

const pane = await needs("tmux");

async function tour(here: Here, flags: Flags): Promise<{ code: number; text: string }> {
  const fd = openSync(join(here.dir, "out"), "w");
  try {
    return { code: await demo({ yes: true }, here.globals(flags), new Output(fd)), text: here.read("out") };
  } finally {
    closeSync(fd);
  }
}

// The tour writes one file, named after the process.
afterEach(() => rmSync(`/tmp/buddy-demo-${process.pid}.txt`, { force: true }));

test("without tmux it says so and continues, whatever the configuration says", async () => {
  await using here = new Here([], { config: "[tools]\nshell_enabled = false\n" });
  const { code, text } = await tour(here, { "no-tmux": true });
  expect(code).toBe(0);
  expect(text).toMatch(/^buddy demo on \S+@\S+: no key, no network/);
  expect(text).toMatch(/leave out\s--no-tmux/);
  expect(text).toMatch(/-- approve\? y \(--yes\)/);
  expect(text).not.toContain("\u001b");
  // The tour is no conversation to go on with.
  expect(existsSync(join(here.cwd, ".buddyx"))).toBe(false);
  expect(here.model.requests).toEqual([]);
});

pane.test("with tmux the pane can be watched, and is taken away again", async () => {
  await using here = new Here();
  const { code, text } = await tour(here, { tmux: true });
  expect(code).toBe(0);
  expect(text).toMatch(/^ {4}tmux -L buddy attach -t buddy-demo$/m);
  const left = Bun.spawnSync(["tmux", "-L", "buddy", "list-sessions"], { env: process.env });
  expect(left.stdout.toString()).toBe("");
});
