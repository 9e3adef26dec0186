/**
 * May this tool of a server be called? It asks like anything that may change something; what it says of itself is
 * shown.
 */
import type { Intent } from "../tools/tool.ts";
import { decide } from "./ask-operator.ts";
import { dryRun, type Permission, type PermitCall, type PermitParts, refused } from "./permission.ts";

export async function permitServer(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "server" },
): Promise<Permission> {
  const { server, says, believed } = intent;
  const leaving = parts.privacy.leaving(intent.title);
  const secrets = call.secrets.length > 0 || leaving !== undefined;
  const run = (): Permission => ({ kind: "run", input: call.reveal(call.input) });
  if (believed && !secrets) return run();
  const policy = [
    ...(call.secrets.length > 0 ? [`it sends ${call.secrets.join(", ")} to the MCP server ${server}`] : []),
    ...(leaving === undefined ? [] : [`it sends ${leaving} to the MCP server ${server}`]),
    SAYS[says](server),
  ].join("; ");
  const action = `${server}: ${intent.title}`;
  if (parts.readOnly === true)
    return {
      kind: "result",
      proposed: { where: `MCP server ${server}`, command: `# ${parts.privacy.maskKnown(action)}` },
      result: {
        ok: false,
        outcome: "denied",
        result:
          "Not allowed: this runbook is read-only, and this tool may change something. Continue with what only reads.",
        display: "not called: this runbook is read-only",
      },
    };
  if (parts.dryRun) return dryRun(`would call: ${action}`, { kind: "ask", why: policy });
  if (!parts.confirm.shell && !secrets) return run();
  const decision = await decide(parts, call, undefined, {
    action,
    // That it only reads is shown, but not believed.
    risk: secrets || says === "destroys" ? "high" : "medium",
    mutation: !believed,
    privesc: false,
    why: "",
    policy,
    understated: false,
    editable: false,
    // What is remembered is the tool as it is now; a call with a secret in it is asked about every time.
    ...(secrets ? {} : { prefixes: [{ words: [call.tool.name], open: true, described: intent.described }] }),
  });
  return decision.kind === "approved" ? run() : refused(decision, action);
}

const SAYS = {
  reads: (server: string) => `${server} says that it only reads; trust_read_only is off for it`,
  changes: (server: string) => `a tool of the MCP server ${server} may change something`,
  destroys: (server: string) => `${server} says that it may destroy something`,
} as const;
