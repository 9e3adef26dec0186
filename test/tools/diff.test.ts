import { describe, expect, test } from "bun:test";
import { boundDiff, diffSize } from "../../src/tools/bound-output.ts";
import { unifiedDiff } from "../../src/tools/diff.ts";
import { nearestLines } from "../../src/tools/edit-file.ts";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needs } from "../support/needs.ts";

const patch = await needs("patch");

const numbered = (count: number) => Array.from({ length: count }, (_, n) => `line ${n + 1}\n`).join("");

const NOTHING = "Nothing in the file looks like it";

describe("a unified diff", () => {
  test("shows the change with three lines around it", () => {
    expect(unifiedDiff(numbered(10), numbered(10).replace("line 5\n", "line five\n"))).toBe(
      [
        "@@ -2,7 +2,7 @@",
        " line 2",
        " line 3",
        " line 4",
        "-line 5",
        "+line five",
        " line 6",
        " line 7",
        " line 8",
      ].join("\n"),
    );
  });

  patch.test.each([
    ["nothing", "a\nb\n", "a\nb\n"],
    ["a new file", "", "a\nb\n"],
    ["an emptied file", "a\nb\n", ""],
    ["two places", numbered(40), numbered(40).replace("line 5\n", "").replace("line 30\n", "new\nnewer\n")],
    ["no newline at the end", "a\nb", "a\nb\n"],
    ["a newline taken away", "a\nb\n", "a\nb"],
    ["everything", "a\nb\nc\n", "x\ny\n"],
    ["interleaved", numbered(30), numbered(30).replaceAll(/line (\d*[05])\n/g, "LINE $1\n")],
  ])("patch(1) makes the new text of it: %s", (_, before, after) => {
    const diff = unifiedDiff(before, after);
    if (before === after) return expect(diff).toBe("");
    const dir = mkdtempSync(join(tmpdir(), "buddy-diff-"));
    try {
      writeFileSync(join(dir, "f"), before);
      const patched = Bun.spawnSync(["patch", "-s", "f"], { cwd: dir, stdin: Buffer.from(`--- f\n+++ f\n${diff}\n`) });
      expect(patched.exitCode).toBe(0);
      // patch removes a file that became empty.
      const made = after === "" ? "" : readFileSync(join(dir, "f"), "utf8");
      expect(made).toBe(after);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test("is bounded and says how much is missing", () => {
    const diff = boundDiff(unifiedDiff("", numbered(1000)), 50);
    expect(diff.split("\n")).toHaveLength(51);
    expect(diff).toEndWith("[951 more lines of this diff]");
  });

  test("stays quick for large rewrites", () => {
    const diff = unifiedDiff(numbered(5000), numbered(5000).toUpperCase());
    expect(diffSize(diff)).toEqual({ added: 5000, removed: 5000 });
    expect(diffSize(unifiedDiff("", numbered(100_000)))).toEqual({ added: 100_000, removed: 0 });
  });

  test("counts the lines it adds and removes", () => {
    expect(diffSize(unifiedDiff("a\nb\nc\n", "a\nB\nc\nd\n"))).toEqual({ added: 2, removed: 1 });
  });
});

describe("the nearest lines", () => {
  const file =
    "import os\n\ndef load(path):\n    with open(path) as f:\n        return f.read()\n\ndef save(path, text):\n    pass\n";

  test("shows what is there, with line numbers", () => {
    const found = nearestLines(file, "def load(file):\n  with open(file) as f:\n");
    expect(found).toStartWith("Nearest, at line 3:");
    expect(found).toContain("3: def load(path):\n4:     with open(path) as f:");
  });

  test("says so when nothing looks like it", () => {
    expect(nearestLines(file, "zzzzzz qqqqqq")).toContain(NOTHING);
    expect(nearestLines("", "x")).toContain(NOTHING);
  });
});
