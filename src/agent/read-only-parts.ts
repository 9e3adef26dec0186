/** How calls are decided on while a read-only runbook runs: as on a machine that is read-only, whichever it is. */
import type { PermitParts } from "./permission.ts";

/** Whatever the configuration, the mode or an earlier answer allows: nothing here can approve a change. */
export function readOnlyParts(parts: PermitParts): PermitParts {
  return {
    ...parts,
    readOnly: true,
    rules: async (target) => ({ ...(await parts.rules(target)), mode: "read-only", because: "this runbook" }),
  };
}
