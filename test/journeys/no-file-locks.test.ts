/** A home and a working directory on a file system without locks. */
import { expect, setDefaultTimeout } from "bun:test";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { sandbox } from "../support/buddy.ts";
import { noFileLocks } from "../support/no-file-locks.ts";
import { needs } from "../support/needs.ts";

const { test } = await needs("linux", "cc");

setDefaultTimeout(60_000);

test("a session is answered and continued, and the missing locks are reported once", async () => {
  using box = sandbox();
  using files = new DisposableStack();
  const env = { LD_PRELOAD: noFileLocks() };
  files.defer(() => rmSync(dirname(env.LD_PRELOAD), { recursive: true, force: true }));
  const first = await box.run(["exec", "--no-tmux", "-m", "demo", "hello"], { env });
  expect(first.code).toBe(0);
  const second = await box.run(["exec", "--no-tmux", "-m", "demo", "--resume", "last", "again"], { env });
  expect(second.code).toBe(0);
  expect(second.stderr.match(/no file locks/g)).toHaveLength(1);
});
