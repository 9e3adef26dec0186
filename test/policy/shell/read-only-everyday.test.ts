/** Everyday looking around: of this list of real commands, nearly all run without a question. */
import { expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import everyday from "./everyday-reads.txt" with { type: "text" };
import { RULES } from "./rules.ts";

const commands = everyday.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("at least 97 of 100 everyday reads run without a question", () => {
  expect(commands.length).toBeGreaterThanOrEqual(300);
  const asked = commands.filter((command) => judgeShell(command, RULES).verdict.kind !== "allow");
  expect(asked.length / commands.length, asked.join("\n")).toBeLessThanOrEqual(0.03);
});

test("none of them is blocked or taken for a change", () => {
  expect(commands.filter((command) => judgeShell(command, RULES).verdict.kind === "deny")).toEqual([]);
});
