import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import schema from "../../docs/events.schema.json";
import { eventProblem } from "../support/event-schema.ts";

const docs = readFileSync(join(import.meta.dir, "../../docs/events.md"), "utf8");
const source = readFileSync(join(import.meta.dir, "../../src/agent/events.ts"), "utf8");
const examples = [...docs.matchAll(/## `(\w+)`[\s\S]*?```json\n(.*)\n```/g)];
const types = [...source.matchAll(/readonly type: "(\w+)"/g)].map(([, type]) => type ?? "").sort();

test("every event type is in the schema and has an example in the documentation", () => {
  expect(examples.map(([, name]) => name).sort()).toEqual(types);
  expect(schema.oneOf.map(({ $ref }) => $ref.replace("#/$defs/", "")).sort()).toEqual(types);
});

test.each(examples.map(([, name, json]) => [name!, json!]))("the example of %s is valid", (name, json) => {
  const event = JSON.parse(json) as { type: string };
  expect(event.type).toBe(name);
  expect(eventProblem(event)).toBeUndefined();
});

test("what is not an event is refused", () => {
  expect(eventProblem({ type: "nonsense" })).toBeString();
  expect(eventProblem({ ...(JSON.parse(examples[1]![2]!) as object), turn: "one" })).toContain("/turn");
});
