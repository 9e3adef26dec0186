/** A directory for the tests of a file, by its real path; it is gone after the last of them. */
import { afterAll } from "bun:test";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function temporaryDirectory(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "buddy-test-")));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
