/**
 * Ordered writes to stdout or stderr: all of it arrives before the exit, and a reader that went away is a fact, not a
 * crash.
 */
import { fstatSync, writeSync, write } from "node:fs";
import { BuddyError } from "./errors.ts";
import { fileError } from "./files.ts";
import { pieces } from "./text.ts";

/**
 * Measured on Bun 1.4.4: `process.stdout` costs 11 ms and truncates at exit; a `Bun.stdout.writer()` reports EPIPE as
 * an unhandled error; `fs.write` costs 3 ms for its first thread; `Bun.write` blocks while a pipe is full, and writes
 * wrong lengths to files opened for appending. So: the first bytes, which every pipe has room for, go by `Bun.write`,
 * the rest by a thread; files never block.
 */
export class Output {
  readonly fd: number;
  #isFile: boolean | undefined;
  #queue: Promise<void> = Promise.resolve();
  /** What comes during a write goes with the next one: a call on many machines has many events at once. */
  #waiting: string[] = [];
  #waitingLength = 0;
  #written = 0;
  /** Ends the wait for the write under way. A promise for all writes would keep every one of them in memory. */
  #abandon: (() => void) | undefined;
  #givenUp = false;
  #broken = false;
  #cut = false;
  #failure: BuddyError | undefined;
  #onBroken: (() => void) | undefined;
  /** For long texts: a buffer for each piece would be garbage of their size. */
  #buffer: Uint8Array | undefined;

  constructor(fd: number) {
    this.fd = fd;
  }

  /** The reader is gone; nothing is written any more. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Why something could not be written although the reader was there. */
  get failure(): BuddyError | undefined {
    return this.#failure;
  }

  /** Something was given up before the reader took it. */
  get cut(): boolean {
    return this.#cut;
  }

  onBroken(listener: () => void): void {
    this.#onBroken = listener;
  }

  /** Resolves when the text has left; awaiting it is the back-pressure. */
  write(text: string): Promise<void> {
    if (text === "") return this.#queue;
    if (this.#waiting.length === 0) this.#queue = this.#queue.then(() => this.#putWaiting());
    this.#waiting.push(text);
    this.#waitingLength += text.length;
    return this.#queue;
  }

  /** The same for one of many lines that come at once: its way is awaited only where much waits already. */
  async writeAmongMany(text: string): Promise<void> {
    const left = this.write(text);
    if (this.#waitingLength > PIECE) await left;
  }

  flush(): Promise<void> {
    return this.#queue;
  }

  /** The end has come and the reader does not read: what is left is given up. */
  giveUp(): void {
    this.#givenUp = true;
    this.#abandon?.();
  }

  /** Joined, a text of megabytes would be in memory twice. */
  async #putWaiting(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingLength = 0;
    const isLarge = waiting.some((text) => text.length > PIECE);
    for (const text of isLarge ? waiting : [waiting.join("")]) await this.#put(text);
  }

  async #put(text: string): Promise<void> {
    // Behind half a line another one would only garble both.
    if (this.#broken || this.#cut) return;
    try {
      this.#isFile ??= fstatSync(this.fd).isFile();
      // In pieces: as bytes at once, a long text would be in memory twice.
      for (const piece of pieces(text, PIECE)) if (!this.#cut) await this.#putPiece(piece);
    } catch (error) {
      this.#broken = true;
      // A reader that went away has had what it wanted; a file on a full disk has not.
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

/** Everything on stdout, piece by piece; ends quietly when the reader goes away, and throws what else goes wrong. */
export async function print(pieces: Iterable<string>): Promise<void> {
  const out = new Output(1);
  for (const piece of pieces) {
    await out.write(piece);
    if (out.broken) break;
  }
  if (out.failure !== undefined) throw out.failure;
}

function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}

// Writes to a pipe or terminal without holding up anything else, however slow its reader is.

/** `Bun.write` and synchronous writes block the whole process while a pipe is full: no signal is noticed meanwhile. */
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
    // A terminal that another process made non-blocking, and that is full.
    if (count === 0) await Bun.sleep(RETRY_MS);
  }
}

const RETRY_MS = 4;
