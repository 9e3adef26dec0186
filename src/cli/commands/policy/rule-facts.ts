/** The rules that hold on a machine: as JSON, and the verdict under them. */
import { defined } from "../../../lib/values.ts";
import { underGuard } from "../../../agent/permit/machine-modes.ts";
import type { EffectiveRules } from "../../../policy/machine-rules.ts";
import type { Verdict } from "../../../policy/verdict.ts";

export function ruleFacts(rules: EffectiveRules): { readonly rules?: object } {
  const { mode, label, approveMaxMs, autoApprove, allow, deny, notes, patterns } = rules;
  if (patterns.length === 0) return {};
  return {
    rules: {
      patterns,
      mode,
      ...defined({ label, shell_auto_approve: autoApprove, allow }),
      ...(deny.length === 0 ? {} : { deny }),
      ...(approveMaxMs === undefined ? {} : { approve_max_ms: approveMaxMs }),
      ...(notes.length === 0 ? {} : { notes }),
    },
  };
}

/** The verdict under these rules, which were found by the machine's names alone. */
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
    instead: "Nothing can approve a change on it; buddy lists the command for you to copy.",
  };
}
