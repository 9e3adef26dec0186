/** One line of the record: a decision, its effect, or a note about the record itself. */
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { makePrivate } from "../lib/files.ts";
import { type LineSigner, splitLine } from "../lib/line-signer.ts";
import { jsonObject } from "../lib/values.ts";

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
 * `auto`: proven read-only (`unasked` in older files). `rule`: the configuration allows it. `operator`: a yes or no;
 * `always`: a yes that also covers similar commands; `prefix`: covered by such a yes. `mode`: --approve. `policy`:
 * blocked. `hook`: a hook denied it. `no-terminal`: no terminal to ask on.
 */
export type DecidedBy =
  | "auto"
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
interface NoteEntry {
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

// ── The chain: each line has its number, the hash of the line before and a MAC; a small file, the head, has the
// number and hash of the last line, so that lines missing at the end are found, too.

/** Number and hash of a line. */
export interface Link {
  readonly seq: number;
  readonly hash: string;
}

/** Before the first line. */
export const START: Link = { seq: 0, hash: "0".repeat(64) };

/** The next line, without its newline. `redact` removes secrets from the stored text. */
export function chainLine(
  entry: AuditEntry,
  before: Link,
  signer: LineSigner,
  redact: (text: string) => string,
  now: Date,
): string {
  const stored = { v: 1, seq: before.seq + 1, ts: now.toISOString(), ...entry };
  // The hash is added after `redact`, which would take it for a key.
  const text = redact(JSON.stringify(stored));
  return signer.sign(`${text.slice(0, -1)},"prev":"${before.hash}"}`);
}

interface ReadLine {
  readonly entry: StoredEntry;
  /** Its MAC is valid: the line is unchanged. */
  readonly signed: boolean;
}

/** Undefined if `line` is not a line of the record. */
export function readLine(line: string, signer: LineSigner | undefined): ReadLine | undefined {
  const split = splitLine(line);
  const value = jsonObject(split.json);
  if (!Number.isSafeInteger(value?.seq) || typeof value?.prev !== "string") return undefined;
  if (typeof value.ts !== "string" || typeof value.kind !== "string") return undefined;
  const entry = value.by === "unasked" ? { ...value, by: "auto" } : value;
  return { entry: entry as unknown as StoredEntry, signed: signer?.verify(split) === true };
}

export type Head = Link | "missing" | "damaged";

export function readHead(path: string, signer: LineSigner | undefined): Head {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "missing";
    throw error;
  }
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const text = bytes
      .subarray(0, readSync(file, bytes, 0, HEAD_BYTES, 0))
      .toString()
      .trim();
    const split = splitLine(text);
    const value = signer?.verify(split) === true ? jsonObject(split.json) : undefined;
    if (typeof value?.seq !== "number" || typeof value.hash !== "string") return "damaged";
    return { seq: value.seq, hash: value.hash };
  } finally {
    closeSync(file);
  }
}

/** Overwrites in place with the same size: this works on a full disk, too. */
export function writeHead(path: string, { seq, hash }: Link, signer: LineSigner): void {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
  const file = openSync(path, flags, 0o600);
  try {
    makePrivate(file);
    const text = signer.sign(JSON.stringify({ seq, hash })).padEnd(HEAD_BYTES - 1);
    if (writeSync(file, `${text}\n`, 0) !== HEAD_BYTES) throw new Error("no space left on the device");
  } finally {
    closeSync(file);
  }
}

const HEAD_BYTES = 256;
