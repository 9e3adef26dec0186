/** What tests leave behind is found, named and ended, and nothing else. */
import { expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestRun } from "../../scripts/test-leftovers.ts";
import { needs } from "../support/needs.ts";
import { processesWith, uniqueSeconds } from "../support/processes.ts";
import { until } from "../support/until.ts";

const { test } = await needs("linux");

test("processes and files that a run leaves are named, ended and removed; those of others are left alone", async () => {
  const run = startTestRun(tmpdir(), 0);
  const [marked, child, apart, other] = [uniqueSeconds(), uniqueSeconds(), uniqueSeconds(), uniqueSeconds()];
  const PATH = process.env["PATH"];
  const start = (argv: string[], options: object) =>
    Bun.spawn(argv, { stdio: ["ignore", "ignore", "ignore"], ...options });
  // By the environment, by the parent, and by the directory.
  start(["sh", "-c", `env -i sleep ${child} & sleep ${marked}; :`], { env: { PATH: `${run.bin}:${PATH}` } });
  mkdirSync(join(run.dir, "below"));
  start(["sleep", apart], { env: { PATH }, cwd: join(run.dir, "below") });
  await using stranger = start(["sleep", other], { env: { PATH } });
  const ours = [marked, child, apart].map((seconds) => `sleep ${seconds}`);
  // Not the shell, which has their words in its own.
  const isProgram = (pid: number) => /^(?:env|sleep)\n/.test(readFileSync(`/proc/${pid}/comm`, "utf8"));
  await until(() => ours.every((one) => processesWith(one).some(isProgram)), "all of them run");
  writeFileSync(join(run.dir, "forgotten"), "");
  const { left } = await run.end();
  for (const one of ours) expect(left.join("\n")).toMatch(new RegExp(`^process \\d+ \\((?:env -i )?${one}\\)$`, "m"));
  expect(left.join("\n")).not.toContain(other);
  expect(left).toContain(join(run.dir, "forgotten"));
  await until(() => ours.every((one) => processesWith(one).length === 0), "they are ended");
  expect([existsSync(run.dir), stranger.exitCode]).toEqual([false, null]);
});

test("a run that leaves nothing has nothing to report", async () => {
  const run = startTestRun(tmpdir());
  const { exitCode } = Bun.spawnSync(["true"], { env: { PATH: `${run.bin}:${process.env["PATH"]}`, TMPDIR: run.dir } });
  expect([exitCode, (await run.end()).left, existsSync(run.dir)]).toEqual([0, [], false]);
});
