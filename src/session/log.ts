/** The append-only log of one session: one event per line. */
import { closeSync, fstatSync, fsyncSync, readSync, statSync, unlinkSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentEvent } from "../agent/events.ts";
import { appendWhole, endsInsideLine, fileError, openForLines } from "../lib/files.ts";
import { gathered, jsonPieces } from "../lib/large-texts.ts";
import { textIn } from "../lib/values.ts";
import type { SessionLock } from "./session-lock.ts";
import { prepare, rememberDirectory } from "./session-directory.ts";
import { type LineSigner, lineSigner } from "../lib/line-signer.ts";

export class SessionLog {
  readonly id: string;
  readonly directory: string;
  readonly path: string;
  readonly #redact: (text: string) => string;
  readonly #problem: (message: string) => void;
  readonly #stateDirectory: string | undefined;
  #signer: LineSigner | undefined | "unknown" = "unknown";
  #live: boolean;
  #lock: Promise<SessionLock | undefined> | undefined;
  #file: number | undefined;
  /** Oldest first; more than one while lines cannot be written (full disk). */
  #waiting: { readonly line: object; readonly chars: number }[] = [];
  #waitingChars = 0;
  #reported = false;
  /** A line is written after what its event belongs to: the request or the command that is next does not wait. */
  #soon: ReturnType<typeof setImmediate> | undefined;

  constructor(options: SessionLogOptions) {
    this.id = options.id;
    this.directory = options.directory;
    this.path = join(options.directory, `${options.id}.jsonl`);
    this.#redact = options.redact;
    this.#problem = options.problem;
    this.#stateDirectory = options.stateDirectory;
    this.#live = options.live ?? true;
    if (options.lock !== undefined) this.#lock = Promise.resolve(options.lock);
  }

  /**
   * Stores what a later resume needs, not deltas and live output. Never throws: the work continues without a log.
   */
  append(event: AgentEvent): void {
    if (!DURABLE.has(event.type)) return;
    // `v` comes first: that is how a reader finds an event that follows half a line.
    // The answer is already in the log, as a message.
    const { v, ts, session, target, type, ...rest } = event.type === "done" ? { ...event, text: "" } : event;
    const line = { v, ts, session, target, type, ...rest };
    const chars = textIn(line);
    this.#waiting.push({ line, chars });
    this.#waitingChars += chars;
    while (this.#waitingChars > WAITING_LIMIT && this.#waiting.length > 1)
      this.#waitingChars -= this.#waiting.shift()?.chars ?? 0;
    if (event.type === "done" || this.#waitingChars > LARGE) this.flush(event.type === "done");
    else this.#soon ??= setImmediate(() => this.flush());
  }

  /** From now on the session is locked, and the end of a turn is synced to disk. */
  goLive(): void {
    this.#live = true;
    if (this.#file !== undefined) this.#takeLock();
  }

  async close(): Promise<void> {
    this.#live = true;
    this.flush(true);
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    (await this.#lock)?.release();
  }

  /** Closes it and removes its file. */
  async discard(): Promise<void> {
    clearImmediate(this.#soon);
    this.#waiting = [];
    if (this.#file !== undefined) {
      closeSync(this.#file);
      unlinkSync(this.path);
    }
    this.#file = undefined;
    (await this.#lock)?.release();
  }

  /** Writes every event so far. */
  flush(ended = false): void {
    clearImmediate(this.#soon);
    this.#soon = undefined;
    const durable = ended && this.#live;
    try {
      while (this.#waiting.length > 0) {
        const [{ line, chars } = { line: {}, chars: 0 }] = this.#waiting;
        appendWhole((this.#file ??= this.#open()), this.#pieces(line, chars));
        this.#waiting.shift();
        this.#waitingChars -= chars;
      }
      if (durable && this.#file !== undefined) {
        fsyncSync(this.#file);
        this.#restoreIfRemoved(this.#file);
      }
      if (this.#reported) this.#problem(`the session can be saved again in ${this.path}`);
      this.#reported = false;
    } catch (error) {
      if (!this.#reported) this.#problem(`the session cannot be saved in ${this.path}: ${fileError(error)}`);
      this.#reported = true;
    }
  }

  #pieces(line: object, chars: number): Iterable<string> {
    if (this.#signer === "unknown") this.#signer = lineSigner(this.#stateDirectory);
    if (chars < LARGE) {
      const json = this.#redact(JSON.stringify(line));
      return [`${this.#signer?.sign(json) ?? json}\n`];
    }
    const json = jsonPieces(line, this.#redact);
    return gathered(this.#signer?.signed(json) ?? json, ["\n"]);
  }

  #open(): number {
    prepare(this.directory);
    const file = openForLines(this.path);
    if (endsInsideLine(file)) writeSync(file, "\n");
    if (this.#live) this.#takeLock();
    rememberDirectory(this.#stateDirectory, this.directory);
    return file;
  }

  /** Not awaited: no other process knows a new id yet. */
  #takeLock(): void {
    this.#lock ??= import("./session-lock.ts")
      .then(({ lockSession }) => lockSession(this.directory, this.id))
      .catch((error: Error) => {
        this.#problem(error.message);
        return undefined;
      });
  }

  #restoreIfRemoved(file: number): void {
    const found = statSync(this.path, { throwIfNoEntry: false });
    if (found?.ino === fstatSync(file).ino) return;
    if (found !== undefined) throw new Error("another file is in its place");
    this.#writeAgain(file);
  }

  /** The directory was removed meanwhile: the content of the open file is written again. */
  #writeAgain(old: number): void {
    const fresh = this.#open();
    try {
      const chunk = Buffer.alloc(1 << 20);
      for (let offset = 0, count = 0; (count = readSync(old, chunk, 0, chunk.length, offset)) > 0; offset += count)
        if (writeSync(fresh, chunk, 0, count) !== count) throw new Error("no space left on the device");
    } catch (error) {
      closeSync(fresh);
      unlinkSync(this.path);
      throw error;
    }
    closeSync(old);
    this.#file = fresh;
    this.#problem(`${dirname(this.path)} had been removed; the session was written there again`);
  }
}

export interface SessionLogOptions {
  readonly id: string;
  readonly directory: string;
  /** Has the key that signs each line. */
  readonly stateDirectory: string | undefined;
  readonly redact: (text: string) => string;
  readonly problem: (message: string) => void;
  /** False until `goLive` for a run that may end at once: its lines are not synced to disk. */
  readonly live?: boolean;
  /** For an existing session; a new one is locked with its first line. Released by `close`. */
  readonly lock?: SessionLock | undefined;
}

const DURABLE: ReadonlySet<AgentEvent["type"]> = new Set([
  "session",
  "turn",
  "message",
  "tool_finished",
  "approval_asked",
  "approval_answered",
  "usage",
  "warning",
  "notice",
  "compacted",
  "error",
  "done",
] as const);
const WAITING_LIMIT = 32 << 20;
const LARGE = 1 << 20;
