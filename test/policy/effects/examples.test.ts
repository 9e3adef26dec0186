/** Every row that says what a command does, against its own examples. */
import { expect, test } from "bun:test";
import { type Effect, effectsOf } from "../../../src/policy/effects/effects.ts";
import { pathsOf } from "../../../src/policy/effects/file-changes.ts";
import { changeRows, machineRows } from "../../../src/policy/effects/table.ts";
import { walkText } from "../../../src/policy/shell/syntax/walk.ts";

const named = (effect: Effect) => (effect.does === "reaches" ? [effect.machine] : pathsOf(effect));

/** `removes a b`, `reaches prod`, `reaches web1`. */
function effectsIn(command: string): string[] {
  const all = walkText(command).commands.flatMap(effectsOf);
  const changes = Map.groupBy(
    all.filter(({ does }) => does !== "reaches"),
    ({ does }) => does,
  );
  const reached = all.flatMap((effect) => (effect.does === "reaches" ? `reaches ${effect.machine}` : []));
  return [...[...changes].map(([does, list]) => `${does} ${list.flatMap(named).join(" ")}`), ...new Set(reached)];
}

for (const { programs, effects } of [...machineRows().all(), ...changeRows().all()])
  test(`the examples of ${programs.slice(0, 3).join(", ")}`, () => {
    expect(effects.length).toBeGreaterThan(0);
    for (const { command, gives } of effects) expect([command, effectsIn(command)]).toEqual([command, [...gives]]);
  });
