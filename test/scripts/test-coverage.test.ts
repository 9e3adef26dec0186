/** The coverage figure of the test command: lines of every worker joined, and files that no test loads. */
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readCoverage } from "../../scripts/test-coverage.ts";

function project(files: Readonly<Record<string, string>>): { root: string } & Disposable {
  const root = mkdtempSync(join(tmpdir(), "buddy-coverage-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}

test("a line counts when one of the workers ran it; files elsewhere do not count", () => {
  using made = project({
    "src/a.ts": "export const a = 1;\n",
    "coverage/lcov.info":
      "SF:src/a.ts\nDA:1,0\nDA:2,3\nDA:3,0\nDA:4,0\nend_of_record\n" +
      "SF:test/support/x.ts\nDA:1,0\nDA:2,0\nend_of_record\n" +
      "SF:src/a.ts\nDA:1,1\nDA:2,0\nDA:3,0\nend_of_record\n",
  });
  expect(readCoverage(made.root)).toEqual({ percent: 50, lines: 4, lowest: [{ file: "src/a.ts", percent: 50 }] });
});

test("a file that no test loads is not covered; types and declarations have nothing to cover", () => {
  using made = project({
    "src/loaded.ts": "export const a = 1;\n",
    "src/forgotten.ts": "export function f() {\n  return 1;\n}\n",
    "src/types.ts": "export interface A {\n  readonly a: number;\n}\n",
    "src/text.d.ts": 'declare module "*.md" {\n  const text: string;\n  export default text;\n}\n',
    "coverage/lcov.info": "SF:src/loaded.ts\nDA:1,1\nend_of_record\n",
  });
  const { lowest, percent } = readCoverage(made.root);
  expect(lowest.map(({ file }) => file)).toEqual(["src/forgotten.ts"]);
  expect(percent).toBeLessThan(50);
});

test("without a report nothing is covered", () => {
  using made = project({ "src/a.ts": "export const a = 1;\n" });
  expect(readCoverage(made.root).percent).toBe(0);
});
