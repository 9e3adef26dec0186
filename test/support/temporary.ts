/** A directory for the tests of a file, by its real path; it is gone after the last of them. */
import { afterAll } from "bun:test";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Homes and directories of people have such names: everything that a sandbox runs has to stand them. */
export function oddDirectory(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'it\'s $HOME "é"-')));
}

export function temporaryDirectory(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "buddy-test-")));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
