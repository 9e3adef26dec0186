/**
 * Ordered writes to stdout or stderr: everything is written before the exit, and a reader that closed the pipe does not
 * crash buddy.
 */
import { fstatSync, writeSync, write } from "node:fs";
import { BuddyError } from "./errors.ts";
import { fileError } from "./files.ts";
import { pieces } from "./text.ts";

/**
 * Measured on Bun 1.4.4: `process.stdout` costs 2.4 ms and truncates at exit; `Bun.stdout.writer()` reports EPIPE as an
 * unhandled error; `fs.write` costs 3 ms for its first thread; `Bun.write` blocks while a pipe is full, and writes
 * wrong lengths to files opened for appending. So the first bytes, which fit into any pipe, go through `Bun.write`, the
 * rest through a thread; files never block.
 */
export class Output {
  readonly fd: number;
  #isFile: boolean | undefined;
  #queue: Promise<void> = Promise.resolve();
  /** Texts that arrive during a write go with the next one: a call on many machines has many events at once. */
  #waiting: string[] = [];
  #waitingLength = 0;
  #written = 0;
  /** Stops waiting for the current write. One promise for all writes would keep them all in memory. */
  #abandon: (() => void) | undefined;
  #givenUp = false;
  #broken = false;
  #cut = false;
  #failure: BuddyError | undefined;
  #onBroken: (() => void) | undefined;
  /** Reused for the pieces of long texts. */
  #buffer: Uint8Array | undefined;

  constructor(fd: number) {
    this.fd = fd;
  }

  /** The reader is gone, or a write failed; nothing more is written. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Why a write failed, unless the reader closed the pipe. */
  get failure(): BuddyError | undefined {
    return this.#failure;
  }

  /** A text was given up before the reader had read it. */
  get cut(): boolean {
    return this.#cut;
  }

  onBroken(listener: () => void): void {
    this.#onBroken = listener;
  }

  /** Resolves when the text is written; await it for back-pressure. */
  write(text: string): Promise<void> {
    if (text === "") return this.#queue;
    if (this.#waiting.length === 0) this.#queue = this.#queue.then(() => this.#putWaiting());
    this.#waiting.push(text);
    this.#waitingLength += text.length;
    return this.#queue;
  }

  /** The same for one of many lines: waits only if much is queued already. */
  async writeAmongMany(text: string): Promise<void> {
    const written = this.write(text);
    if (this.#waitingLength > PIECE) await written;
  }

  flush(): Promise<void> {
    return this.#queue;
  }

  /** At exit, when the reader does not read: the rest is dropped. */
  giveUp(): void {
    this.#givenUp = true;
    this.#abandon?.();
  }

  /** Large texts are not joined: they would be in memory twice. */
  async #putWaiting(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingLength = 0;
    const isLarge = waiting.some((text) => text.length > PIECE);
    for (const text of isLarge ? waiting : [waiting.join("")]) await this.#put(text);
  }

  async #put(text: string): Promise<void> {
    // Text after half a line would only garble both.
    if (this.#broken || this.#cut) return;
    try {
      this.#isFile ??= fstatSync(this.fd).isFile();
      // In pieces: encoded at once, a long text would be in memory twice.
      for (const piece of pieces(text, PIECE)) if (!this.#cut) await this.#putPiece(piece);
    } catch (error) {
      this.#broken = true;
      // A reader that closed the pipe has what it wanted; a full disk is an error.
      if ((error as NodeJS.ErrnoException).code !== "EPIPE")
        this.#failure = new BuddyError("tool", `cannot write to ${NAMES[this.fd]}: ${fileError(error)}`, {
          cause: error,
        });
      this.#onBroken?.();
    }
  }

  async #putPiece(text: string): Promise<void> {
    if (this.#isFile === true) writeWhole(this.fd, this.#bytes(text));
    else if ((this.#written += text.length) <= ROOM_IN_ANY_PIPE) await Bun.write(Bun.file(this.fd), text);
    else await this.#putSlowly(this.#bytes(text));
  }

  /** Valid until the next piece. */
  #bytes(text: string): Uint8Array {
    if (text.length < PIECE / 16) return new TextEncoder().encode(text);
    this.#buffer ??= new Uint8Array(3 * PIECE);
    return this.#buffer.subarray(0, new TextEncoder().encodeInto(text, this.#buffer).written);
  }

  async #putSlowly(bytes: Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#abandon = () => {
      this.#cut = true;
      resolve();
    };
    writeAll(this.fd, bytes).then(resolve, reject);
    if (this.#givenUp) this.#abandon();
    await promise;
    this.#abandon = undefined;
  }
}

const ROOM_IN_ANY_PIPE = 4096;
const PIECE = 64 * 1024;

const NAMES: Readonly<Record<number, string>> = { 1: "standard output", 2: "standard error" };

/** Writes to stdout piece by piece; ends quietly when the reader closes the pipe, and throws any other failure. */
export async function print(pieces: Iterable<string>): Promise<void> {
  const out = new Output(1);
  for (const piece of pieces) {
    await out.write(piece);
    if (out.broken) break;
  }
  if (out.failure !== undefined) throw out.failure;
}

/** Lines of JSON, which may be read on a terminal. */
export function jsonText(value: unknown, indent?: number): string {
  return `${visibleJson(JSON.stringify(value, null, indent))}\n`;
}

/** JSON does not escape C1 controls, which a terminal obeys, nor characters that change the direction of others. */
export function visibleJson(text: string): string {
  return text.replace(
    /[\u007F-\u009F\u061C\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}

/**
 * Writes to a pipe or terminal in a thread: `Bun.write` and synchronous writes block the whole process while a pipe is
 * full, signals included.
 */
export async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    write(fd, bytes, at, bytes.length - at, null, (error, count) => {
      if (error === null) resolve(count);
      else if (error.code === "EAGAIN") resolve(0);
      else reject(error);
    });
    const count = await promise;
    at += count;
    // Another process made the terminal non-blocking, and it is full.
    if (count === 0) await Bun.sleep(RETRY_MS);
  }
}

const RETRY_MS = 4;
