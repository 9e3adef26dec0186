/** Asks the operator through the broker (what, where the shell is now, how risky), and reports question and answer. */
import { defined } from "../../lib/values.ts";
import {
  type ApprovalRequest,
  approvalRequest,
  type Decision,
  type RequestPlace,
  type Stated,
} from "../../policy/approvals.ts";
import { NO_MACHINE, type Subject } from "../../policy/subject.ts";
import type { Shell, ShellPlace, Target } from "../../targets/target.ts";
import type { Declared } from "../../tools/tool.ts";
import type { ApprovalAnsweredEvent, ApprovalAskedEvent, Risk } from "../events.ts";
import type { PermitCall, PermitParts } from "./permission.ts";
import type { EffectiveRules } from "../../policy/machine-rules.ts";
import type { Privacy } from "../../policy/privacy/privacy.ts";
import type { Verdict } from "../../policy/verdict.ts";
import { boundDiff } from "../../tools/bound-output.ts";

export async function decide(
  parts: PermitParts,
  call: PermitCall,
  /** Undefined: it happens on this machine, whatever the target is. */
  at: AskedShell | Target | undefined,
  question: Question,
): Promise<Decision> {
  const place = at === undefined || at instanceof AskedShell ? at : new AskedShell(at, at.shell);
  const identity = place?.target.identity;
  const rules = place === undefined ? undefined : await parts.rules(place.target);
  const asked = approvalRequest({
    call: call.call,
    tool: call.tool.name,
    where: identity === undefined ? "this machine" : `${identity.user}@${identity.host}`,
    subject: place?.subject ?? NO_MACHINE,
    ...defined({ label: rules?.label, approveMaxMs: rules?.approveMaxMs }),
    ...question,
    ...(call.operator === true ? { understated: false, why: "" } : {}),
    ...(question.answer === "typed" ? typedName(parts, place?.target, rules) : {}),
  });
  const look = place && (() => place.look());
  const publish = (request: ApprovalRequest) => call.publish(askedEvent(request));
  const decision = await parts.approvals.decide(asked, call.context.signal, publish, look);
  call.answered?.({ ...asked, subject: place?.subject ?? NO_MACHINE }, decision);
  call.publish(answeredEvent(asked, decision));
  return decision;
}

type Question = Pick<ApprovalRequest, "action" | "risk" | "policy"> &
  Partial<Omit<ApprovalRequest, "id" | "call" | "tool" | "where" | "subject" | "typed" | "alsoTyped">>;

function typedName(
  parts: PermitParts,
  target: Target | undefined,
  rules: EffectiveRules | undefined,
): Pick<ApprovalRequest, "typed" | "alsoTyped" | "reaches"> {
  if (rules?.named !== undefined) return { typed: rules.named, reaches: true };
  if (target === undefined) return { typed: "local" };
  const [typed = target.identity.host || target.identity.label, ...alsoTyped] = parts.called?.(target) ?? [];
  return { typed, alsoTyped };
}

export function askedEvent(request: ApprovalRequest): ApprovalAskedEvent {
  const { id, call, tool, where, action, diff, risk, mutation, privesc, why, policy, understated, machines } = request;
  return {
    type: "approval_asked",
    approval: id,
    call,
    tool,
    where,
    ...(machines === undefined ? {} : { machines: machines.map(({ name }) => name) }),
    action,
    ...(diff === undefined ? {} : { diff: boundDiff(diff) }),
    risk,
    mutation,
    privesc,
    why,
    policy,
    understated,
    ...defined({ answer: request.answer, label: request.label }),
  };
}

export function answeredEvent({ id, call, machines }: ApprovalRequest, decision: Decision): ApprovalAnsweredEvent {
  const approved = decision.kind === "approved" ? decision : undefined;
  const names = approved?.only ?? machines?.map(({ name }) => name);
  return {
    type: "approval_answered",
    approval: id,
    call,
    ...(names === undefined ? {} : { machines: approved?.canary === true ? names.slice(0, 1) : names }),
    decision: decision.kind === "denied" ? "denied" : "approved",
    by: decision.kind === "edited" ? "operator" : decision.by,
    ...(decision.kind === "denied" && decision.reason !== undefined ? { reason: decision.reason } : {}),
    ...(decision.kind === "edited" ? { edited: decision.command } : {}),
  };
}

/** The shell that a question is about: its user and directory at the moment of the question. */
export class AskedShell {
  readonly target: Target;
  readonly #shell: Shell;
  #seen: ShellPlace | undefined;
  #isAsked = false;
  #hasMoved = false;

  constructor(target: Target, shell: Shell) {
    this.target = target;
    this.#shell = shell;
  }

  /** As far as it is known. */
  get subject(): Subject {
    const { machine, user, shellName } = this.target.identity;
    const { user: seen, pane } = this.#seen ?? {};
    const where = this.target.isAdopted === true ? ` adopted ${numberOf(this.#shell)}` : pane && ` in ${pane}`;
    return { machine, user: seen || user, shell: `${shellName}${where ?? ""}` };
  }

  /** For each question anew: what is shown is compared with what was shown first, for which it was judged. */
  async look(): Promise<RequestPlace> {
    this.#isAsked = true;
    const seen = await this.#now();
    this.#hasMoved ||= this.#seen !== undefined && differ(this.#seen, seen);
    this.#seen ??= seen;
    const { cwd, pane } = seen;
    const { subject } = this;
    return {
      where: `${subject.user}@${this.target.identity.host}`,
      subject,
      cwd: cwd || "an unknown directory",
      ...defined({ pane }),
    };
  }

  /**
   * The shell is in another directory, or belongs to another user, than the question said, or did not answer in time
   * for it. Where nobody was asked, the directory that was judged is compared when it runs.
   */
  async changed(): Promise<boolean> {
    if (!this.#isAsked) return false;
    return this.#seen === undefined || this.#hasMoved || differ(this.#seen, await this.#now());
  }

  /**
   * The connection may drop while it is asked: the second attempt waits until it is back. A target that does not answer
   * now is asked again when the command is sent; until then, what is known counts.
   */
  async #now(): Promise<ShellPlace> {
    const ask = () => this.#shell.where();
    const known = () => ({ cwd: this.#shell.cwd, user: this.#seen?.user ?? "", typed: "" });
    return ask().catch(ask).catch(known);
  }
}

function differ(one: ShellPlace, other: ShellPlace): boolean {
  return one.cwd !== other.cwd || one.user !== other.user;
}

/** The one that is adopted next may be on another machine that calls itself the same. */
function numberOf(adopted: Shell): number {
  const number = adoptedShells.get(adopted) ?? ++adoptedSoFar;
  adoptedShells.set(adopted, number);
  return number;
}

const adoptedShells = new WeakMap<Shell, number>();
let adoptedSoFar = 0;

const ORDER: readonly Risk[] = ["low", "medium", "high"];

export function stricter(declared: Stated, derived: Stated): Stated {
  return {
    risk: ORDER.indexOf(declared.risk) > ORDER.indexOf(derived.risk) ? declared.risk : derived.risk,
    mutation: declared.mutation || derived.mutation,
    unsure: [declared, derived].every(({ mutation, unsure }) => !mutation || unsure === true),
    privesc: declared.privesc || derived.privesc,
  };
}

/** Only what matters for the decision: one step of risk is a matter of opinion. */
export function understates(declared: Declared, derived: Stated): boolean {
  return (
    (derived.risk === "high" && declared.risk !== "high") ||
    (derived.privesc && !declared.privesc) ||
    (derived.mutation && !declared.mutation && derived.risk !== "low" && declared.risk === "low")
  );
}

/** shell_confirm = false has no effect on a machine that limits how long approvals last. */
export function confirms(parts: PermitParts, { approveMaxMs }: EffectiveRules): boolean {
  return parts.confirm.shell || approveMaxMs !== undefined;
}

/** The use of a secret is never approved automatically, and the question names it. */
export function withSecrets(verdict: Verdict, names: readonly string[], privacy: Privacy): Verdict {
  if (names.length === 0) return verdict;
  const uses = `it uses ${names.join(", ")}`;
  if (verdict.kind === "allow") return { kind: "ask", why: uses };
  const why = privacy.maskKnown(verdict.why);
  return verdict.kind === "ask" ? { ...verdict, why: `${uses}; ${why}` } : { ...verdict, why };
}
