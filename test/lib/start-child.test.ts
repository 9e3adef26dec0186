/** The one way to start a program: what children see of buddy's environment, and programs that cannot be started. */
import { afterEach, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hideFromChildren } from "../../src/lib/processes.ts";
import { askProgram, childEnv, runProgram, startChild } from "../../src/lib/start-child.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/until.ts";

const NAMES = ["BUDDY_API_KEY", "START_CHILD_KEY", "START_CHILD_OTHER"];

afterEach(() => {
  for (const name of NAMES) delete process.env[name];
});

function withSecrets(): void {
  hideFromChildren(["START_CHILD_KEY"]);
  for (const name of NAMES) process.env[name] = "s3cret";
}

test("a child gets the environment without buddy's keys and without those of its profiles", async () => {
  withSecrets();
  const child = startChild(["env"], { stdout: "pipe" });
  const seen = await child.stdout.text();
  expect(seen).toContain("START_CHILD_OTHER=s3cret");
  expect(seen).not.toContain("BUDDY_API_KEY");
  expect(seen).not.toContain("START_CHILD_KEY");
});

test("a look-up before the configuration is known gets no variable that could hold a key", () => {
  withSecrets();
  const { stdout } = askProgram(["env"]);
  expect(stdout).toContain("PATH=");
  expect(stdout).not.toContain("s3cret");
});

test("a key cannot come back as an extra variable", () => {
  withSecrets();
  expect(childEnv({ START_CHILD_KEY: "s3cret", SHOWN: "yes" }, {})).toEqual({ SHOWN: "yes" });
});

test("a program that is missing or may not be executed is an answer, not an exception", () => {
  const directory = mkdtempSync(join(tmpdir(), "buddy-start-child-"));
  const program = join(directory, "program");
  writeFileSync(program, "#!/bin/sh\n");
  chmodSync(program, 0o644);
  expect(askProgram([join(directory, "none")]).code).toBe(-1);
  expect(askProgram([program]).code).toBe(-1);
  rmSync(directory, { recursive: true });
});

const { test: withShell } = await needs("linux");

withShell(
  "a look-up that does not end, or prints without end, is given up, and so is all that it started",
  async () => {
    const mark = `60.${process.pid}`;
    for (const text of [`sleep ${mark}; :`, `trap "" TERM; sleep ${mark}; sleep ${mark}`, "yes"])
      expect(askProgram(["sh", "-c", text], { timeoutMs: 300 }).code).toBe(-1);
    const run = await runProgram(["sh", "-c", `trap "" TERM; sleep ${mark}; sleep ${mark}`], { timeoutMs: 300 });
    expect(run.kind).toBe("killed");
    await until(() => !started().some((argv) => argv.includes(mark)), "nothing that it started is left");
  },
);

withShell("what a program leaves running with its output does not keep its answer", async () => {
  const run = await runProgram(["sh", "-c", "echo key; sleep 60 & echo $! >&2"], { timeoutMs: 30_000 });
  if (run.kind !== "ended") throw new Error(run.kind);
  process.kill(Number(run.stderr), "SIGKILL");
  expect([run.code, run.stdout]).toEqual([0, "key\n"]);
});

function started(): string[] {
  const read = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(read);
}
