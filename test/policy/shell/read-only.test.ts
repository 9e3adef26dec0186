/** Every row of the read-only table against its own examples. */
import { expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { readOnlyRows } from "../../../src/policy/shell/read-only/prove.ts";
import { RULES } from "./rules.ts";

for (const row of readOnlyRows().all())
  test(`read-only: ${row.programs.slice(0, 3).join(", ")}`, () => {
    expect(row.yes.length).toBeGreaterThan(0);
    expect(row.no.length).toBeGreaterThan(0);
    const rules = row.preset === undefined ? RULES : { ...RULES, autoApprove: row.preset as "operator" };
    expect(row.yes.filter((command) => judgeShell(command, rules).verdict.kind !== "allow")).toEqual([]);
    expect(row.no.filter((command) => judgeShell(command, rules).readOnly)).toEqual([]);
    expect(row.no.filter((command) => judgeShell(command, rules).verdict.kind === "allow")).toEqual([]);
    if (row.preset === undefined) return;
    expect(row.yes.filter((command) => judgeShell(command, RULES).verdict.kind === "allow")).toEqual([]);
  });
