/** The policy's verdict on an action, and the rules it depends on. */
import type { Effect } from "./effects/effects.ts";
import type { Lockout } from "./shell/dangers/lockout.ts";

export type Verdict =
  | { readonly kind: "allow"; readonly why: string }
  | { readonly kind: "ask"; readonly why: string; readonly answer?: RequiredAnswer }
  /** `instead` is for the model; `brief` is `why` for people, if that differs. */
  | { readonly kind: "deny"; readonly why: string; readonly instead?: string; readonly brief?: string };

/**
 * Only a person may answer: no approval mode, duration or remembered prefix covers it. `typed`: the person must type
 * the name of the machine.
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

/** The settings for judging commands; names as in [tools] and [safety]. */
export interface ShellRules {
  readonly autoApprove: "none" | "read-only" | "operator" | "developer";
  /** Hosts that the operator preset may read from over HTTP: fetch_allowed_domains. */
  readonly hosts?: readonly string[];
  readonly allow: readonly string[];
  readonly denylist: readonly string[];
  readonly safety: {
    readonly gitAdd: Level;
    readonly forcePush: Level;
    readonly dangerousRm: Level;
    readonly disk: Level;
    readonly forkBomb: Level;
    /** `guard`: as `ask`, and the change is reverted unless the operator keeps it. */
    readonly lockout: Level | "guard";
    readonly data: Level;
  };
}

/**
 * To be checked on the target before an allowed text runs unasked. `git-config`: the configuration of the repository in
 * this directory names no program.
 */
export interface Condition {
  readonly kind: "git-config";
  /** Absolute, below `~`, or relative to the directory of the shell. */
  readonly directory: string;
  /** The text enters it with `cd`: if that fails, git reads another directory. */
  readonly entered?: true;
  /** The shell stays there, and a prompt that shows the state of the repository would run what that names. */
  readonly stays?: true;
}

/** The verdict on a text, and what was found in it. */
export interface ShellJudgement {
  readonly verdict: Verdict;
  readonly readOnly: boolean;
  /** Derived from the text; compared with what the model declared. */
  readonly risk: "low" | "medium" | "high";
  readonly mutation: boolean;
  /** Nothing is known to be changed; a change just cannot be ruled out. */
  readonly unsure?: boolean;
  readonly privesc: boolean;
  /** Every command the text would run, words dequoted as far as they are known. */
  readonly commands: readonly JudgedCommand[];
  /** Why parts are unknown; if there are any, the text is never auto-approved. */
  readonly uncertain: readonly string[];
  /** The [safety] checks that found something, at any level, each once. */
  readonly dangers: readonly (keyof ShellRules["safety"])[];
  /** Parts that could lock the operator out. */
  readonly lockouts: readonly Lockout[];
  /** Parts of it may run on after it has ended. */
  readonly outlives: boolean;
  /** An `allow` requires all of these; otherwise the operator is asked. */
  readonly conditions: readonly Condition[];
}

/** What a command does to a file or a machine, as written; `*` stands for a machine that the text does not show. */
export interface NamedEffect {
  readonly does: Effect["does"];
  readonly what: string;
}

export interface JudgedCommand {
  readonly words: readonly string[];
  readonly effects?: readonly NamedEffect[];
  readonly verdict: Verdict["kind"];
  readonly why: string;
  readonly readOnly: boolean;
  /** Allowed by this preset: it uses the operator's credentials, or another machine. */
  readonly preset?: "operator";
}
