/** Server-sent events out of bytes that may be cut anywhere; a few lines of our own because the SDK's reader took four times as long. */
import { Malformed } from "../provider-error.ts";

/** Larger single events are a broken or hostile server. */
const MAX_EVENT_CHARS = 64 * 1024 * 1024;

export class SseParser {
  #decoder = new TextDecoder("utf-8");
  #rest = "";
  #scanned = 0;
  #event = "";
  #data: string | undefined;
  #sink: (data: string, event: string) => void;

  /** `sink` gets the data of each event (lines joined) and its name, "" when it has none. */
  constructor(sink: (data: string, event: string) => void) {
    this.#sink = sink;
  }

  push(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#rest = this.#rest === "" ? text : this.#rest + text;
    this.#drain(false);
  }

  /** The end of the body: a last event without its blank line still counts. */
  end(): void {
    this.#rest += this.#decoder.decode();
    this.#drain(true);
    if (this.#rest !== "") this.#line(this.#rest, 0, this.#rest.length);
    this.#rest = "";
    this.#dispatch();
  }

  #drain(last: boolean): void {
    const text = this.#rest;
    let start = 0;
    let from = this.#scanned;
    const hasReturn = text.includes("\r");
    for (;;) {
      const end = hasReturn ? nextBreak(text, from, last) : text.indexOf("\n", from);
      if (end < 0) break;
      this.#line(text, start, end);
      start = text.charCodeAt(end) === 13 && text.charCodeAt(end + 1) === 10 ? end + 2 : end + 1;
      from = start;
    }
    this.#rest = start === 0 ? text : text.slice(start);
    // Without this a 2 MB event in 4 kB pieces would be searched from its start 500 times. A final CR is looked at again.
    this.#scanned = Math.max(0, this.#rest.length - 1);
    if (this.#rest.length + (this.#data?.length ?? 0) > MAX_EVENT_CHARS) {
      throw new Malformed("a single event of the stream has more than 64 MB");
    }
  }

  #line(text: string, start: number, end: number): void {
    if (start === end) return this.#dispatch();
    if (text.startsWith("data:", start)) {
      const value = text.slice(text.charCodeAt(start + 5) === 32 ? start + 6 : start + 5, end);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (text.startsWith("event:", start)) {
      this.#event = text.slice(start + 6, end).trim();
    } else if (text.startsWith("error:", start)) {
      // llama.cpp breaks off with a field of its own: "error: {…}".
      this.#event = "error";
      this.#data = text.slice(start + 6, end).trim();
    }
    // Comments (":"), "id:", "retry:" and anything else carry nothing for us.
  }

  #dispatch(): void {
    const data = this.#data;
    const event = this.#event;
    this.#data = undefined;
    this.#event = "";
    if (data !== undefined && data !== "") this.#sink(data, event);
  }
}

/** Index of the next LF, CR or CRLF; a CR that ends the text waits for what follows. */
function nextBreak(text: string, from: number, last: boolean): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 10) return at;
    if (code === 13) return at + 1 < text.length || last ? at : -1;
  }
  return -1;
}
