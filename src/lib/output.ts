/** Ordered writes to stdout or stderr: all of it arrives before the exit, and a reader that went away is a fact, not a crash. */
import { fstatSync, writeSync } from "node:fs";
import { BuddyError } from "./errors.ts";
import { fileTrouble } from "./file-trouble.ts";

/**
 * Measured on Bun 1.4.4: `process.stdout` costs 11 ms and truncates at exit; a `Bun.stdout.writer()` reports EPIPE as
 * an unhandled error; `fs.write` costs 3 ms for its first thread. `Bun.write` is right for pipes and terminals and does
 * not block signals while a reader is slow, but writes wrong lengths to files opened for appending: those never block.
 */
export class Output {
  readonly fd: number;
  #isFile: boolean | undefined;
  #queue: Promise<void> = Promise.resolve();
  #broken = false;
  #trouble: BuddyError | undefined;
  #onBroken: (() => void) | undefined;

  constructor(fd: number) {
    this.fd = fd;
  }

  /** The reader is gone; nothing is written any more. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Why something could not be written although there was somebody to read it. */
  get trouble(): BuddyError | undefined {
    return this.#trouble;
  }

  onBroken(listener: () => void): void {
    this.#onBroken = listener;
  }

  /** Resolves when the text has left; awaiting it is the back-pressure. */
  write(text: string): Promise<void> {
    if (text !== "") this.#queue = this.#queue.then(() => this.#put(text));
    return this.#queue;
  }

  flush(): Promise<void> {
    return this.#queue;
  }

  async #put(text: string): Promise<void> {
    if (this.#broken) return;
    try {
      this.#isFile ??= fstatSync(this.fd).isFile();
      if (this.#isFile) writeWhole(this.fd, Buffer.from(text));
      else await Bun.write(Bun.file(this.fd), text);
    } catch (error) {
      this.#broken = true;
      // A reader that went away has had what it wanted; a file on a full disk has not.
      if ((error as NodeJS.ErrnoException).code !== "EPIPE")
        this.#trouble = new BuddyError("tool", `cannot write to ${NAMES[this.fd]}: ${fileTrouble(error)}`, {
          cause: error,
        });
      this.#onBroken?.();
    }
  }
}

const NAMES: Readonly<Record<number, string>> = { 1: "standard output", 2: "standard error" };

/** Everything on stdout, piece by piece; ends quietly when the reader goes away, and throws what else goes wrong. */
export async function print(pieces: Iterable<string>): Promise<void> {
  const out = new Output(1);
  for (const piece of pieces) {
    await out.write(piece);
    if (out.broken) break;
  }
  if (out.trouble !== undefined) throw out.trouble;
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}
