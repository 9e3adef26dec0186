/** The rules that hold on a machine: as JSON has them, and what they make of a verdict. */
import { underGuard } from "../../../agent/permit/machine-mode.ts";
import type { EffectiveRules } from "../../../policy/machine-rules.ts";
import type { Verdict } from "../../../policy/verdict.ts";

/** As JSON has it. */
export function ruleFacts(rules: EffectiveRules): { readonly rules?: object } {
  const { mode, label, approveMaxMs, autoApprove, allow, deny, notes, patterns } = rules;
  if (patterns.length === 0) return {};
  return {
    rules: {
      patterns,
      mode,
      ...(label === undefined ? {} : { label }),
      ...(autoApprove === undefined ? {} : { shell_auto_approve: autoApprove }),
      ...(allow === undefined ? {} : { allow }),
      ...(deny.length === 0 ? {} : { deny }),
      ...(approveMaxMs === undefined ? {} : { approve_max_ms: approveMaxMs }),
      ...(notes.length === 0 ? {} : { notes }),
    },
  };
}

/** What they make of a verdict, as far as the written names of a machine show which rules hold. */
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
