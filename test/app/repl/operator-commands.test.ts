import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { operatorCommand } from "../../../src/app/repl/operator-commands.ts";
import { openTarget } from "../../../src/targets/open.ts";
import { drain } from "../../support/agent.ts";
import { Here } from "../../support/in-process.ts";

setDefaultTimeout(60_000);

test("!command: what it would delete is judged from the directory that the shell is in", async () => {
  await using here = new Here();
  const run = await here.compose();
  const { config } = await here.loaded();
  const type = (command: string) => drain(operatorCommand(run, config, command, new AbortController().signal));
  await type("false && rm -rf etc");
  await type("cd /");
  await expect(type("false && rm -rf etc")).rejects.toThrow("system directory");
});

test("!command: what was cancelled while the target opened is not run", async () => {
  await using here = new Here();
  const cancelled = new AbortController();
  const run = await here.compose(undefined, {
    open: async (wanted) => {
      const target = await openTarget(wanted);
      cancelled.abort();
      return target;
    },
  });
  const { config } = await here.loaded();
  await drain(operatorCommand(run, config, "touch made", cancelled.signal)).catch(() => {});
  await drain(operatorCommand(run, config, "touch after", new AbortController().signal));
  expect(existsSync(join(here.cwd, "after"))).toBe(true);
  expect(existsSync(join(here.cwd, "made"))).toBe(false);
});
