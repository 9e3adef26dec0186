/** What the rules of a machine make of a verdict, as far as its written names show which rules those are. */
import { underGuard } from "../../../agent/machine-mode.ts";
import type { EffectiveRules } from "../../../policy/machine-rules.ts";
import type { Verdict } from "../../../policy/verdict.ts";

export function onMachine(
  verdict: Verdict,
  risk: "low" | "medium" | "high",
  readOnly: boolean,
  machine: EffectiveRules,
): Verdict {
  if (machine.mode !== "read-only" || verdict.kind === "deny" || readOnly) return underGuard(verdict, risk, machine);
  return {
    kind: "deny",
    why: `the machine is read-only (${machine.patterns.join(", ")})`,
    instead: "Nothing can approve a change there; buddy lists it as a command to copy.",
  };
}
