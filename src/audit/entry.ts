/** One line of the record: a decision, its effect, or a note about the record itself. */
export type AuditEntry = DecisionEntry | EffectEntry | NoteEntry;

/** Who, where and what: the same for a decision and its effect. */
interface AboutEntry {
  /** Id of buddy's session. */
  readonly session: string;
  /** Who runs buddy, on the machine buddy runs on; and who logged in there, if that is another user. */
  readonly user: string;
  readonly login_user?: string;
  /** "local", "ssh deploy@web1", "container api". */
  readonly target: string;
  /** Its name in the configuration, then those of its groups. */
  readonly names?: readonly string[];
  /** From the rules of the machine: PROD. */
  readonly label?: string;
  /** User, host name and machine-id that the machine reports. */
  readonly target_user?: string;
  readonly host?: string;
  readonly machine?: string;
  /** The tool; `you` for a command that the operator typed. */
  readonly tool: string;
  readonly call: string;
  /** The command, or what is done: "write /etc/hosts". */
  readonly action: string;
  readonly cwd?: string;
}

export interface DecisionEntry extends AboutEntry {
  readonly kind: "decision";
  /** What the policy says about it. */
  readonly verdict: "allow" | "ask" | "block";
  readonly decision: "approved" | "denied";
  readonly by: DecidedBy;
  /** The policy's reason, and the operator's. */
  readonly why?: string;
  readonly reason?: string;
  readonly risk?: "low" | "medium" | "high";
  /** The command as the model proposed it, where the operator changed it. */
  readonly proposed?: string;
  /** For a file change: the digest of the diff that was shown, and its size in lines. */
  readonly diff_sha256?: string;
  readonly added?: number;
  readonly removed?: number;
}

/**
 * `unasked`: proven read-only. `rule`: the configuration allows it. `operator`: a yes or no; `always`: a yes that
 * also covers similar commands; `prefix`: covered by such a yes. `mode`: --approve. `policy`: blocked. `hook`: a hook
 * denied it. `no-terminal`: no terminal to ask on.
 */
export type DecidedBy =
  | "unasked"
  | "rule"
  | "operator"
  | "always"
  | "prefix"
  | "mode"
  | "policy"
  | "hook"
  | "dry-run"
  | "timeout"
  | "cancelled"
  | "no-terminal";

export interface EffectEntry extends AboutEntry {
  readonly kind: "effect";
  /** exited, running, written, failed, … */
  readonly outcome: string;
  readonly exit_code?: number;
  readonly ms: number;
}

/** About the record itself. */
export interface NoteEntry {
  readonly kind: "note";
  /**
   * `repaired`: half a line that a write left was removed. `head-missing`: the number of the last line was unknown, so
   * lines may have been removed before this one.
   */
  readonly note: "repaired" | "head-missing";
  readonly detail: string;
}

/** A stored line: numbered, with the hash of the line before. */
export type StoredEntry = AuditEntry & {
  readonly v: 1;
  readonly seq: number;
  /** ISO 8601 with milliseconds, UTC. */
  readonly ts: string;
  readonly prev: string;
};
