import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { sandbox } from "../support/buddy.ts";

test("commands run where buddy was started, whatever an earlier run left behind in the pane", async () => {
  using box = sandbox();
  for (const name of ["cwd/one", "cwd/it's two"]) mkdirSync(join(box.dir, name), { recursive: true });
  const where = async (directory: string, ...args: string[]) => {
    const cwd = join(box.cwd, directory);
    const { stdout } = await box.run(["exec", "-q", "-m", "demo", ...args, "run: pwd; cd /"], { cwd });
    return stdout.includes(`\n${cwd}\n`);
  };
  expect(await where("one")).toBe(true);
  expect(await where("it's two")).toBe(true);
  expect(await where("one")).toBe(true);
  // One session by name for both: the second run moves the pane.
  expect(await where("one", "--tmux=named")).toBe(true);
  expect(await where("it's two", "--tmux=named")).toBe(true);
});
