/** Reads that a read-only mount namespace would tell wrong facts run beside it; everything else runs in it. */
import { expect, test } from "bun:test";
import { distortedInNamespace } from "../../../src/policy/shell/distorted-in-namespace.ts";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { RULES } from "./rules.ts";

const distorted = (text: string, owners: boolean) =>
  distortedInNamespace(text, judgeShell(text, RULES), owners) !== undefined;

test.each([
  "mount",
  "findmnt /",
  "cat /proc/mounts",
  "cat /proc/self/mountinfo",
  "grep x /proc/1/maps",
  "ls /proc/*/exe",
  "cat /etc/mtab",
  "ss -tlnp",
  "lsof -i",
  "test -w /etc/hosts && echo yes",
  "[ -w . ]",
  "find . -writable",
])("%s: never", (text) => {
  expect([distorted(text, true), distorted(text, false)]).toEqual([true, true]);
});

test.each([
  "ls -l",
  "ls -la /etc",
  "stat f",
  "ps aux",
  "id",
  "find . -user root",
  "find . -printf '%u'",
  "ls --color -l",
])("%s: only where owners have their names", (text) => {
  expect([distorted(text, true), distorted(text, false)]).toEqual([false, true]);
});

test.each(["ls", "cat f", "grep -r x .", "find . -name '*.ts'", "df -h", "cat /proc/meminfo", "git status", "ss -tln"])(
  "%s: always",
  (text) => {
    expect([distorted(text, true), distorted(text, false)]).toEqual([false, false]);
  },
);
