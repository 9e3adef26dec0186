import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { homeDirectory, temporaryDirectory } from "../../src/lib/local-directories.ts";
import { buddyError } from "../support/errors.ts";

test("a TMPDIR that does not exist, or is not a directory, is skipped", () => {
  const dir = mkdtempSync(join(os.tmpdir(), "buddy-places-"));
  try {
    writeFileSync(join(dir, "file"), "");
    expect(temporaryDirectory([join(dir, "missing"), join(dir, "file"), dir, "/tmp"])).toBe(dir);
    expect(() => temporaryDirectory([join(dir, "missing")])).toThrow(buddyError("target"));
  } finally {
    rmSync(dir, { recursive: true });
  }
  expect(temporaryDirectory()).toBeString();
});

test("HOME is believed; without it the password file is asked", () => {
  expect(homeDirectory({ HOME: "/srv/me" })).toBe("/srv/me");
  expect(homeDirectory({})).toStartWith("/");
});
