/** Runs a call that was permitted, with what is done before and after a change: files are kept, a revert is armed. */
import type { ToolResult } from "../tools/tool.ts";
import { decide } from "./ask-operator.ts";
import { type Permission, type PermitCall, type PermitParts, type PermittedCall, refused } from "./permission.ts";

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
    ...highRisk(why),
    answer: "in-person",
  });
  return decision.kind === "approved";
}

async function askAgain(parts: PermitParts, call: PermitCall, why: string): Promise<ToolResult | undefined> {
  // The operator wants no questions: it happens, and the result says what could not be done.
  if (!parts.confirm.shell) return undefined;
  const action = call.intent.kind === "write" ? `write ${call.intent.path}` : call.intent.title;
  const decision = await decide(parts, call, await parts.target(), {
    action,
    ...highRisk(why),
  });
  return decision.kind === "approved" ? undefined : refused(decision, action).result;
}

/** A question of buddy's own about a change that the model has declared before. */
function highRisk(policy: string) {
  return {
    risk: "high",
    mutation: true,
    privesc: false,
    why: "",
    policy,
    understated: false,
    editable: false,
  } as const;
}
