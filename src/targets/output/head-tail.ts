/** Keeps the beginning and the end of a text within a bound and counts what was left out. */
import type { CapturedText } from "../target.ts";

export class HeadTail {
  readonly #half: number;
  #head = "";
  #tail = "";
  #total = 0;

  constructor(keep: number) {
    this.#half = Math.max(1, Math.ceil(keep / 2));
  }

  add(text: string): void {
    this.#total += Buffer.byteLength(text);
    let rest = text;
    if (this.#tail === "" && this.#head.length < this.#half) {
      const room = wholeCharacters(rest, this.#half - this.#head.length);
      this.#head += rest.slice(0, room);
      rest = rest.slice(room);
    }
    if (rest === "") return;
    this.#tail += rest;
    if (this.#tail.length > this.#half * 4 + 4096) this.#tail = lastCharacters(this.#tail, this.#half);
  }

  /** With `pending` as text that follows but may still change. */
  captured(pending = ""): CapturedText {
    const totalBytes = this.#total + Buffer.byteLength(pending);
    const all = this.#tail + pending;
    if (this.#head.length + all.length <= this.#half * 2) {
      const kept = Buffer.byteLength(this.#head) + Buffer.byteLength(all);
      if (kept === totalBytes) return { head: this.#head + all, tail: "", omittedBytes: 0, totalBytes };
    }
    let head = this.#head;
    let behind = all;
    if (head.length < this.#half) {
      const room = wholeCharacters(behind, this.#half - head.length);
      head += behind.slice(0, room);
      behind = behind.slice(room);
    }
    const tail = lastCharacters(behind, this.#half);
    const omittedBytes = totalBytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
    return omittedBytes === 0
      ? { head: head + tail, tail: "", omittedBytes, totalBytes }
      : { head, tail, omittedBytes, totalBytes };
  }
}

/** The largest cut ≤ `limit` that does not split a surrogate pair. */
function wholeCharacters(text: string, limit: number): number {
  if (text.length <= limit) return text.length;
  const code = text.charCodeAt(limit - 1);
  return limit > 0 && code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit;
}

function lastCharacters(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const at = text.length - limit;
  const code = text.charCodeAt(at);
  return text.slice(code >= 0xdc00 && code <= 0xdfff ? at + 1 : at);
}
