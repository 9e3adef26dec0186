/** Every row of the read-only table against its own examples. */
import { expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { readOnlyRows } from "../../../src/policy/shell/read-only/table.ts";
import { RULES } from "./rules.ts";

for (const row of readOnlyRows().all())
  test(`read-only: ${row.programs.slice(0, 3).join(", ")}`, () => {
    expect(row.yes.length).toBeGreaterThan(0);
    expect(row.no.length).toBeGreaterThan(0);
    expect(row.yes.filter((command) => judgeShell(command, RULES).verdict.kind !== "allow")).toEqual([]);
    expect(row.no.filter((command) => judgeShell(command, RULES).readOnly)).toEqual([]);
    expect(row.no.filter((command) => judgeShell(command, RULES).verdict.kind === "allow")).toEqual([]);
  });
