import { expect } from "bun:test";
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
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

test("an export of many outputs had all of them in memory, three to six times", async () => {
  using box = sandbox();
  const id = "0123-4567-89ab-cdef";
  const stamp = { v: 1, ts: "2026-01-02T03:04:05.000Z", session: id, target: "local" };
  const output = "a line that a command printed\n".repeat(2000);
  const lines = [
    { type: "session", profile: "p", model: "m" },
    { type: "turn", prompt: "all of them" },
  ].map((event) => JSON.stringify({ ...stamp, ...event }));
  for (let at = 0; at < 1000; at++) {
    const toolCalls = [{ id: `c${at}`, name: "run_shell", arguments: JSON.stringify({ command: `echo ${at}` }) }];
    const message = { role: "assistant", content: null, toolCalls };
    const finished = { call: `c${at}`, tool: "run_shell", ok: true, outcome: "exited", exit_code: 0, ms: 1 };
    lines.push(
      JSON.stringify({ ...stamp, type: "message", message }),
      JSON.stringify({ ...stamp, type: "tool_finished", ...finished, result: `${output}end of ${at}` }),
    );
  }
  const log = box.write(`cwd/.buddyx/sessions/${id}.jsonl`, `${lines.join("\n")}\n`, 0o600);
  const pipe = join(box.dir, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  for (const format of ["--json", "--html", "--cast"]) {
    // Read a piece at a time: near its end the export still runs, and waits for the reader.
    const end = openSync(pipe, "r+");
    const stdout = openSync(pipe, "w");
    const args = [await buddyBinary(), "sessions", "export", id, format];
    const child = Bun.spawn(args, { cwd: box.cwd, env: box.env, stdin: "ignore", stdout });
    try {
      const bytes = Buffer.alloc(1 << 16);
      let text = "";
      while (!text.includes("end of 990")) text = text.slice(-20) + bytes.toString("latin1", 0, readSync(end, bytes));
      const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) * 1024;
      expect(peak).toBeLessThan(2 * statSync(log).size);
    } finally {
      child.kill("SIGKILL");
      closeSync(end);
      closeSync(stdout);
      await child.exited;
    }
  }
}, 360_000);
