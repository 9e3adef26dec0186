/**
 * May this call happen? Joins what the policy says, what the model declared, the dry run and the operator's answer into
 * "run it" or a result for the model.
 */
import type { Verdict } from "../policy/verdict.ts";
import type { Intent } from "../tools/tool.ts";
import { underGuard, withheld } from "./machine-mode.ts";
import { decide, confirms, withSecrets } from "./ask-operator.ts";
import { dryRun, type Permission, type PermitCall, type PermitParts, refused } from "./permission.ts";
import { permitFetch } from "./permit-fetch.ts";
import { permitServer } from "./permit-server.ts";
import { permitRead, permitWrite } from "./permit-files.ts";
import { permitShell } from "./permit-shell.ts";
import { permitKeys } from "./permit-keys.ts";

export async function permit(parts: PermitParts, call: PermitCall): Promise<Permission> {
  const { intent, input } = call;
  switch (intent.kind) {
    case "read":
      return intent.path === undefined ? { kind: "run", input } : permitRead(parts, call, intent.path, intent.sudo);
    case "own":
      return parts.dryRun ? dryRun(`would do: ${intent.title}`, undefined) : { kind: "run", input };
    case "shell":
      return permitShell(parts, call, intent);
    case "keys":
      return permitKeys(parts, call, intent);
    case "control":
      return permitControl(parts, call, intent);
    case "write":
      return permitWrite(parts, call, intent);
    case "fetch":
      return permitFetch(parts, call, intent);
    case "server":
      return permitServer(parts, call, intent);
  }
}

async function permitControl(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "control" },
): Promise<Permission> {
  const target = await parts.target();
  const rules = await parts.rules(target);
  const { risk, mutation, privesc, why } = intent.declared;
  if (rules.mode === "read-only") return withheld(target, rules, { command: `# ${intent.title}`, why });
  const keys: Verdict = { kind: "ask", why: "what happens in the panes cannot be analysed in advance" };
  const verdict = underGuard(withSecrets(keys, call.secrets, parts.privacy), risk, rules);
  const answer = verdict.kind === "ask" ? verdict.answer : undefined;
  if (parts.dryRun) return dryRun(`would do: ${intent.title}`, verdict);
  const run: Permission = { kind: "run", input: call.reveal(call.input) };
  if (!confirms(parts, rules) && call.secrets.length === 0 && answer === undefined) return run;
  const decision = await decide(parts, call, target, {
    action: intent.title,
    risk,
    mutation,
    privesc,
    why,
    policy: verdict.why,
    understated: false,
    editable: false,
    ...(answer === undefined ? {} : { answer }),
  });
  return decision.kind === "approved" ? run : refused(decision, intent.title);
}
