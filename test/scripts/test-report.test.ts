/** What the test command counts: every case of the report, and every line of src, loaded or not. */
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCoverage } from "../../scripts/test-coverage.ts";
import { readTestReport } from "../../scripts/test-report.ts";

function temporary(): { dir: string } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), "buddy-report-"));
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

test("passed, failed and skipped cases, with their names", () => {
  using box = temporary();
  const file = join(box.dir, "junit.xml");
  writeFileSync(
    file,
    `<testsuites><testsuite name="a"><testsuite name="g">
      <testcase name="one &lt;1&gt; &amp; &quot;two&quot;" classname="g" time="0" file="a.test.ts" />
      <testcase name="bad" classname="g" file="a.test.ts"><failure type="AssertionError" message="1 &lt; 2&#10;&#10;+ more" /></testcase>
      <testcase name="no docker" classname="" file="b.test.ts">
        <skipped />
      </testcase>
    </testsuite></testsuite></testsuites>`,
  );
  expect(readTestReport(file)).toEqual({
    passed: 1,
    failed: [{ name: "a.test.ts > g > bad", why: "1 < 2\n\n+ more" }],
    skipped: ["b.test.ts > no docker"],
  });
  expect(readTestReport(join(box.dir, "missing.xml"))).toEqual({ passed: 0, failed: [], skipped: [] });
});

test("coverage: records of parallel workers are joined, a file that was not loaded counts, types do not", () => {
  using box = temporary();
  mkdirSync(join(box.dir, "coverage"));
  mkdirSync(join(box.dir, "src"));
  writeFileSync(join(box.dir, "src/a.ts"), "export const a = 1;\n");
  writeFileSync(join(box.dir, "src/unloaded.ts"), "export function f() {\n  return 1;\n}\n");
  writeFileSync(join(box.dir, "src/types.ts"), "export interface T {\n  a: string;\n}\n");
  const record = (hits: number[]) => hits.map((hit, i) => `DA:${i + 1},${hit}`).join("\n");
  writeFileSync(
    join(box.dir, "coverage/lcov.info"),
    `SF:src/a.ts\n${record([1, 0, 0, 1])}\nend_of_record\nSF:src/a.ts\n${record([0, 1, 0, 1])}\nend_of_record\nSF:test/x.ts\n${record([0])}\n`,
  );
  const { lines, percent, lowest } = readCoverage(box.dir);
  expect(lines).toBeGreaterThan(4);
  expect(percent).toBeCloseTo((100 * 3) / lines);
  expect(lowest.map(({ file }) => file)).toEqual(["src/unloaded.ts", "src/a.ts"]);
});
