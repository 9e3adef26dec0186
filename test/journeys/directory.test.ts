import { expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, sandbox } from "../support/buddy.ts";
import { needs } from "../support/needs.ts";

const pane = await needs("tmux");

pane.test("commands run where buddy was started, whatever an earlier run left behind in the pane", async () => {
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

test("a directory whose name is not UTF-8 is named as the reason, and nothing is created beside it", async () => {
  using box = sandbox();
  const binary = await buddyBinary();
  const run = Bun.spawnSync(
    [
      "sh",
      "-c",
      `cd "$1" && d=$(printf 'caf\\351') && mkdir "$d" && cd "$d" && exec "$2" exec -m demo "run: pwd" </dev/null`,
      "sh",
      box.cwd,
      binary,
    ],
    { env: box.env },
  );
  expect(run.exitCode).toBe(2);
  expect(run.stderr.toString()).toContain("not valid UTF-8");
  expect(readdirSync(box.cwd)).toHaveLength(1);
});
