/** What the policy says about an action, and what it needs to know. Knows no tool, model, target or configuration. */
import type { Lockout } from "./shell/dangers/lockout.ts";

export type Verdict =
  | { readonly kind: "allow"; readonly why: string }
  | { readonly kind: "ask"; readonly why: string; readonly answer?: RequiredAnswer }
  /** `instead` is for the model; `brief` is why for people, where that differs. */
  | { readonly kind: "deny"; readonly why: string; readonly instead?: string; readonly brief?: string };

/**
 * A question that only a person answers: no approval mode, duration or remembered prefix covers it.
 * `typed`: the person must type the name of the machine.
 */
export type RequiredAnswer = "in-person" | "typed";

/** The stricter of two. */
export function requiredAnswer(
  a: RequiredAnswer | undefined,
  b: RequiredAnswer | undefined,
): RequiredAnswer | undefined {
  return a === "typed" || b === "typed" ? "typed" : (a ?? b);
}

export type Level = "block" | "ask" | "off";

/** The settings the shell judge needs; names as in [tools] and [safety]. */
export interface ShellRules {
  readonly autoApprove: "none" | "read-only" | "operator" | "developer";
  /** Hosts that the operator preset may ask over HTTP: fetch_allowed_domains. */
  readonly hosts?: readonly string[];
  readonly allow: readonly string[];
  readonly denylist: readonly string[];
  readonly safety: {
    readonly gitAdd: Level;
    readonly forcePush: Level;
    readonly dangerousRm: Level;
    readonly disk: Level;
    readonly forkBomb: Level;
    /** `guard`: as `ask`, and what it changes is reverted unless the operator keeps it. */
    readonly lockout: Level | "guard";
    readonly data: Level;
  };
}

/**
 * What an allowed text still depends on: to be checked on the target before it runs unasked. `git-config`: the
 * repository's own configuration names no program, in each of these directories.
 */
export interface Condition {
  readonly kind: "git-config";
  /** As the command would see it: absolute, below `~`, or relative to the directory of the shell. */
  readonly directory: string;
  /** The text enters it with `cd`: where that fails, git would look at another directory. */
  readonly entered?: true;
}

/** A judged command: the verdict, and what the parser found out about it. */
export interface ShellJudgement {
  readonly verdict: Verdict;
  readonly readOnly: boolean;
  /** Derived from the text; compared with what the model declared. */
  readonly risk: "low" | "medium" | "high";
  readonly mutation: boolean;
  readonly privesc: boolean;
  /** Every command the text would run, words dequoted as far as known. */
  readonly commands: readonly JudgedCommand[];
  /** Why parts could not be known; non-empty is never auto-approved. */
  readonly uncertain: readonly string[];
  /** The checks of [safety] that found something, whatever their level, each once. */
  readonly dangers: readonly (keyof ShellRules["safety"])[];
  /** What of it could lock the operator out. */
  readonly lockouts: readonly Lockout[];
  /** An `allow` holds only where all of these do; otherwise the operator is asked. */
  readonly conditions: readonly Condition[];
}

export interface JudgedCommand {
  readonly words: readonly string[];
  readonly verdict: Verdict["kind"];
  readonly why: string;
  readonly readOnly: boolean;
  /** A row of this preset covers it: it uses the operator's credentials, or another machine. */
  readonly preset?: "operator";
}
