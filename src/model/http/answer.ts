/**
 * Makes a reply of the bytes of one answer, whichever form it has: an event stream, one JSON document, or something
 * else altogether.
 */
import { excerpt, Malformed, ProviderError } from "../provider-error.ts";
import { DONE, type Emit, type Protocol, type Reply } from "../protocols/protocol.ts";
import { RepeatedText } from "../protocols/repeated-text.ts";
import type { ModelEvent } from "../types.ts";

export class Answer {
  /** Events since the last `takeBatch`, deltas of one kind joined: 20 000 awaits cost more than the parsing. */
  batch: Piece[] = [];
  #protocol: Protocol;
  #state: unknown;
  #parser: SseParser;
  #form: "unknown" | "events" | "document" = "unknown";
  #early: Uint8Array[] = [];
  #events = 0;
  #emitted = false;
  #repeated = new RepeatedText();

  constructor(protocol: Protocol) {
    this.#protocol = protocol;
    this.#state = protocol.begin(this.#emit);
    this.#parser = new SseParser((data, name) => {
      // What follows the end of the answer is not a part of it, whatever it says.
      if (this.complete && !protocol.restarts) return;
      this.#events++;
      const text = protocol.text && this.#repeated.textIn(data);
      if (text !== undefined) return protocol.text?.(this.#state, text, this.#emit);
      const event = isMark(data) ? DONE : this.#parsed(data, name);
      protocol.step(this.#state, event, name, this.#emit);
      const only = protocol.onlyText?.(event);
      if (only !== undefined) this.#repeated.learn(data, only);
    });
  }

  get finished(): boolean {
    return this.#protocol.finished(this.#state);
  }

  get complete(): boolean {
    return this.#protocol.complete(this.#state);
  }

  push(bytes: Uint8Array): void {
    if (this.#form === "events") return this.#parser.push(bytes);
    this.#early.push(bytes);
    if (this.#form === "unknown") this.#form = formOf(bytes);
    if (this.#form === "events") for (const early of this.#early.splice(0)) this.#parser.push(early);
  }

  takeBatch(): readonly ModelEvent[] {
    const { batch } = this;
    this.batch = [];
    return batch;
  }

  /** The body has ended: the reply, or what is wrong with it. */
  end(): Reply {
    if (this.#form === "events") this.#parser.end();
    else this.#takeDocument();
    if (!this.finished && !this.#protocol.ended?.(this.#state)) {
      throw new Malformed(
        this.#events > 0 ? "the stream ended in the middle of the answer" : "the answer is empty",
        true,
      );
    }
    const reply = this.#protocol.reply(this.#state);
    // Some servers only repeat the whole text at the end.
    if (!this.#emitted && reply.message.content) this.#emit({ type: "text", delta: reply.message.content });
    return reply;
  }

  #takeDocument(): void {
    const text = Buffer.concat(this.#early)
      .toString("utf8")
      .replace(/^\uFEFF/, "")
      .trim();
    if (text === "") return;
    if (this.#takeObjects(text)) return;
    const document = jsonOr(text, () => {
      const cut = /^[{[]/.test(text);
      throw new Malformed(
        cut ? "the JSON answer is damaged or cut off" : `the response is not from a model but ${pageWords(text)}`,
        cut,
      );
    });
    // A list of events, or an error in its own list (Google).
    if (!Array.isArray(document) || document.length < 2)
      return this.#protocol.whole(this.#state, Array.isArray(document) ? document[0] : document, this.#emit);
    for (const event of document) if (!this.complete) this.#protocol.step(this.#state, event, "", this.#emit);
    this.#events += document.length;
  }

  /** Events without the form of an event stream: one a line, or one right behind the other. */
  #takeObjects(text: string): boolean {
    const events = objectsIn(text);
    if (events.length < 2) return false;
    for (const event of events) if (!this.complete) this.#protocol.step(this.#state, event, "", this.#emit);
    this.#events += events.length;
    return true;
  }

  #parsed(data: string, name: string): unknown {
    return jsonOr(data, () => {
      if (name === "error") throw new ProviderError(data);
      // After the closing event rubbish can no longer spoil anything.
      if (this.finished || KEEP_ALIVE.test(data)) return undefined;
      throw new Malformed(`an event of the stream is not JSON: "${excerpt(data).slice(0, 60)}"`, true);
    });
  }

  #emit: Emit = (event) => {
    const last = this.batch.at(-1);
    if (event.type === "text") this.#emitted = true;
    if (last?.type !== event.type) this.batch.push({ ...event });
    else if ("delta" in last && "delta" in event) last.delta += event.delta;
    else this.batch[this.batch.length - 1] = { ...event };
  };
}

function isMark(data: string): boolean {
  return data.length < MARK_CHARS && data.trim() === "[DONE]";
}

/** More than `[DONE]` with spaces around it. */
const MARK_CHARS = 16;
/** Words of gateways in the place of a comment. */
const KEEP_ALIVE = /^\W{0,3}(ping|pong|keep[ -_]?alive|heartbeat|OPENROUTER PROCESSING)\W*$/i;

type Piece = Mutable<Parameters<Emit>[0]>;
type Mutable<T> = T extends unknown ? { -readonly [K in keyof T]: T[K] } : never;

export function jsonOr<T>(text: string, otherwise: () => T): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise();
  }
}

/** JSON objects that follow each other; none where there is anything else than `[DONE]` and blanks between them. */
function objectsIn(text: string): unknown[] {
  const found: unknown[] = [];
  let depth = 0;
  let end = 0;
  for (const { 0: sign, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}]/g)) {
    const outside = depth === 0;
    if (outside && (sign !== "{" || !BETWEEN.test(text.slice(end, index)))) return [];
    if (sign === "{") depth++;
    if (outside) end = index;
    if (sign !== "}" || --depth > 0) continue;
    const value = jsonOr(text.slice(end, index + 1), () => undefined);
    if (value === undefined) return [];
    found.push(value);
    end = index + 1;
  }
  return depth === 0 && BETWEEN.test(text.slice(end)) ? found : [];
}

const BETWEEN = /^\s*(?:\[DONE\]\s*)?$/;

/** By the first byte that is neither space nor part of a byte order mark; the content type is too often wrong. */
function formOf(bytes: Uint8Array): "unknown" | "events" | "document" {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0xef || byte === 0xbb || byte === 0xbf) continue;
    // A field name or a comment opens a stream; "{", "[", "<" and everything else do not.
    return byte === 0x3a || byte === 0x64 || byte === 0x65 || byte === 0x69 || byte === 0x72 ? "events" : "document";
  }
  return "unknown";
}

/** A page or a plain text in words: its title, or its first line. */
export function pageWords(text: string): string {
  const title = /<(title|h1|message)\b[^>]*>\s*([^<\s][^<]*)</i.exec(text)?.[2]?.trim();
  if (title) return `a web page: "${excerpt(title).slice(0, 100)}"`;
  if (/^\s*</.test(text)) return "a web page";
  return text.trim() === "" ? "" : excerpt(text.slice(0, 2000)).slice(0, 200);
}

// Server-sent events out of bytes that may be cut anywhere; a few lines of our own because the SDK's reader took
// four times as long.

/** Larger single events are a broken or hostile server. */
const MAX_EVENT_CHARS = 64 * 1024 * 1024;

export class SseParser {
  #decoder = new TextDecoder("utf-8");
  #rest = "";
  #scanned = 0;
  /** Pieces of one line behind `rest`, joined when its end is there: a long event is not copied with each of them. */
  #pieces: string[] = [];
  #pieceChars = 0;
  #event = "";
  /** The name that follows the data. */
  #late = "";
  #data: string | undefined;
  #sink: (data: string, event: string) => void;

  /** `sink` gets the data of each event (lines joined) and its name, "" when it has none. */
  constructor(sink: (data: string, event: string) => void) {
    this.#sink = sink;
  }

  push(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#rest === "" && this.#pieces.length === 0) this.#rest = text;
    else if (!/[\r\n]/.test(text) && !this.#rest.endsWith("\r")) return this.#hold(text);
    else this.#join(text);
    this.#drain(false);
  }

  /** The end of the body: a last event without its blank line still counts. */
  end(): void {
    this.#join(this.#decoder.decode());
    this.#drain(true);
    if (this.#rest !== "") this.#line(this.#rest, 0, this.#rest.length);
    this.#rest = "";
    this.#dispatch();
  }

  #hold(text: string): void {
    this.#pieces.push(text);
    this.#pieceChars += text.length;
    this.#requireSize();
  }

  #join(text: string): void {
    this.#rest = [this.#rest, ...this.#pieces, text].join("");
    this.#pieces = [];
    this.#pieceChars = 0;
  }

  #requireSize(): void {
    if (this.#rest.length + this.#pieceChars + (this.#data?.length ?? 0) > MAX_EVENT_CHARS)
      throw new Malformed("a single event of the stream has more than 64 MB");
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
    // Without this a 2 MB event in 4 kB pieces would be searched from its start 500 times. A final CR is looked at
    // again.
    this.#scanned = Math.max(0, this.#rest.length - 1);
    this.#requireSize();
  }

  #line(text: string, start: number, end: number): void {
    if (start === end) return this.#dispatch();
    while (text.charCodeAt(start) === 32) start++;
    if (text.startsWith("data:", start)) {
      const given = text.slice(text.charCodeAt(start + 5) === 32 ? start + 6 : start + 5, end);
      // A gateway that wraps the events of another.
      const value = given.startsWith("data:") ? given.replace(/^(?:data: ?)+/, "") : given;
      if (this.#data !== undefined && startsAnother(this.#data, value)) this.#split();
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (text.startsWith("event:", start)) {
      const name = text.slice(start + 6, end).trim();
      if (this.#data === undefined) this.#event = name;
      else this.#late = name;
    } else if (text.startsWith("error:", start)) {
      // llama.cpp breaks off with its own field: "error: {…}".
      this.#event = "error";
      this.#data = text.slice(start + 6, end).trim();
    } else if (text.charCodeAt(start) === 123 && text.charCodeAt(end - 1) === 125 && this.#data === undefined) {
      // An event without its field name: how Ollama breaks off.
      this.#data = text.slice(start, end);
    }
    // Comments (":"), "id:", "retry:" and anything else carry nothing for us.
  }

  /** The next event begins without the blank line that ends one; a name behind the data is the next one's. */
  #split(): void {
    const next = this.#late;
    this.#late = "";
    this.#dispatch();
    this.#event = next;
  }

  #dispatch(): void {
    const data = this.#data;
    const event = this.#late || this.#event;
    this.#data = undefined;
    this.#event = "";
    this.#late = "";
    if (data !== undefined && data !== "") this.#sink(data, event);
  }
}

/** No JSON document continues like this on its next line. */
function startsAnother(data: string, next: string): boolean {
  return data.endsWith("}") && (next.startsWith("{") || next === "[DONE]");
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
