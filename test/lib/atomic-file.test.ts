/** A file is replaced as a whole, or nothing is left of the attempt. */
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "../../src/lib/atomic-file.ts";

test("directories are made private, the mode is exact, a failure leaves no temporary file", () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-atomic-"));
  try {
    const path = join(dir, "a/b/file");
    writeFileAtomic(path, "one");
    writeFileAtomic(path, new TextEncoder().encode("two"), 0o644);
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(statSync(join(dir, "a")).mode & 0o777).toBe(0o700);
    mkdirSync(join(dir, "taken"));
    expect(() => writeFileAtomic(join(dir, "taken"), "x")).toThrow();
    expect(readdirSync(dir).sort()).toEqual(["a", "taken"]);
    expect(readdirSync(join(dir, "a/b"))).toEqual(["file"]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
