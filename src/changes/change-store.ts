/**
 * Files as they were before buddy changed them, in a directory of the session: contents by their digest, and a journal
 * with a line before each change and one after it. The first line is on disk before the change begins.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { closeSync, fsyncSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { BuddyError } from "../lib/errors.ts";
import {
  appendWhole,
  createKey,
  endsInsideLine,
  fileError,
  openForLines,
  readKey,
  writeFileAtomic,
} from "../lib/files.ts";
import { decodeText, decodeUtf16 } from "../lib/text-encoding.ts";
import { octal } from "../lib/text.ts";
import { jsonObject, sha256 } from "../lib/values.ts";

/** A file as a target reads and writes it. */
export type GivenState =
  | Exclude<KeptState, { readonly kind: "file" }>
  | (Omit<Extract<KeptState, { readonly kind: "file" }>, "digest" | "size"> & { readonly bytes: Uint8Array });

type NewChange = Omit<Change, "number" | "time" | "before" | "after">;

export const JOURNAL = "journal.jsonl";

export class ChangeStore {
  readonly #options: ChangeStoreOptions;
  #loaded: { readonly directory: string; readonly changes: Map<number, Change> } | undefined;

  constructor(options: ChangeStoreOptions) {
    this.#options = options;
  }

  /** Oldest first, without those that changed nothing. */
  list(): readonly Change[] {
    return [...this.#changes().values()].filter((change) => !changedNothing(change));
  }

  get(number: number): Change | undefined {
    return this.list().find((change) => change.number === number);
  }

  /** To be called before files are changed; throws when any of them cannot be stored. */
  keep(change: Omit<NewChange, "path">, files: readonly { path: string; state: GivenState }[]): readonly Change[] {
    const changes = this.#changes();
    const { directory } = this.#loaded!;
    try {
      this.#options.prepare(directory);
      const time = new Date().toISOString();
      const first = Math.max(0, ...changes.keys()) + 1;
      const kept = files.map(({ path, state }, index): Change => {
        const before = this.#content(directory, state);
        return { number: first + index, time, ...change, path, before };
      });
      append(
        join(directory, JOURNAL),
        kept.map((one) => JSON.stringify({ v: 1, ...one })),
      );
      for (const one of kept) changes.set(one.number, one);
      return kept;
    } catch (error) {
      if (error instanceof BuddyError) throw error;
      throw new BuddyError("session", `cannot save a copy of the file in ${directory}: ${fileError(error)}`, {
        cause: error,
      });
    }
  }

  /**
   * Stores the state after a change; `content: false` leaves its content out. Returns what went wrong instead of
   * throwing: the change has been made, and undo can only show less of it.
   */
  settle(number: number, state: GivenState | UnreadState, { content = true } = {}): string | undefined {
    const change = this.#changes().get(number);
    if (change === undefined) return undefined;
    const { directory } = this.#loaded!;
    try {
      const after = state.kind === "unread" ? state : content ? this.#content(directory, state) : keptState(state);
      append(join(directory, JOURNAL), [JSON.stringify({ v: 1, number, after })]);
      this.#changes().set(number, { ...change, after });
      return undefined;
    } catch (error) {
      return error instanceof BuddyError ? error.message : fileError(error);
    }
  }

  /** Undefined when it is not stored. */
  content(state: KeptState): Uint8Array | undefined {
    if (state.kind !== "file") return new Uint8Array();
    if (state.size === 0) return new Uint8Array();
    try {
      const directory = this.#options.directory();
      const key = readKey(join(dirname(directory), "key"));
      const bytes = key && unseal(readFileSync(join(directory, state.digest)), key);
      return bytes !== undefined && sha256(bytes) === state.digest ? bytes : undefined;
    } catch {
      return undefined;
    }
  }

  /** The state with its content, to be written to a target. */
  restorable(state: KeptState): GivenState | undefined {
    if (state.kind !== "file") return state;
    const bytes = this.content(state);
    if (bytes === undefined) return undefined;
    const { digest: _digest, size: _size, ...rest } = state;
    return { ...rest, bytes };
  }

  #changes(): Map<number, Change> {
    const directory = this.#options.directory();
    if (this.#loaded?.directory !== directory) this.#loaded = { directory, changes: readJournal(directory) };
    return this.#loaded.changes;
  }

  #content(directory: string, state: GivenState): KeptState {
    const kept = keptState(state);
    if (kept.kind !== "file" || kept.size === 0) return kept;
    const path = join(directory, kept.digest);
    if (statSync(path, { throwIfNoEntry: false })?.size === kept.size + SEAL) return kept;
    const used = directorySize(directory);
    if (used + kept.size > MOST_BYTES)
      throw new BuddyError(
        "session",
        `this session already keeps ${used} bytes of changed files; the limit is ${MOST_BYTES}`,
        {
          hint: "Start a new session (/new), or remove old ones: buddy sessions rm ID",
        },
      );
    writeFileAtomic(path, seal((state as { bytes: Uint8Array }).bytes, contentKey(dirname(directory))));
    return kept;
  }
}

interface ChangeStoreOptions {
  /** Of the current session, which may change; it may not exist yet. */
  directory(): string;
  /** Creates it, readable only by its owner. */
  prepare(directory: string): void;
}

export function keptState(state: GivenState): KeptState {
  if (state.kind !== "file") return state;
  const { bytes, ...rest } = state;
  return { ...rest, digest: sha256(bytes), size: bytes.byteLength };
}

function changedNothing({ before, after }: Change): boolean {
  return after !== undefined && sameState(before, after);
}

/** A line that a crash cut off is skipped: the change it announces was not made. So is one of any other form. */
function readJournal(directory: string): Map<number, Change> {
  const changes = new Map<number, Change>();
  let text: string;
  try {
    text = readFileSync(join(directory, JOURNAL), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return changes;
    throw new BuddyError("session", `cannot read the changes in ${directory}: ${fileError(error)}`, { cause: error });
  }
  for (const line of text.split("\n")) {
    const { v, ...entry } = jsonObject(line) ?? {};
    if (v !== 1 || !Number.isSafeInteger(entry["number"])) continue;
    const known = changes.get(entry["number"] as number);
    if (known !== undefined && isState(entry["after"])) changes.set(known.number, { ...known, after: entry["after"] });
    else if (isChange(entry)) changes.set(entry.number, entry);
  }
  return changes;
}

function isChange(entry: Readonly<Record<string, unknown>>): entry is Readonly<Record<string, unknown>> & Change {
  const texts = ["time", "machine", "where", "path", "call", "tool"].every((name) => typeof entry[name] === "string");
  const { before } = entry;
  return texts && !Number.isNaN(Date.parse(String(entry["time"]))) && isState(before) && before.kind !== "unread";
}

function isState(value: unknown): value is KeptState | UnreadState {
  if (typeof value !== "object" || value === null) return false;
  const state = value as Readonly<Record<string, unknown>>;
  if (state["kind"] === "link") return typeof state["to"] === "string";
  if (state["kind"] !== "file") return state["kind"] === "missing" || state["kind"] === "unread";
  const numbers = ["size", "mode", "uid", "gid"].every((name) => Number.isSafeInteger(state[name]));
  return numbers && typeof state["owner"] === "string" && /^[0-9a-f]{64}$/.test(String(state["digest"]));
}

/** Syncs to disk before it returns. */
function append(path: string, lines: readonly string[]): void {
  const file = openForLines(path);
  try {
    const start = endsInsideLine(file) ? "\n" : "";
    appendWhole(file, [start + lines.map((line) => `${line}\n`).join("")]);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function directorySize(directory: string): number {
  return readdirSync(directory).reduce(
    (sum, name) => sum + (statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

/** Of one session. */
const MOST_BYTES = 256 * 1024 * 1024;

// Contents are encrypted with a key that is stored next to them: who can read both can decrypt them, but a search
// through the home directory does not find a secret that was in a file.

/** Bytes that encryption adds: nonce and tag. */
const SEAL = 28;

function seal(bytes: Uint8Array, key: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Undefined for what was sealed with another key, or changed since. */
function unseal(sealed: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE));
    decipher.setAuthTag(sealed.subarray(NONCE, SEAL));
    return Buffer.concat([decipher.update(sealed.subarray(SEAL)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** The key in that directory, created if it is missing. */
function contentKey(directory: string): Uint8Array {
  const path = join(directory, "key");
  const key = readKey(path) ?? createKey(path);
  if (key !== undefined) return key;
  throw new BuddyError("session", `${path} does not contain a key`, {
    hint: "Remove the file and buddy creates a new key. Files saved with the old key cannot be restored.",
  });
}

const NONCE = 12;

// ── A change of one file: where, by what, the file before and after it, and what differs.

export interface Change {
  /** Counted from 1 in each session. */
  readonly number: number;
  /** ISO 8601. */
  readonly time: string;
  /** Identity of the machine that the path is on. */
  readonly machine: string;
  /** user@host, for people. */
  readonly where: string;
  /** Absolute; its directories are not links. */
  readonly path: string;
  /** The call that made it: one call may change several files, on several machines. */
  readonly call: string;
  /** The tool, and the command where there was one. */
  readonly tool: string;
  readonly command?: string;
  /** Made as root, through sudo. */
  readonly sudo?: boolean;
  /** The number of the change that this one undid. */
  readonly undoes?: number;
  readonly before: KeptState;
  /** Undefined while the command runs, or when buddy ended before it did. */
  readonly after?: KeptState | UnreadState;
}

/** A stored file; its content is in the store under its digest. */
type KeptState =
  | { readonly kind: "missing" }
  | { readonly kind: "link"; readonly to: string }
  | {
      readonly kind: "file";
      /** SHA-256 of the content, in hex. */
      readonly digest: string;
      readonly size: number;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
      readonly owner: string;
      readonly acl?: string;
      /** Where it has other hard links. */
      readonly inode?: string;
    };

/** Too large, or no longer readable. */
interface UnreadState {
  readonly kind: "unread";
}

/** The same content under the same name, mode and owner. */
export function sameState(a: KeptState | UnreadState, b: KeptState | UnreadState): boolean {
  if (a.kind === "file" && b.kind === "file")
    return a.digest === b.digest && a.mode === b.mode && a.uid === b.uid && a.gid === b.gid && a.acl === b.acl;
  if (a.kind === "link" && b.kind === "link") return a.to === b.to;
  return a.kind === "missing" && b.kind === "missing";
}

function describeState(state: KeptState | UnreadState): string {
  switch (state.kind) {
    case "missing":
      return "no file";
    case "link":
      return `a link to ${state.to}`;
    case "unread":
      return "a file that could not be read";
    case "file":
      return `mode ${octal(state.mode)}, owner ${state.owner}, ${state.size} bytes`;
  }
}

export interface SeenState {
  readonly state: KeptState | UnreadState;
  /** Undefined when the content is no longer stored. */
  readonly bytes: Uint8Array | undefined;
}

/** What differs, for people: text line by line, the rest in brackets. `compare` makes a unified diff of two texts. */
export function stateDiff(from: SeenState, to: SeenState, compare: (before: string, after: string) => string): string {
  const lines: string[] = [];
  const [a, b] = [from.state, to.state];
  if (a.kind === "file" && b.kind === "file") {
    if (a.mode !== b.mode) lines.push(`[mode ${octal(a.mode)} → ${octal(b.mode)}]`);
    if (a.uid !== b.uid || a.gid !== b.gid) lines.push(`[owner ${a.owner} → ${b.owner}]`);
    if (a.acl !== b.acl) lines.push("[access control list differs]");
  } else if (a.kind === "link" || b.kind === "link" || a.kind === "unread" || b.kind === "unread" || isOnlyName(a, b)) {
    lines.push(`[${describeState(a)} → ${describeState(b)}]`);
  }
  lines.push(...contents(from, to, compare));
  return lines.filter((line) => line !== "").join("\n");
}

/** An empty file is created or removed: it has no line of content that would show that. */
function isOnlyName(a: SeenState["state"], b: SeenState["state"]): boolean {
  return a.kind !== b.kind && sizeOf(a) + sizeOf(b) === 0;
}

function contents(from: SeenState, to: SeenState, compare: (before: string, after: string) => string): string[] {
  const [a, b] = [from.state, to.state];
  if (a.kind === "file" && b.kind === "file" && a.digest === b.digest) return [];
  if (a.kind === "unread" || b.kind === "unread") return [];
  if (from.bytes === undefined || to.bytes === undefined)
    return [`[${sizeOf(a)} → ${sizeOf(b)} bytes; the content is not stored]`];
  const [before, after] = [textOf(from.bytes), textOf(to.bytes)];
  if (before === undefined || after === undefined) return [`[${sizeOf(a)} → ${sizeOf(b)} bytes of binary content]`];
  return [compare(before, after)];
}

function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.length > MOST_COMPARED) return undefined;
  return (decodeUtf16(bytes) ?? (bytes.includes(0) ? undefined : decodeText(bytes)))?.text;
}

function sizeOf(state: SeenState["state"]): number {
  return state.kind === "file" ? state.size : 0;
}

const MOST_COMPARED = 8 * 1024 * 1024;
