/** The one way to start a program: what children see of buddy's environment, and programs that cannot be started. */
import { afterEach, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hideFromChildren } from "../../src/lib/processes.ts";
import { askProgram, childEnv, startChild } from "../../src/lib/start-child.ts";

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

test("a look-up that does not end is given up", () => {
  expect(askProgram(["sleep", "60"], { timeoutMs: 50 }).code).not.toBe(0);
});
