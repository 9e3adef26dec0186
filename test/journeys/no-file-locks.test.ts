/** A home and a working directory on a file system without locks. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { sandbox } from "../support/buddy.ts";
import { noFileLocks } from "../support/no-file-locks.ts";

setDefaultTimeout(60_000);
const env = { LD_PRELOAD: noFileLocks() };
afterAll(() => rmSync(dirname(env.LD_PRELOAD), { recursive: true, force: true }));

test("a session is answered and continued, and the missing locks are said once", async () => {
  using box = sandbox();
  const first = await box.run(["exec", "--no-tmux", "-m", "demo", "hello"], { env });
  expect(first.code).toBe(0);
  const second = await box.run(["exec", "--no-tmux", "-m", "demo", "--resume", "last", "again"], { env });
  expect(second.code).toBe(0);
  expect(second.stderr.match(/no file locks/g)).toHaveLength(1);
});
