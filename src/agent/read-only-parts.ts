/** How calls are decided on while a read-only runbook runs: what is proven to only read happens, all else is refused. */
import { Approvals } from "../policy/approvals.ts";
import type { PermitParts } from "./permission.ts";

/** Whatever the configuration, the mode or an earlier answer allows: nothing here can approve a change. */
export function readOnlyParts(parts: PermitParts): PermitParts {
  return {
    ...parts,
    approvals: new Approvals({ mode: { kind: "none" } }),
    confirm: { ...parts.confirm, shell: true },
    judgeShell: async (command, cwd, rules) => {
      const judged = await parts.judgeShell(command, cwd, rules);
      // Allowed by shell_allow or a preset, and not by a proof.
      if (judged.verdict.kind !== "allow" || judged.readOnly) return judged;
      return { ...judged, verdict: { kind: "ask", why: "it is not proven to only read" } };
    },
  };
}
