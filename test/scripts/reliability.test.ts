import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { reliabilityPage } from "../../scripts/make-reliability.ts";

test("docs/reliability.md names the tests as they are: bun scripts/make-reliability.ts", () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/reliability.md"), "utf8")).toBe(reliabilityPage());
});
