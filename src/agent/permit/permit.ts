/**
 * May this call happen? Policy, what the model declared, dry run and the operator's answer become “run it” or a result
 * for the model.
 */
import { defined } from "../../lib/values.ts";
import { NO_RULES } from "../../policy/machine-rules.ts";
import { outgoingSecret } from "../../policy/privacy/outgoing-secret.ts";
import type { Verdict } from "../../policy/verdict.ts";
import { isListedHost, judgeUrl, namesHost } from "../../policy/web/urls.ts";
import type { Intent, ToolResult } from "../../tools/tool.ts";
import { confirms, decide, withSecrets } from "./ask-operator.ts";
import { underGuard, withheld } from "./machine-modes.ts";
import {
  denied,
  dryRun,
  type Permission,
  type PermitCall,
  type PermitParts,
  type PermittedCall,
  type Refusal,
  refused,
} from "./permission.ts";
import { permitRead, permitWrite } from "./permit-files.ts";
import { permitKeys } from "./permit-keys.ts";
import { permitShell } from "./permit-shell.ts";

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

/** Ending what another session started needs approval, and the question shows its command. */
async function permitEnding(
  parts: PermitParts,
  call: PermitCall,
  { title, shell: id }: Intent & { kind: "end-shell" },
): Promise<Permission> {
  const target = await parts.target();
  const rules = await parts.rules(target);
  if (rules.mode === "read-only") return withheld(parts, target, rules, { command: `# ${title}` });
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
    policy: "another session started it",
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
  const { risk, why } = intent.declared;
  if (rules.mode === "read-only") return withheld(parts, target, rules, { command: `# ${intent.title}`, why });
  const keys: Verdict = { kind: "ask", why: "what happens in the panes cannot be analysed in advance" };
  const verdict = underGuard(withSecrets(keys, call.secrets, parts.privacy), risk, rules);
  const answer = verdict.kind === "ask" ? verdict.answer : undefined;
  if (parts.dryRun) return dryRun(`would do: ${intent.title}`, verdict);
  const run: Permission = { kind: "run", input: call.reveal(call.input) };
  if (!confirms(parts, rules) && call.secrets.length === 0 && answer === undefined) return run;
  const decision = await decide(parts, call, target, {
    ...intent.declared,
    action: intent.title,
    policy: verdict.why,
    ...defined({ answer }),
  });
  return decision.kind === "approved" ? run : refused(decision, intent.title);
}

/** A tool of an MCP server needs approval like anything that may change something; the question says what it claims. */
async function permitServer(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "server" },
): Promise<Permission> {
  const { server, says, believed } = intent;
  const leaving = outgoingSecret(intent.title, parts.privacy.values());
  const secrets = call.secrets.length > 0 || leaving !== undefined;
  const run: Permission = { kind: "run", input: call.reveal(call.input) };
  if (believed && !secrets) return run;
  const policy = [
    ...(call.secrets.length > 0 ? [`it sends ${call.secrets.join(", ")} to the MCP server ${server}`] : []),
    ...(leaving === undefined ? [] : [`it sends ${leaving} to the MCP server ${server}`]),
    ...(intent.changed === true
      ? [`the tool has changed since it was first used; buddy mcp check ${server} accepts it`]
      : []),
    SAYS[says](server, believed, intent.changed === true),
  ].join("; ");
  const action = `${server}: ${intent.title}`;
  const rules = (intent.local ? await parts.rulesHere?.() : undefined) ?? NO_RULES;
  const { label, approveMaxMs } = rules;
  const by = parts.readOnly === true ? "this runbook" : rules.mode === "read-only" ? "this machine" : undefined;
  if (by !== undefined)
    return {
      ...denied(
        `Not allowed: ${by} is read-only, and this tool may change something. Continue with what only reads.`,
        `not called: ${by} is read-only`,
      ),
      proposed: {
        where: `MCP server ${server}`,
        ...defined({ label }),
        command: `# ${parts.privacy.maskKnown(action)}`,
      },
    };
  // A claim to only read is shown, but not believed.
  const risk = secrets || says === "destroys" ? "high" : "medium";
  const verdict = underGuard({ kind: "ask", why: policy }, risk, rules);
  const answer = verdict.kind === "ask" ? verdict.answer : undefined;
  if (parts.dryRun) return dryRun(`would call: ${action}`, verdict);
  if (!confirms(parts, rules) && !secrets && answer === undefined) return run;
  const decision = await decide(parts, call, undefined, {
    action,
    risk,
    mutation: !believed,
    unsure: says !== "destroys",
    policy,
    ...defined({ label, approveMaxMs, answer }),
    // “always” remembers the tool as it is described now; a call with a secret in it needs approval every time.
    ...(secrets ? {} : { prefixes: [{ words: [call.tool.name], open: true, described: intent.described }] }),
  });
  return decision.kind === "approved" ? run : refused(decision, action);
}

const SAYS = {
  reads: (server: string, believed: boolean, changed: boolean) =>
    `${server} says that it only reads${believed || changed ? "" : "; trust_read_only is off for it"}`,
  changes: (server: string) => `a tool of the MCP server ${server} may change something`,
  destroys: (server: string) => `${server} says that it may destroy something`,
} as const;

/** A page needs approval if its host is new in the session, or if its URL contains a secret. */
async function permitFetch(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "fetch" },
): Promise<Permission> {
  return (await permitUrl(parts, call, intent.url, intent.search === true)) ?? { kind: "run", input: call.input };
}

/** May this page be fetched? Asked for the first URL and for every redirect; undefined: yes. */
export async function permitUrl(
  parts: PermitParts,
  call: PermitCall,
  url: string,
  search: boolean,
): Promise<Refusal | undefined> {
  const ask = parts.confirm.fetch;
  // No question about what the policy refuses: the tool refuses it.
  if (!search && ask !== "always" && (await judgeUrl(url, parts.urlRules)).kind === "deny") return undefined;
  const secret = outgoingSecret(url, parts.privacy.values());
  const host = URL.parse(url)?.hostname ?? "";
  const known =
    search || isListedHost(url, parts.urlRules.allow) || parts.prompts.some((prompt) => namesHost(prompt, url));
  if (secret === undefined && (ask === "never" || (ask === "new-domain" && known))) return undefined;
  const action = `fetch ${url}`;
  const decision = await decide(parts, call, undefined, {
    action,
    risk: secret === undefined ? "low" : "high",
    policy:
      secret === undefined
        ? known
          ? "fetch_confirm is on"
          : `${host} is new in this session`
        : `it sends ${secret} to another host`,
    // “always” remembers the host; a URL with a secret in it needs approval every time.
    ...(secret === undefined && ask === "new-domain" ? { prefixes: [{ words: ["fetch", host], open: true }] } : {}),
  });
  return decision.kind === "approved" ? undefined : refused(decision, action);
}

// Around a permitted change: files are kept before, a revert is armed.

export interface AroundChange {
  (call: PermittedCall, run: () => Promise<ToolResult>): Promise<ToolResult>;
}

export function runPermitted(
  parts: PermitParts & { readonly around?: AroundChange | undefined },
  call: PermitCall,
  permission: Permission & { readonly kind: "run" },
  run: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const { intent } = call;
  const changes = intent.kind === "write" || intent.kind === "shell" || intent.kind === "keys";
  if (parts.around === undefined || !changes || permission.unasked !== undefined) return run();
  return parts.around(
    {
      call: call.call,
      tool: call.tool.name,
      intent,
      permission,
      context: call.context,
      target: () => parts.target(),
      askAgain: (why) => askAgain(parts, call, why),
      askToKeep: (until, why) => askToKeep(parts, call, permission.shown ?? intent.title, until, why),
    },
    run,
  );
}

async function askToKeep(
  parts: PermitParts,
  call: PermitCall,
  action: string,
  until: number,
  why: string,
): Promise<boolean> {
  const late = AbortSignal.timeout(Math.max(0, until - Date.now()));
  const signal = AbortSignal.any([call.context.signal, late]);
  const timed = { ...call, context: { ...call.context, signal } };
  const decision = await decide(parts, timed, await parts.target(), {
    action,
    keep: { until },
    risk: "high",
    mutation: true,
    policy: why,
    answer: "in-person",
  });
  return decision.kind === "approved";
}

async function askAgain(parts: PermitParts, call: PermitCall, why: string): Promise<ToolResult | undefined> {
  // The operator wants no questions: it runs, and the result says what could not be done.
  if (!parts.confirm.shell) return undefined;
  const action = call.intent.kind === "write" ? `write ${call.intent.path.replaceAll("\n", "\\n")}` : call.intent.title;
  const question = { action, risk: "high", mutation: true, policy: why } as const;
  const decision = await decide(parts, call, await parts.target(), question);
  return decision.kind === "approved" ? undefined : refused(decision, action).result;
}
