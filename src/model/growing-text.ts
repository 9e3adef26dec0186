/**
 * A text that arrives in pieces, at most 64 MB. The pieces are joined in blocks: concatenated token by token, a text
 * takes twenty times its size.
 */
import { collectAfter } from "../lib/large-texts.ts";
import { Malformed } from "./provider-error.ts";

export class GrowingText {
  #blocks: string[] = [];
  #recent: string[] = [];
  #recentChars = 0;
  #length = 0;

  constructor(text = "") {
    this.add(text);
  }

  get length(): number {
    return this.#length;
  }

  add(piece: string): void {
    this.#length += piece.length;
    if (this.#length > MAX_CHARS) throw new Malformed("the answer has more than 64 MB");
    collectAfter(piece.length);
    // Not joined with others: a piece of this size may be shared with another text.
    if (piece.length >= BLOCK) {
      this.#settle();
      this.#blocks.push(piece);
      return;
    }
    this.#recent.push(piece);
    this.#recentChars += piece.length;
    if (this.#recentChars >= BLOCK || this.#recent.length >= MAX_PIECES) this.#settle();
  }

  /** Keeps this string instead of its own pieces if it is the same text: the caller keeps it in memory anyway. */
  share(text: string): void {
    if (text.length !== this.#length) return;
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
      this.#blocks = [this.#blocks.join("")];
      collectAfter(this.#length);
    }
    return this.#blocks[0] ?? "";
  }

  #settle(): void {
    if (this.#recent.length === 0) return;
    const block = this.#recent.join("");
    // Two texts that grow in the same way, such as the one shown and the one kept, share their blocks.
    if (block !== newest) newest = block;
    this.#blocks.push(newest);
    this.#recent = [];
    this.#recentChars = 0;
  }
}

/** The latest block of any text. */
let newest = "";

const MAX_CHARS = 64 * 1024 * 1024;
const BLOCK = 64 * 1024;
const MAX_PIECES = 1024;
