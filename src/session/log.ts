/** The append-only log of one session: one event per line, one write per line, nothing valid ever rewritten. */
import { closeSync, fstatSync, fsyncSync, readSync, statSync, unlinkSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentEvent } from "../agent/events.ts";
import { appendWhole, endsInsideLine, fileError, openForLines } from "../lib/files.ts";
import { gathered, jsonPieces } from "../lib/json-pieces.ts";
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
  #hold: Promise<SessionLock | undefined> | undefined;
  #file: number | undefined;
  /** Lines that could not be written (full disk); they go first once it works again. */
  #waiting: { readonly line: object; readonly chars: number }[] = [];
  #waitingChars = 0;
  #reported = false;

  constructor(options: SessionLogOptions) {
    this.id = options.id;
    this.directory = options.directory;
    this.path = join(options.directory, `${options.id}.jsonl`);
    this.#redact = options.redact;
    this.#problem = options.problem;
    this.#stateDirectory = options.stateDirectory;
    this.#live = options.live ?? true;
    if (options.hold !== undefined) this.#hold = Promise.resolve(options.hold);
  }

  /**
   * Keeps what a later resume needs; deltas and live output are left out. Never throws: the work continues without a
   * log.
   */
  append(event: AgentEvent): void {
    if (!DURABLE.has(event.type)) return;
    // This order lets a reader find the start of a line that was glued to a torn one.
    // The answer is in the log already, as a message.
    const { v, ts, session, target, type, ...rest } = event.type === "done" ? { ...event, text: "" } : event;
    const line = { v, ts, session, target, type, ...rest };
    const chars = textIn(line);
    this.#waiting.push({ line, chars });
    this.#waitingChars += chars;
    while (this.#waitingChars > WAITING_LIMIT && this.#waiting.length > 1)
      this.#waitingChars -= this.#waiting.shift()?.chars ?? 0;
    this.#flush(event.type === "done");
  }

  /** From now on others are kept out, and the end of a turn waits for the disk. */
  goLive(): void {
    this.#live = true;
    if (this.#file !== undefined) this.#take();
  }

  async close(): Promise<void> {
    this.#live = true;
    this.#flush(true);
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    (await this.#hold)?.release();
  }

  #flush(ended: boolean): void {
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
        this.#restoreIfRemoved();
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
    if (this.#live) this.#take();
    // So that `buddy sessions --all` finds it.
    rememberDirectory(this.#stateDirectory, this.directory);
    return file;
  }

  /** No other process knows a new id yet, so the lock need not hold up the first line. */
  #take(): void {
    this.#hold ??= import("./session-lock.ts")
      .then(({ lockSession }) => lockSession(this.directory, this.id))
      .catch((error: Error) => {
        this.#problem(error.message);
        return undefined;
      });
  }

  /** The directory was removed while we run: what the open file still holds is written again. */
  #restoreIfRemoved(): void {
    const old = this.#file as number;
    const there = statSync(this.path, { throwIfNoEntry: false });
    if (there?.ino === fstatSync(old).ino) return;
    if (there !== undefined) throw new Error("another file is in its place");
    this.#writeAgain(old);
  }

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
  /** Where the key that signs each line is kept. */
  readonly stateDirectory: string | undefined;
  readonly redact: (text: string) => string;
  readonly problem: (message: string) => void;
  /**
   * False until `goLive` for a run that may be over in a moment: the kernel has its lines, and nothing waits for the
   * disk.
   */
  readonly live?: boolean;
  /** Of a session that existed before; a new one is held with its first line. Released with the log. */
  readonly hold?: SessionLock | undefined;
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
