/**
 * A text that arrives in pieces, kept in blocks until it is asked for: glued to one string token by token, it would
 * take twenty times its size, and every piece would keep the bytes it was cut from.
 */
import { collectAfter } from "./garbage.ts";

export class GrowingText {
  #blocks: string[] = [];
  #blockChars = 0;
  #recent: string[] = [];
  #recentChars = 0;

  constructor(text = "") {
    this.add(text);
  }

  get length(): number {
    return this.#blockChars + this.#recentChars;
  }

  add(piece: string): void {
    if (piece === "") return;
    collectAfter(piece.length);
    // Not copied: a piece of this size may be in another text as well.
    if (piece.length >= LARGE_PIECE) {
      this.#settle();
      this.#blocks.push(piece);
      this.#blockChars += piece.length;
      return;
    }
    this.#recent.push(piece);
    this.#recentChars += piece.length;
    if (this.#recentChars >= BLOCK || this.#recent.length >= MOST_PIECES) this.#settle();
  }

  /** Keeps this string instead of its own pieces if it is the same text: whoever has it keeps it anyway. */
  share(text: string): void {
    if (text.length !== this.length) return;
    this.#settle();
    let at = 0;
    for (const block of this.#blocks) {
      if (!text.startsWith(block, at)) return;
      at += block.length;
    }
    this.#blocks = [text];
    collectAfter(text.length);
  }

  toString(): string {
    this.#settle();
    if (this.#blocks.length > 1) {
      collectAfter(this.length);
      this.#blocks = [this.#blocks.join("")];
      collectAfter(this.length);
    }
    return this.#blocks[0] ?? "";
  }

  #settle(): void {
    if (this.#recent.length === 0) return;
    const block = this.#recent.join("");
    // Two texts that grow alike keep one string.
    if (block !== newest) newest = block;
    this.#blocks.push(newest);
    this.#blockChars += this.#recentChars;
    this.#recent = [];
    this.#recentChars = 0;
  }
}

/** Of any text. */
let newest = "";
const BLOCK = 64 * 1024;
const MOST_PIECES = 1024;
const LARGE_PIECE = 4096;
