import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import schema from "../../docs/events.schema.json";
import { TurnState } from "../../src/agent/calls/tool-calls.ts";
import { proposedLines } from "../../src/agent/events.ts";
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

test("a change that was not made on many read-only machines is listed for all of them", () => {
  const turn = new TurnState();
  const names = Array.from({ length: 400 }, (_, at) => `web${String(at + 1).padStart(3, "0")}`);
  for (const name of names) turn.propose({ where: "root@vm", command: "reboot" }, name);
  for (const name of names) turn.propose({ where: "root@vm", command: "reboot" }, name);
  expect(proposedLines(turn.proposed)).toEqual(["# web[001-400] (400)", "reboot"]);
});
