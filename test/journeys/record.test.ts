import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../src/lib/processes.ts";
import { execRig, shell } from "../support/exec.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

test("a run that is killed in the middle of a command leaves a whole record, with the decision in it", async () => {
  const command = "sh -c 'echo $$ > pid.new && mv pid.new pid && exec sleep 1000'";
  await using rig = execRig([shell(command, { risk: "medium", mutation: true }), { text: "done" }]);
  const { box } = rig;
  const run = await box.spawn(["exec", "--no-tmux", "--approve", "all", "go"]);
  await until(() => existsSync(join(box.cwd, "pid")), "the command");
  run.kill("SIGKILL");
  await run.exited;
  const pid = Number(readFileSync(join(box.cwd, "pid"), "utf8"));
  if (isAlive(pid)) process.kill(pid, "SIGKILL");
  const record = join(box.home, ".local/state/buddy/audit.jsonl");
  const lines = readFileSync(record, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { kind: "decision", decision: "approved", by: "mode", action: command },
  ]);
  expect((await box.run(["audit", "verify"])).code).toBe(0);
  writeFileSync(record, readFileSync(record, "utf8").replace("sleep 1000", "sleep 1"));
  const verified = await box.run(["audit", "verify"]);
  expect(verified.code).toBe(1);
  expect(verified.stdout).toContain("audit.jsonl line 1");
});
