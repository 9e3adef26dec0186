/**
 * A text that arrives in pieces, kept in blocks until it is needed: concatenated token by token, it would take twenty
 * times its size, and every piece would keep the buffer it was cut from. The blocks of a long text are kept on disk.
 */
import { collectAfter } from "./large-texts.ts";
import type { SpooledText } from "./spooled-text.ts";

export class GrowingText {
  /** What comes before the blocks. */
  #spooled: SpooledText | undefined;
  #mayBeSpooled = true;
  #blocks: string[] = [];
  #blockChars = 0;
  #recent: string[] = [];
  #recentChars = 0;

  constructor(text = "") {
    this.add(text);
  }

  get length(): number {
    return (this.#spooled?.length ?? 0) + this.#blockChars + this.#recentChars;
  }

  add(piece: string): void {
    if (piece === "") return;
    collectAfter(piece.length);
    // Not joined with others: a piece of this size may be shared with another text.
    if (piece.length >= LARGE_PIECE) {
      this.#settle();
      // The caller keeps this string: read back from disk, it would be in memory twice.
      if (piece.length >= SPOOLED) this.#mayBeSpooled = false;
      return this.#keep(piece);
    }
    this.#recent.push(piece);
    this.#recentChars += piece.length;
    if (this.#recentChars >= BLOCK || this.#recent.length >= MOST_PIECES) this.#settle();
  }

  /** Uses this string instead of its own pieces if the text is the same: the caller keeps it in memory anyway. */
  share(text: string): void {
    if (text.length !== this.length) return;
    this.#settle();
    if (this.#spooled?.isStartOf(text) === false) return;
    let at = this.#spooled?.length ?? 0;
    for (const block of this.#blocks) {
      if (!text.startsWith(block, at)) return;
      at += block.length;
    }
    this.#spooled?.close();
    this.#spooled = undefined;
    this.#set([text]);
    collectAfter(text.length);
  }

  toString(): string {
    this.#settle();
    if (this.#spooled !== undefined) {
      // Also the blocks in memory: a text that is read back as a whole need not be joined.
      this.#spool(this.#spooled);
      const text = this.#spooled.take();
      this.#spooled = undefined;
      // It may be needed again.
      this.#mayBeSpooled = false;
      this.#set([text, ...this.#blocks]);
    }
    if (this.#blocks.length > 1) {
      collectAfter(this.length);
      this.#set([this.#blocks.join("")]);
      collectAfter(this.length);
    }
    return this.#blocks[0] ?? "";
  }

  #settle(): void {
    if (this.#recent.length === 0) return;
    const block = this.#recent.join("");
    // Two texts that grow in the same way share one string.
    if (block !== newest) newest = block;
    this.#recent = [];
    this.#recentChars = 0;
    this.#keep(newest);
  }

  #keep(block: string): void {
    this.#blocks.push(block);
    this.#blockChars += block.length;
    if (this.#blockChars < SPOOLED || !this.#mayBeSpooled) return;
    if (Spooled === undefined) return loadSpooled();
    try {
      this.#spool((this.#spooled ??= new Spooled()));
    } catch {
      // No file can be created.
      this.#mayBeSpooled = false;
    }
  }

  #spool(spooled: SpooledText): void {
    if (this.#mayBeSpooled && spooled.add(this.#blocks)) this.#set([]);
    else this.#mayBeSpooled = false;
  }

  #set(blocks: string[]): void {
    this.#blocks = blocks;
    this.#blockChars = blocks.reduce((chars, { length }) => chars + length, 0);
  }
}

/** Loaded with the first long text. */
let Spooled: typeof SpooledText | undefined;
let loading: Promise<void> | undefined;

function loadSpooled(): void {
  loading ??= import("./spooled-text.ts").then((module) => void (Spooled = module.SpooledText));
}

/** The latest block of any text. */
let newest = "";
const BLOCK = 64 * 1024;
const MOST_PIECES = 1024;
const LARGE_PIECE = 4096;
const SPOOLED = 4 * 1024 * 1024;
