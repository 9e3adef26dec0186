/**
 * Writes the record: lines of several processes in one chain, each written whole or not at all. The kernel releases
 * the lock of a killed process; the next line repairs what it left incomplete.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { appendWhole, fileError, openForLines } from "../lib/files.ts";
import { StandingLock } from "../lib/kernel-lock.ts";
import { type LineSigner, lineSigner } from "../lib/line-signer.ts";
import { shorten } from "../lib/text.ts";
import { sha256 } from "../lib/values.ts";
import { isTimeout } from "../lib/waiting.ts";
import { type AuditEntry, chainLine, type Link, readHead, readLine, START, writeHead } from "./entry.ts";
import { readTail, recordPaths, rotatedFiles } from "./record-files.ts";

export interface AuditLogOptions {
  /** The user's state directory. */
  readonly directory: string;
  readonly redact: (text: string) => string;
  /** Called once when writing fails, and once when it works again. */
  readonly problem: (message: string) => void;
  readonly rotateBytes: number;
  /** Sync each line to disk before it counts as written. */
  readonly durable: boolean;
}

interface Waiting {
  readonly entry: AuditEntry;
  readonly at: Date;
  readonly done?: PromiseWithResolvers<void>;
  written?: true;
}

export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #paths: ReturnType<typeof recordPaths>;
  readonly #lock: StandingLock;
  #signer: LineSigner | undefined;
  /** Oldest first; entries that could not be written stay in front. */
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  /** Collects entries that nothing awaits into one write: many machines end a command at the same moment. */
  #soon: ReturnType<typeof setTimeout> | undefined;
  #reported = false;
  /** The file as this process left it: while that is unchanged, no other process has written. */
  #left: { readonly inode: number; readonly size: number; readonly link: Link } | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#paths = recordPaths(options.directory);
    this.#lock = new StandingLock(this.#paths.lock);
  }

  /** Resolves when the line is written. Rejects when it cannot be; the entry is then kept and retried with the next. */
  append(entry: AuditEntry): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#push({ entry, at: new Date(), done });
    this.#writing ??= this.#writeAll();
    return done.promise;
  }

  /** Written with the next entry that is awaited, or a moment later. */
  appendSoon(entry: AuditEntry): void {
    this.#push({ entry, at: new Date() });
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      if (this.#waiting.length > 0) this.#writing ??= this.#writeAll();
    }, SOON_MS);
  }

  #push(one: Waiting): void {
    this.#waiting.push(one);
    while (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
  }

  /** Writes what waits, and retries once what could not be written. */
  async close(): Promise<void> {
    clearTimeout(this.#soon);
    await this.#writing;
    if (this.#waiting.length > 0) await (this.#writing = this.#writeAll());
    this.#lock.close();
  }

  async #writeAll(): Promise<void> {
    try {
      do {
        const batch = this.#waiting;
        this.#waiting = [];
        const failure = await this.#write(batch).catch(whyNot);
        this.#report(failure);
        for (const { written, done } of batch) {
          if (written === true) done?.resolve();
          else done?.reject(new Error(`the record cannot be written: ${failure}`));
        }
        if (failure === undefined) continue;
        const late = batch.filter(({ written }) => written !== true);
        this.#waiting = [...late.map(({ entry, at }) => ({ entry, at })), ...this.#waiting];
        if (this.#waiting.every(({ done }) => done === undefined)) return;
      } while (this.#waiting.length > 0);
    } finally {
      // Without an await since #waiting was last checked: no entry is added in between and then forgotten.
      this.#writing = undefined;
    }
  }

  #report(failure: string | undefined): void {
    const { current } = this.#paths;
    if (failure !== undefined && !this.#reported)
      this.#options.problem(`the record cannot be written to ${current}: ${failure}`);
    if (failure === undefined && this.#reported) this.#options.problem(`the record can be written again: ${current}`);
    this.#reported = failure !== undefined;
  }

  async #write(batch: readonly Waiting[]): Promise<undefined> {
    const { directory } = this.#options;
    if (!existsSync(directory)) mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#signer ??= lineSigner(directory)?.derived("audit");
    if (this.#signer === undefined) throw new Error("the key that signs it cannot be created");
    const held = await this.#lock.take(LOCK_MS);
    try {
      this.#writeLocked(batch, this.#signer);
    } finally {
      held.release();
    }
  }

  #writeLocked(batch: readonly Waiting[], signer: LineSigner): void {
    const file = this.#openCurrent();
    try {
      const { notes, ...from } = this.#continue(file, signer);
      let link: Link = from;
      const put = (some: readonly Waiting[]): void => {
        let next = link;
        let text = "";
        for (const { entry, at } of some) {
          const line = chainLine(entry, next, signer, this.#options.redact, at);
          text += `${line}\n`;
          next = { seq: next.seq + 1, hash: sha256(line) };
        }
        appendWhole(file, [text]);
        link = next;
        for (const one of some) one.written = true;
      };
      const all = [...notes, ...batch];
      try {
        put(all);
      } catch {
        // As many of them as the disk has room for.
        for (const one of all) put([one]);
      }
      if (this.#options.durable) fsyncSync(file);
      writeHead(this.#paths.head, link, signer);
      const { ino, size } = fstatSync(file);
      this.#left = { inode: ino, size, link };
    } finally {
      closeSync(file);
    }
  }

  /** The last link; half a line that a killed process or a full disk left is removed, and that is noted. */
  #continue(file: number, signer: LineSigner): Link & { readonly notes: readonly Waiting[] } {
    const { size, ino } = fstatSync(file);
    if (this.#left?.inode === ino && this.#left.size === size) return { ...this.#left.link, notes: [] };
    const tail = readTail(file, size);
    const line = tail.line ?? lastOf(rotatedFiles(this.#options.directory).at(-1)?.path);
    const last = line === undefined ? undefined : readLine(line, signer);
    const known: Link | undefined =
      line === undefined || last?.signed !== true ? undefined : { seq: last.entry.seq, hash: sha256(line) };
    const head = readHead(this.#paths.head, signer);
    const notes: Waiting[] = [];
    const note = (entry: AuditEntry): void => void notes.push({ entry, at: new Date() });
    if (typeof head === "string") {
      if (line === undefined) writeHead(this.#paths.head, START, signer);
      else note({ kind: "note", note: "head-missing", detail: `${this.#paths.head} was ${head}` });
    }
    const from = typeof head === "string" ? START : head;
    // Lines after the head were written by a process that was killed before it could update the head. A head after the
    // last line means that lines were removed: the chain continues from the head, so that the gap stays visible.
    const link = known !== undefined && known.seq >= from.seq ? known : from;
    if (tail.torn !== "") {
      if (link === known) {
        ftruncateSync(file, tail.end);
        note({ kind: "note", note: "repaired", detail: `${Buffer.byteLength(tail.torn)} bytes of an unfinished line` });
      } else writeSync(file, "\n");
    }
    return { ...link, notes };
  }

  /** A full file gets the next number; the chain continues in a new one. */
  #openCurrent(): number {
    const { directory, rotateBytes } = this.#options;
    const file = openForLines(this.#paths.current);
    if (fstatSync(file).size < rotateBytes) return file;
    closeSync(file);
    const next = (rotatedFiles(directory).at(-1)?.number ?? 0) + 1;
    renameSync(this.#paths.current, join(directory, `audit.${next}.jsonl`));
    return openForLines(this.#paths.current);
  }
}

function lastOf(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return readTail(file, fstatSync(file).size).line;
  } finally {
    closeSync(file);
  }
}

function whyNot(error: unknown): string {
  if (isTimeout(error)) return "another process holds its lock";
  return fileError(error);
}

/** Others hold the lock for a millisecond; one that is stopped (Ctrl-Z) meanwhile must not block this process. */
const LOCK_MS = 3000;
const SOON_MS = 20;
const MOST_WAITING = 1000;

// The same entries for the system log of the machine they are about: `logger -t buddy`.

/** In the background: a system log that hangs blocks nothing. */
export const JOURNAL_SCRIPT = `command -v logger >/dev/null 2>&1 || exit 127
( logger -t buddy -- "$1" </dev/null >/dev/null 2>&1 & ) </dev/null >/dev/null 2>&1`;

/** One line of printable text, short enough for system logs. */
export function journalLine(entry: AuditEntry): string {
  if (entry.kind === "note") return `note=${entry.note} ${quoted(entry.detail)}`;
  const { session, user, login_user: login, tool, action } = entry;
  const about = [
    `session=${session}`,
    `user=${quoted(login === undefined ? user : `${user} (${login})`)}`,
    `tool=${tool}`,
  ];
  const fact =
    entry.kind === "decision"
      ? [entry.decision, `by=${entry.by}`]
      : [entry.outcome, ...(entry.exit_code === undefined ? [] : [`exit=${entry.exit_code}`])];
  return [fact[0], ...about, ...fact.slice(1), `action=${quoted(action)}`].join(" ");
}

function quoted(text: string): string {
  return JSON.stringify(
    shorten(text, MOST_TEXT).replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "?"),
  );
}

const MOST_TEXT = 700;
