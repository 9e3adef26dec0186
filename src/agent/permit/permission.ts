/** What a decision on a call needs, and the decision: it runs, or the model gets a result that says why not. */
import type { ApprovalRequest, Approvals, Decision } from "../../policy/approvals.ts";
import type { EffectiveRules } from "../../policy/machine-rules.ts";
import type { OutputKind } from "../../policy/privacy/listed-secrets.ts";
import type { Privacy } from "../../policy/privacy/privacy.ts";
import type { Lockout } from "../../policy/shell/dangers/lockout.ts";
import type { ShellJudgement, Verdict } from "../../policy/verdict.ts";
import type { UrlRules } from "../../policy/web/urls.ts";
import type { ResolvedPath, SecondLock, ShellPlace, Target, Unasked } from "../../targets/target.ts";
import { boundDiff } from "../../tools/bound-output.ts";
import type { Intent, Tool, ToolContext, ToolResult } from "../../tools/tool.ts";
import type { AgentEventBody, ProposedChange } from "../events.ts";

export interface PermitParts {
  readonly approvals: Pick<Approvals, "decide"> & Partial<Pick<Approvals, "following" | "withdraw">>;
  /** Why this machine is asked about although it needs no approval: another one of the call does. */
  readonly atLeastAsk?: string;
  target(): Promise<Target>;
  /** A read-only runbook runs: what happens outside any machine must not change anything either. */
  readonly readOnly?: boolean;
  /** The rules of the machine; looked up once it is open, when all its names are known. */
  rules(target: Target): Promise<EffectiveRules>;
  /** The operator's names for the machine, the one to show first; its host name if it has no other. */
  called?(target: Target): readonly string[];
  /** The rules of the machines that a command names: by a name, a group, a pattern. */
  rulesNamed?(name: string): Promise<EffectiveRules>;
  /** The rules of the machine that buddy itself runs on. */
  rulesHere?(): Promise<EffectiveRules>;
  /** Relative names are resolved from `cwd`, the shell's directory. */
  judgeShell(command: string, cwd: string, rules: EffectiveRules): Promise<ShellJudgement>;
  /** `asked` is the path before it was resolved; `sudo`: it would be written as root. */
  judgeWrite(path: ResolvedPath, asked: string, sudo: boolean): Promise<Verdict>;
  /** shell_confirm and fetch_confirm. */
  readonly confirm: { readonly shell: boolean; readonly fetch: "always" | "new-domain" | "never" };
  readonly privacy: Privacy;
  /** [privacy] mask_output. */
  readonly maskOutput: readonly string[];
  /** fetch_allowed_domains and fetch_blocked_domains. */
  readonly urlRules: UrlRules;
  /** What the operator wrote in prompts of this session. */
  readonly prompts: readonly string[];
  readonly shellRoots: readonly string[];
  /** [safety] read_only_namespace. */
  readonly secondLock: SecondLock;
  readonly dryRun: boolean;
  /** For commands that can lock the operator out; undefined: such a command runs without a revert. */
  readonly planRevert?: PlanRevert | undefined;
}

/** Knows how a command that can lock the operator out is reverted; `problem` is for the model. */
export type PlanRevert = (
  lockouts: readonly Lockout[],
  command: { readonly text: string; readonly revert?: string | undefined },
  target: Target,
) => Promise<RevertPlan | { readonly problem: string }>;

/** What runs on the target after a while unless the operator keeps the change. */
export interface RevertPlan {
  /** Added to the end of the question. */
  readonly says: string;
  /** The part of `back` that the model wrote: shown like the command, because it would run. */
  readonly own?: string;
  readonly save: string;
  readonly back: string;
  readonly seconds: number;
  /** False: it restores only files of the user. */
  readonly asRoot: boolean;
}

export interface PermitCall {
  readonly tool: Tool;
  readonly input: unknown;
  readonly intent: Intent;
  readonly call: string;
  /** Made by the operator: no model declared anything. */
  readonly operator?: boolean;
  readonly context: ToolContext;
  /** Names of secrets in the arguments: the question shows them, and such a call is never approved automatically. */
  readonly secrets: readonly string[];
  /** The arguments with the secrets themselves instead of their names. */
  reveal(input: unknown): unknown;
  /** Called before the tool reads a file: what is in the file decides how its text is masked. */
  expect(output: OutputKind): void;
  publish(body: AgentEventBody): void;
  /** A question about it was settled. */
  answered?(request: ApprovalRequest, decision: Decision): void;
}

export type Permission =
  | {
      readonly kind: "run";
      readonly input: unknown;
      /** For the model: that the operator changed the command, for example. */
      readonly note?: string;
      /** Where a write was permitted. */
      readonly path?: string;
      /** What a write changes. */
      readonly diff?: string;
      /** No question was asked, because the policy proved that the text only reads. */
      readonly unasked?: Unasked;
      /** The directory it was approved for. */
      readonly onlyIn?: string;
      /** What keys were approved for. */
      readonly onlyWhere?: ShellPlace;
      /** Armed before it runs; takes effect unless the change is kept. */
      readonly revert?: RevertPlan;
      /** What it will print. */
      readonly output?: OutputKind;
      /** The command with names instead of secrets, where `input` has the secrets themselves. */
      readonly shown?: string;
    }
  | Refusal;

export interface Refusal {
  readonly kind: "result";
  readonly result: ToolResult;
  /** What was refused because there was no terminal to ask on. */
  readonly unapproved?: string;
  /** And that no mode would have approved. */
  readonly onlyByPerson?: true;
  /** What was not done because the machine is read-only. */
  readonly proposed?: ProposedChange;
}

/** A call that may change something, about to run. */
export interface PermittedCall {
  readonly call: string;
  readonly tool: string;
  readonly intent: Intent;
  readonly permission: Permission & { readonly kind: "run" };
  readonly context: ToolContext;
  target(): Promise<Target>;
  /** Asks once more, about something that was not known at the first question; undefined: go ahead. */
  askAgain(why: string): Promise<ToolResult | undefined>;
  /** Asks whether to keep a change that is reverted at `until`; false also without an answer in time. */
  askToKeep(until: number, why: string): Promise<boolean>;
}

export function denied(result: string, display = result, outcome = "denied"): Refusal {
  return { kind: "result", result: { ok: false, outcome, result, display } };
}

export function refused(decision: Decision, action: string): Refusal {
  if (decision.kind !== "denied") throw new Error("only a denial is refused");
  const { by, reason, onlyByPerson } = decision;
  switch (by) {
    case "operator":
      return reason === undefined
        ? denied(
            "The operator refused this. Do not try it again in another form; ask what they want instead.",
            "denied",
          )
        : denied(`The operator refused this: ${reason}`, `denied: ${reason}`);
    case "mode":
      return denied(
        "Refused: approvals are set to none, so nothing that needs one can run. Continue with read-only work, or answer with what you have.",
        "denied: approvals are set to none",
      );
    case "no-terminal":
      return {
        ...denied(
          "Refused: this needs an approval, and there is no terminal to ask on. Do not retry it; answer with what you have and say what you would have done.",
          "approval required, but there is no terminal to ask on",
        ),
        unapproved: action,
        ...(onlyByPerson === undefined ? {} : { onlyByPerson }),
      };
    case "timeout":
      return denied("operation stopped: the task ran out of time", "out of time", "timeout");
    case "cancelled":
      return denied("operation cancelled by user", "stopped", "cancelled");
  }
}

export function refusedByPolicy({ why, instead, brief }: Verdict & { kind: "deny" }): Refusal {
  const advice = instead === undefined ? "" : ` ${asSentence(instead)}`;
  return denied(`Not allowed: ${why.replace(/\.$/, "")}.${advice}`, `blocked: ${brief ?? why}`);
}

function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

export function dryRun(what: string, verdict: Verdict | undefined, diff?: string): Refusal {
  const lines = [`[dry run] ${what}`];
  if (verdict !== undefined) lines.push(`policy: ${verdict.kind} (${verdict.why})`);
  if (diff) lines.push(boundDiff(diff));
  return { kind: "result", result: { ok: true, outcome: "dry-run", result: lines.join("\n") } };
}
