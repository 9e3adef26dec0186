/**
 * The part of a long text that is kept on disk until the text is complete, in an unlinked file: joining pieces in
 * memory would hold the text twice.
 */
import { closeSync, ftruncateSync, openSync, readFileSync, readSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { collectAfter } from "./large-texts.ts";
import { temporaryDirectory } from "./local-directories.ts";
import { pieces } from "./text.ts";

/** In Latin-1, which the runtime turns into a string without a copy; with other characters it would make two copies. */
export class SpooledText {
  length = 0;
  readonly #fd: number;

  /** Throws if no file can be created. */
  constructor() {
    const path = join(temporaryDirectory(), `buddy-text-${crypto.randomUUID()}`);
    this.#fd = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    forgotten.register(this, this.#fd, this);
  }

  /** All or nothing; false: the blocks must stay in memory, and so must all that follow. */
  add(blocks: readonly string[]): boolean {
    if (blocks.some((block) => BEYOND_LATIN1.test(block))) return false;
    const start = this.length;
    try {
      for (const block of blocks) for (const piece of pieces(block, PIECE)) this.#write(Buffer.from(piece, "latin1"));
      collectAfter(this.length - start);
      return true;
    } catch {
      this.length = start;
      return false;
    }
  }

  isStartOf(text: string): boolean {
    const bytes = Buffer.allocUnsafe(PIECE);
    for (let at = 0; at < this.length;) {
      const count = readSync(this.#fd, bytes, 0, Math.min(PIECE, this.length - at), at);
      if (count === 0 || !text.startsWith(bytes.toString("latin1", 0, count), at)) return false;
      at += count;
      collectAfter(2 * count);
    }
    return true;
  }

  /** Returns the text and closes the file. */
  take(): string {
    // A write that failed on a full disk may have left bytes at the end.
    ftruncateSync(this.#fd, this.length);
    const text = readFileSync(this.#fd, "latin1");
    this.close();
    return text;
  }

  close(): void {
    forgotten.unregister(this);
    closeSync(this.#fd);
  }

  #write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;)
      done += writeSync(this.#fd, bytes, done, bytes.length - done, this.length + done);
    this.length += bytes.length;
  }
}

/** Closes the files of texts that were never taken. */
const forgotten = new FinalizationRegistry<number>((fd) => closeSync(fd));

const PIECE = 256 * 1024;
// oxlint-disable-next-line no-control-regex
const BEYOND_LATIN1 = /[^\0-\xff]/;
