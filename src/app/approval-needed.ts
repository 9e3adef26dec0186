/** The end of a run without a terminal that wanted something only an approval allows. */
import { BuddyError } from "../lib/errors.ts";
import type { ApprovalMode } from "../policy/approvals.ts";
import { boundText } from "../tools/bound-output.ts";

export function approvalNeeded(actions: readonly string[], mode: ApprovalMode): BuddyError {
  const what = actions.map((action) => boundText(action, 200, () => "left out")).join("; ");
  // A mode that approves everything else was in effect already.
  const onlyByPerson = mode.kind === "all" || mode.kind === "until";
  return new BuddyError("approval", `approval required, but there is no terminal to ask on: ${what}`, {
    hint: onlyByPerson
      ? "Only a person approves this; --approve does not cover it. Run it from a terminal."
      : "Run it from a terminal, or allow it: --approve all, --approve 10m, or shell_allow in [tools] for single commands.",
  });
}
