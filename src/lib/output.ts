/** Ordered writes to stdout or stderr: all of it arrives before the exit, and a reader that went away is a fact, not a crash. */
import { write } from "node:fs";

/**
 * Measured on Bun 1.4.4: `process.stdout` costs 11 ms and truncates at exit; `Bun.write(Bun.stdout)` writes wrong
 * lengths to files opened for appending; a `Bun.stdout.writer()` reports EPIPE as an unhandled error. `fs.write` on a
 * worker thread is right for files, pipes and terminals, and does not block signals while a reader is slow.
 */
export class Output {
  readonly #fd: number;
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
    if (text !== "") this.#queue = this.#queue.then(() => this.#put(Buffer.from(text)));
    return this.#queue;
  }

  flush(): Promise<void> {
    return this.#queue;
  }

  async #put(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length && !this.#broken;) {
      const result = await this.#some(bytes, at);
      if (typeof result === "number") at += result;
      else if (result.code === "EAGAIN") await new Promise((resolve) => setTimeout(resolve, 2));
      else {
        this.#broken = true;
        this.#onBroken?.();
      }
    }
  }

  #some(bytes: Buffer, at: number): Promise<number | NodeJS.ErrnoException> {
    return new Promise((resolve) =>
      write(this.#fd, bytes, at, bytes.length - at, null, (error, count) => resolve(error ?? count)),
    );
  }
}
