import { expect } from "bun:test";
import { restoreAfterDeath } from "../../../src/ui/terminal/terminal.ts";
import { needs } from "../../support/needs.ts";
import { until } from "../../support/until.ts";

const { test } = await needs("ps");

const guards = (): string =>
  Bun.spawnSync(["pgrep", "-f", "buddy-terminal", "-P", String(process.pid)])
    .stdout.toString()
    .trim();

test("a dismissed guard goes away and writes nothing; one dismissed at once never starts", async () => {
  restoreAfterDeath("never shown")();
  const dismiss = restoreAfterDeath("not shown either");
  await until(() => guards() !== "", "the guard");
  expect(guards().split("\n")).toHaveLength(1);
  dismiss();
  await until(() => guards() === "", "no guard");
  dismiss();
});

test("a guard that was killed is done without", async () => {
  const dismiss = restoreAfterDeath("not shown");
  await until(() => guards() !== "", "the guard");
  process.kill(Number(guards()), "SIGKILL");
  dismiss();
  await until(() => guards() === "", "no guard");
});
