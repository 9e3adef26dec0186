/** What it takes to decide on a call, and the decision: it runs, or the model gets a result that says why not. */
import type { ApprovalRequest, Approvals, Decision } from "../../policy/approvals.ts";
import type { EffectiveRules } from "../../policy/machine-rules.ts";
import type { OutputKind } from "../../policy/privacy/output-kind.ts";
import type { Privacy } from "../../policy/privacy/privacy.ts";
import type { UrlRules } from "../../policy/web/urls.ts";
import type { Lockout } from "../../policy/shell/dangers/lockout.ts";
import type { ShellJudgement, Verdict } from "../../policy/verdict.ts";
import type { ResolvedPath, SecondLock, ShellPlace, Target, Unasked } from "../../targets/target.ts";
import type { Intent, Tool, ToolContext, ToolResult } from "../../tools/tool.ts";
import type { AgentEventBody, ProposedChange } from "../events.ts";
import { boundDiff } from "../../tools/bound-output.ts";

export interface PermitParts {
  readonly approvals: Pick<Approvals, "decide"> & Partial<Pick<Approvals, "following">>;
  /** Another machine of the set has to be asked about, so this one is too: why. */
  readonly atLeastAsk?: string;
  target(): Promise<Target>;
  /** A read-only runbook runs: also what happens on no machine changes nothing. */
  readonly readOnly?: boolean;
  /** What holds on the machine: asked once it is open, so that all its names are known. */
  rules(target: Target): Promise<EffectiveRules>;
  /** What the operator may call the machine, as it is shown first; its host name, where nothing else is known. */
  called?(target: Target): readonly string[];
  /** What holds on machines that are known by name alone. */
  rulesNamed?(names: readonly string[]): EffectiveRules;
  /** What holds on the machine that buddy itself runs on. */
  rulesHere?(): Promise<EffectiveRules>;
  /** `cwd`: where the shell is; relative names count from it. */
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
  /** [safety] second_lock. */
  readonly secondLock: SecondLock;
  readonly dryRun: boolean;
  /** For commands that can lock the operator out; undefined: they run without a revert. */
  readonly planRevert?: PlanRevert | undefined;
}

/** Knows how a command that can lock the operator out is reverted; `problem` is for the model. */
export type PlanRevert = (
  lockouts: readonly Lockout[],
  command: { readonly text: string; readonly revert?: string | undefined },
  target: Target,
) => Promise<RevertPlan | { readonly problem: string }>;

/** What waits on the target, to be run unless the operator keeps the change. */
export interface RevertPlan {
  /** Ends the question. */
  readonly says: string;
  /** The model's own part of `back`: it would run, so it is shown like the command. */
  readonly own?: string;
  readonly save: string;
  readonly back: string;
  readonly seconds: number;
  /** False where the files of the user alone are put back. */
  readonly asRoot: boolean;
}

export interface PermitCall {
  readonly tool: Tool;
  readonly input: unknown;
  readonly intent: Intent;
  readonly call: string;
  /** The operator's own: no model declared anything. */
  readonly operator?: boolean;
  readonly context: ToolContext;
  /** Names of secrets in the arguments: they are shown, and nothing approves such a call by itself. */
  readonly secrets: readonly string[];
  /** The arguments with values instead of names. */
  reveal(input: unknown): unknown;
  /** Before the tool looks at a file: what is in it decides how its text is masked. */
  expect(output: OutputKind): void;
  publish(body: AgentEventBody): void;
  /** A question about it was settled. */
  answered?(request: ApprovalRequest, decision: Decision): void;
}

export type Permission =
  /** `note` is for the model: the operator changed the command, for example; `path` is where a write was permitted. */
  | {
      readonly kind: "run";
      readonly input: unknown;
      readonly note?: string;
      readonly path?: string;
      /** What a write changes. */
      readonly diff?: string;
      /** No question was asked, because the policy proved that the text only reads. */
      readonly unasked?: Unasked;
      /** The directory it was approved for. */
      readonly onlyIn?: string;
      /** What keys were approved for. */
      readonly onlyWhere?: ShellPlace;
      /** Armed before it runs, and fired unless the change is kept. */
      readonly revert?: RevertPlan;
      /** What it will print. */
      readonly output?: OutputKind;
      /** The command with names instead of secrets, where `input` has the secrets themselves. */
      readonly shown?: string;
    }
  /**
   * `nobody` names what was refused because there was no terminal to ask on, `proposed` what was not done because the
   * machine is read-only.
   */
  | {
      readonly kind: "result";
      readonly result: ToolResult;
      readonly nobody?: string;
      readonly proposed?: ProposedChange;
    };

/** A call that may change something, about to run. */
export interface PermittedCall {
  readonly call: string;
  readonly tool: string;
  readonly intent: Intent;
  readonly permission: Permission & { readonly kind: "run" };
  readonly context: ToolContext;
  target(): Promise<Target>;
  /** Asks once more, about something that the first question could not say; undefined: go ahead. */
  askAgain(why: string): Promise<ToolResult | undefined>;
  /** Asks whether a change stays that is reverted at `until`; false also when no one answers in time. */
  askToKeep(until: number, why: string): Promise<boolean>;
}

export function refused(decision: Decision, action: string): Permission & { kind: "result" } {
  if (decision.kind !== "denied") throw new Error("only a denial is refused");
  const result = (text: string, display: string, outcome = "denied"): ToolResult => ({
    ok: false,
    outcome,
    result: text,
    display,
  });
  switch (decision.by) {
    case "operator":
      return {
        kind: "result",
        result: result(
          decision.reason === undefined
            ? "The operator refused this. Do not try it again in another form; ask what they want instead."
            : `The operator refused this: ${decision.reason}`,
          decision.reason === undefined ? "denied" : `denied: ${decision.reason}`,
        ),
      };
    case "mode":
      return {
        kind: "result",
        result: result(
          "Refused: approvals are set to none, so nothing that needs one can run. Continue with read-only work, or answer with what you have.",
          "denied: approvals are set to none",
        ),
      };
    case "nobody":
      return {
        kind: "result",
        nobody: action,
        result: result(
          "Refused: this needs an approval, and there is no terminal to ask on. Do not retry it; answer with what you have and say what you would have done.",
          "approval required, but there is no terminal to ask on",
        ),
      };
    case "timeout":
      return {
        kind: "result",
        result: result("operation stopped: the task ran out of time", "out of time", "timeout"),
      };
    case "cancelled":
      return { kind: "result", result: result("operation cancelled by user", "stopped", "cancelled") };
  }
}

export function refusedByPolicy(verdict: Verdict & { kind: "deny" }): Permission {
  const instead = verdict.instead === undefined ? "" : ` ${asSentence(verdict.instead)}`;
  const why = `Not allowed: ${verdict.why.replace(/\.$/, "")}.`;
  const display = `blocked: ${verdict.brief ?? verdict.why}`;
  return { kind: "result", result: { ok: false, outcome: "denied", result: why + instead, display } };
}

function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

export function dryRun(what: string, verdict: Verdict | undefined, diff?: string): Permission {
  const lines = [`[dry run] ${what}`];
  if (verdict !== undefined) lines.push(`policy: ${verdict.kind} (${verdict.why})`);
  if (diff) lines.push(boundDiff(diff));
  return { kind: "result", result: { ok: true, outcome: "dry-run", result: lines.join("\n") } };
}

export function refusedWith(problem: string): Permission {
  return { kind: "result", result: { ok: false, outcome: "denied", result: problem, display: problem } };
}
