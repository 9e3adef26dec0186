/** --output-schema: drafts, what is wrong with an answer, and files that are no schema. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadOutputSchema } from "../../../src/cli/commands/exec/final-answer.ts";
import { buddyError } from "../../support/errors.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const dir = temporaryDirectory();

function stored(text: string): string {
  const path = join(dir, "schema.json");
  writeFileSync(path, text);
  return path;
}

test.each([
  ["draft-07, the default", undefined, { type: "array", items: [{ type: "integer" }], additionalItems: false }],
  [
    "2019-09",
    "https://json-schema.org/draft/2019-09/schema",
    { type: "array", items: [{ type: "integer" }], additionalItems: false },
  ],
  [
    "2020-12",
    "https://json-schema.org/draft/2020-12/schema",
    { type: "array", prefixItems: [{ type: "integer" }], items: false },
  ],
])("%s", async (_, $schema, schema) => {
  const { check, instruction } = await loadOutputSchema(
    stored(JSON.stringify({ ...($schema === undefined ? {} : { $schema }), ...schema })),
  );
  expect(instruction).toContain("valid against this JSON Schema");
  expect(check("[1]")).toEqual({ ok: true, json: "[1]" });
  expect(check("```\n[1]\n```")).toEqual({ ok: true, json: "[1]" });
  expect(check("[1, 2]").ok).toBe(false);
  expect(check('["x"]')).toEqual({ ok: false, problem: "/0 must be integer" });
  expect(check("[1")).toMatchObject({ ok: false, problem: expect.stringContaining("it is not JSON: ") });
});

test("many problems are named up to a point; formats do not refuse an answer", async () => {
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, { type: "integer" }]));
  const { check } = await loadOutputSchema(stored(JSON.stringify({ type: "object", properties, required: ["a"] })));
  const judged = check(JSON.stringify(Object.fromEntries(Object.keys(properties).map((key) => [key, "x"]))));
  expect(judged.ok ? "" : judged.problem.split("; ")).toHaveLength(8);
  const dated = await loadOutputSchema(stored('{"type":"string","format":"date-time"}'));
  expect(dated.check('"tomorrow"').ok).toBe(true);
});

test.each([
  ["[]", "object"],
  ["{", "JSON"],
  ['{"type":"nonsense"}', "type"],
  ['{"$ref":"https://example.com/elsewhere"}', "https://example.com/elsewhere"],
])("%s is refused", async (text, named) => {
  expect(loadOutputSchema(stored(text))).rejects.toThrow(buddyError("usage", named));
});

test("a missing file is a usage error", async () => {
  expect(loadOutputSchema(join(dir, "missing"))).rejects.toMatchObject({ code: "usage" });
});
