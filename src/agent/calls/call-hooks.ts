/** Hooks that may object to a call before it is judged: they can deny it or add a question, and approve nothing. */
import type { Approvals, ApprovalRequest } from "../../policy/approvals.ts";
import type { Target } from "../../targets/target.ts";
import { decide } from "../permit/ask-operator.ts";
import { type CallRecord, isOnTarget } from "./call-record.ts";
import { denied, type Permission, type PermitCall, type PermitParts, refused } from "../permit/permission.ts";
import { permit } from "../permit/permit.ts";

export interface CallHooks {
  /** Undefined: no hook objects. */
  before(call: HookedCall, signal: AbortSignal): Promise<Objection | undefined>;
}

export interface HookedCall {
  readonly tool: string;
  readonly call: string;
  readonly title: string;
  readonly input: unknown;
  /** The machine it would happen on; undefined: this machine, whatever the target is. */
  readonly target: Target | undefined;
}

export type Objection = { readonly kind: "deny" | "ask"; readonly reason: string };

/** Hooks see a call before it is judged, and once more if the operator edits its command. */
export async function permitWithHooks(
  hooks: CallHooks,
  parts: PermitParts,
  call: PermitCall,
  record: CallRecord,
): Promise<Permission> {
  const objectionTo = async (input: unknown): Promise<Objection | undefined> => {
    const target = isOnTarget(call.intent) ? await parts.target() : undefined;
    const about = { tool: call.tool.name, call: call.call, title: call.intent.title, input, target };
    const objection = await hooks.before(about, call.context.signal);
    call.context.signal.throwIfAborted();
    if (objection?.kind === "deny") await record.deniedByHook(objection.reason);
    return objection;
  };
  const objection = await objectionTo(call.input);
  if (objection?.kind === "deny") return refusedByHook(objection.reason);
  const question = objection?.reason;
  const approvals = question === undefined ? undefined : asking(parts.approvals, question);
  let permission = await permit(approvals === undefined ? parts : { ...parts, approvals }, call);
  if (permission.kind === "run" && question !== undefined && approvals?.asked === false)
    permission = await askForHook(parts, call, question, permission);
  const { edited } = record;
  if (permission.kind !== "run" || edited === undefined) return permission;
  // The operator typed the command, so a hook's question is not asked about it; a denial still counts.
  const again = await objectionTo({ ...(call.input as object), command: edited });
  return again?.kind === "deny" ? refusedByHook(again.reason) : permission;
}

/** Adds the hook's question to each question; then only a person can answer it. */
function asking(
  approvals: Pick<Approvals, "decide">,
  question: string,
): Pick<Approvals, "decide"> & { readonly asked: boolean } {
  let asked = false;
  return {
    get asked() {
      return asked;
    },
    decide: (request, ...rest) => {
      asked = true;
      return approvals.decide(withQuestion(request, question), ...rest);
    },
  };
}

function withQuestion(request: ApprovalRequest, question: string): ApprovalRequest {
  const policy = request.policy === "" ? question : `${question}; ${request.policy}`;
  return { ...request, policy, answer: request.answer ?? "in-person" };
}

function refusedByHook(reason: string): Permission {
  return denied(
    `Not allowed: ${reason}. Do not try it again in another form; tell the operator what the hook says.`,
    `Not allowed: ${reason}`,
  );
}

/** For a call that would run without any question. */
async function askForHook(
  parts: PermitParts,
  call: PermitCall,
  question: string,
  permission: Permission,
): Promise<Permission> {
  const { intent } = call;
  const declared = "declared" in intent ? intent.declared : { risk: "low" as const, mutation: intent.kind === "write" };
  const action = intent.kind === "shell" ? intent.command : intent.title;
  const decision = await decide(parts, call, isOnTarget(intent) ? await parts.target() : undefined, {
    ...declared,
    action,
    policy: question,
    answer: "in-person",
  });
  return decision.kind === "approved" ? permission : refused(decision, action);
}
