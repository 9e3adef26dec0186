/**
 * May this call happen? Joins what the policy says, what the model declared, the dry run and the operator's answer into
 * "run it" or a result for the model.
 */
import { NO_RULES } from "../policy/machine-rules.ts";
import type { Verdict } from "../policy/verdict.ts";
import type { Intent } from "../tools/tool.ts";
import { underGuard, withheld } from "./machine-mode.ts";
import { decide, confirms, withSecrets } from "./ask-operator.ts";
import { dryRun, type Permission, type PermitCall, type PermitParts, refused } from "./permission.ts";
import { permitFetch } from "./permit-fetch.ts";
import { permitRead, permitWrite } from "./permit-files.ts";
import { permitShell } from "./permit-shell.ts";
import { permitKeys } from "./permit-keys.ts";

export async function permit(parts: PermitParts, call: PermitCall): Promise<Permission> {
  const { intent, input } = call;
  switch (intent.kind) {
    case "read":
      return intent.path === undefined ? { kind: "run", input } : permitRead(parts, call, intent.path, intent.sudo);
    case "end-shell":
      return permitEnding(parts, call, intent);
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

/** What another session started is not this one's to end: its command is shown, and a person decides. */
async function permitEnding(
  parts: PermitParts,
  call: PermitCall,
  { title, shell: id }: Intent & { kind: "end-shell" },
): Promise<Permission> {
  const target = await parts.target();
  const rules = await parts.rules(target);
  if (rules.mode === "read-only") return withheld(target, rules, { command: `# ${title}` });
  if (parts.dryRun) return dryRun(`would do: ${title}`, undefined);
  const run: Permission = { kind: "run", input: call.input };
  const shell = (await target.background.list()).find((one) => one.id === id);
  const ends = shell !== undefined && !shell.own && shell.status === "running";
  if (!ends || !confirms(parts, rules)) return run;
  const command = parts.privacy.mask(shell.command, { from: `background shell ${id}` });
  const action = `${title} (pid ${shell.pid}): ${command}`;
  const decision = await decide(parts, call, target, {
    action,
    risk: "medium",
    mutation: true,
    privesc: false,
    why: "",
    policy: "another session started it",
    understated: false,
    editable: false,
  });
  return decision.kind === "approved" ? run : refused(decision, action);
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

/**
 * May this tool of a server be called? It asks like anything that may change something; what it says about itself is
 * shown.
 */
async function permitServer(
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
  const rules = (intent.local ? await parts.rulesHere?.() : undefined) ?? NO_RULES;
  const { label, approveMaxMs } = rules;
  const by = parts.readOnly === true ? "this runbook" : rules.mode === "read-only" ? "this machine" : undefined;
  if (by !== undefined)
    return {
      kind: "result",
      proposed: {
        where: `MCP server ${server}`,
        ...(label === undefined ? {} : { label }),
        command: `# ${parts.privacy.maskKnown(action)}`,
      },
      result: {
        ok: false,
        outcome: "denied",
        result: `Not allowed: ${by} is read-only, and this tool may change something. Continue with what only reads.`,
        display: `not called: ${by} is read-only`,
      },
    };
  // That it only reads is shown, but not believed.
  const risk = secrets || says === "destroys" ? "high" : "medium";
  const verdict = underGuard({ kind: "ask", why: policy }, risk, rules);
  const answer = verdict.kind === "ask" ? verdict.answer : undefined;
  if (parts.dryRun) return dryRun(`would call: ${action}`, verdict);
  if (!confirms(parts, rules) && !secrets && answer === undefined) return run();
  const decision = await decide(parts, call, undefined, {
    action,
    risk,
    mutation: !believed,
    privesc: false,
    why: "",
    policy,
    understated: false,
    editable: false,
    ...(label === undefined ? {} : { label }),
    ...(approveMaxMs === undefined ? {} : { approveMaxMs }),
    ...(answer === undefined ? {} : { answer }),
    // What is remembered is the tool as it is now; a call with a secret in it needs approval every time.
    ...(secrets ? {} : { prefixes: [{ words: [call.tool.name], open: true, described: intent.described }] }),
  });
  return decision.kind === "approved" ? run() : refused(decision, action);
}

const SAYS = {
  reads: (server: string) => `${server} says that it only reads; trust_read_only is off for it`,
  changes: (server: string) => `a tool of the MCP server ${server} may change something`,
  destroys: (server: string) => `${server} says that it may destroy something`,
} as const;
