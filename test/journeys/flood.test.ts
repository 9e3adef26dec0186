import { expect } from "bun:test";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, sandbox } from "../support/buddy.ts";
import { shell } from "../support/calls.ts";
import { startModel } from "../support/model.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/until.ts";

const { test } = await needs("linux");

/** The most memory that a run had taken when its command was over, with a reader who does not read. */
async function peakOf(command: string): Promise<number> {
  await using model = startModel([shell(command), { text: "done" }]);
  using box = sandbox();
  const pipe = join(box.dir, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  const reader = Bun.spawn(["sh", "-c", 'exec sleep 1000 < "$1"', "sh", pipe]);
  const output = openSync(pipe, "w");
  const args = ["exec", "--json", "--no-tmux", "--approve", "all", "--base-url", model.url, "-m", "m1", "hi"];
  const child = Bun.spawn([await buddyBinary(), ...args], {
    cwd: box.cwd,
    env: { ...box.env, BUDDY_API_KEY: "k-0123456789" },
    stdin: "ignore",
    stdout: output,
    stderr: "ignore",
  });
  try {
    await until(() => model.requests.length === 2, "the command is over", { timeoutMs: 300_000 });
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024;
  } finally {
    child.kill("SIGKILL");
    reader.kill("SIGKILL");
    await Promise.all([child.exited, reader.exited]);
  }
}

test("a flood that no one reads stays out of memory", async () => {
  const quiet = await peakOf("echo one line");
  // 160 MB; 30 to 36 MB more were measured, and no more for 340.
  expect((await peakOf("seq 1 20000000")) - quiet).toBeLessThan(60);
}, 360_000);
