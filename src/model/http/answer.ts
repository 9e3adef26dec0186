/**
 * Makes a reply from the bytes of one answer, whichever form it has: an event stream, one JSON document, or something
 * else.
 */
import { excerpt, Malformed, ProviderError } from "../provider-error.ts";
import { collectAfter } from "../../lib/large-texts.ts";
import { pieces } from "../../lib/text.ts";
import { DONE, type Emit, type Protocol, type Reply, type AnswerState } from "../protocols/protocol.ts";
import { GrowingText } from "../growing-text.ts";
import type { ModelEvent } from "../types.ts";

export class Answer {
  /** Events since the last `takeBatch`, deltas of one kind joined: 20 000 awaits cost more than the parsing. */
  batch: Batched[] = [];
  #protocol: Protocol;
  #state: AnswerState;
  #parser: SseParser;
  #form: "unknown" | "events" | "document" = "unknown";
  #early: Uint8Array[] = [];
  #document = new GrowingText();
  #decoder: TextDecoder | undefined;
  /** Its first character. */
  #opening: string | undefined;
  #events = 0;
  #emitted = false;

  constructor(protocol: Protocol) {
    this.#protocol = protocol;
    this.#state = protocol.begin(this.#emit);
    this.#parser = new SseParser((data, name) => {
      // What follows the end of the answer is not a part of it, whatever it says.
      if (this.complete && !protocol.restarts) return;
      this.#events++;
      protocol.step(this.#state, isMark(data) ? DONE : this.#parsed(data, name), name, this.#emit);
    });
  }

  get finished(): boolean {
    return this.#protocol.finished(this.#state);
  }

  get complete(): boolean {
    return this.#protocol.complete(this.#state);
  }

  /** Its text so far. */
  get text(): string {
    return this.#state.said.text;
  }

  push(bytes: Uint8Array): void {
    if (bytes.length <= MOST_AT_ONCE) return this.#push(bytes);
    for (let at = 0; at < bytes.length; at += MOST_AT_ONCE) this.#push(bytes.subarray(at, at + MOST_AT_ONCE));
  }

  #push(bytes: Uint8Array): void {
    this.#early.push(bytes);
    if (this.#form === "unknown") this.#form = formOf(bytes);
    if (this.#form !== "unknown") for (const early of this.#early.splice(0)) this.#pushFormed(early);
  }

  #pushFormed(bytes: Uint8Array): void {
    if (this.#form === "events") return this.#parser.push(bytes);
    collectAfter(bytes.length);
    const text = (this.#decoder ??= new TextDecoder()).decode(bytes, { stream: true });
    this.#document.add(text);
    this.#opening ??= text.trimStart()[0];
    // The beginning of a web page is enough for the error message.
    if (this.#document.length > LONGEST_PAGE && this.#opening !== "{" && this.#opening !== "[") this.#takeDocument();
  }

  takeBatch(): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    for (const one of this.batch) events.push(...("deltas" in one ? textEvents(one) : [one]));
    this.batch = [];
    return events;
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
    this.#document.add(this.#decoder?.decode() ?? "");
    const text = this.#document.toString().trim();
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

  /** Events without the form of an event stream: one per line, or one directly after the other. */
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
      // After the closing event garbage does no harm.
      if (this.finished || KEEP_ALIVE.test(data)) return undefined;
      throw new Malformed(`an event of the stream is not JSON: "${excerpt(data).slice(0, 60)}"`, true);
    });
  }

  #emit: Emit = (event) => {
    const last = this.batch.at(-1);
    if (event.type === "text") this.#emitted = true;
    if (!("delta" in event)) {
      if (last?.type === event.type) this.batch.pop();
      this.batch.push(event);
    } else if (last !== undefined && "deltas" in last && last.type === event.type) last.deltas.push(event.delta);
    else this.batch.push({ type: event.type, deltas: [event.delta] });
  };
}

const LONGEST_PAGE = 256 * 1024;

/** A busy machine may deliver megabytes at once; reading makes five times as much garbage before any is collected. */
const MOST_AT_ONCE = 256 * 1024;

function isMark(data: string): boolean {
  return data.length < MARK_CHARS && data.trim() === "[DONE]";
}

/** Longer than `[DONE]` with spaces around it. */
const MARK_CHARS = 16;
/** Words that gateways send where a comment belongs. */
const KEEP_ALIVE = /^\W{0,3}(ping|pong|keep[ -_]?alive|heartbeat|OPENROUTER PROCESSING)\W*$/i;

interface Deltas {
  readonly type: "text" | "reasoning";
  readonly deltas: string[];
}

type Batched = Exclude<Parameters<Emit>[0], { type: Deltas["type"] }> | Deltas;

/** Several for a text of megabytes: no receiver has to hold all of it once more. */
function textEvents({ type, deltas }: Deltas): ModelEvent[] {
  const text = deltas.length === 1 ? deltas[0]! : deltas.join("");
  return pieces(text, LONGEST_DELTA).map((delta) => ({ type, delta }));
}

const LONGEST_DELTA = 256 * 1024;

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

// Server-sent events from bytes that may be cut anywhere; the SDK's reader took four times as long.

/** Larger single events are a broken or hostile server. */
const MAX_EVENT_CHARS = 64 * 1024 * 1024;

export class SseParser {
  readonly #decoder = new TextDecoder();
  /** A line whose end has not come. */
  #held = new GrowingText();
  /** The last character was a CR: a LF that follows belongs to it. */
  #afterReturn = false;
  #event = "";
  /** The name that follows the data. */
  #late = "";
  #data: string | undefined;
  readonly #sink: EventSink;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  push(bytes: Uint8Array): void {
    collectAfter(bytes.length);
    this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The end of the body: a last event without its blank line still counts. */
  end(): void {
    this.#take(this.#decoder.decode());
    if (this.#held.length > 0) this.#takeHeld("");
    this.#dispatch();
  }

  #take(text: string): void {
    if (text === "") return;
    const hasReturn = text.includes("\r");
    let start = this.#afterReturn && text.charCodeAt(0) === LF ? 1 : 0;
    this.#afterReturn = text.charCodeAt(text.length - 1) === CR;
    for (;;) {
      const end = hasReturn ? nextBreak(text, start) : text.indexOf("\n", start);
      if (end < 0) break;
      if (this.#held.length > 0) this.#takeHeld(text.slice(start, end));
      else this.#line(text, start, end);
      start = text.charCodeAt(end) === CR && text.charCodeAt(end + 1) === LF ? end + 2 : end + 1;
    }
    this.#held.add(text.slice(start));
    if (this.#held.length + (this.#data?.length ?? 0) > MAX_EVENT_CHARS)
      throw new Malformed("a single event of the stream has more than 64 MB");
  }

  /** The line that is held, with its end. */
  #takeHeld(end: string): void {
    this.#held.add(end);
    const line = this.#held.toString();
    this.#held = new GrowingText();
    this.#line(line, 0, line.length);
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
    // Comments (":"), "id:", "retry:" and anything else are ignored.
  }

  /** The next event begins without the blank line that ends one; a name after the data is the next one's. */
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
    if (data === undefined || data === "") return;
    this.#sink(data, event);
    collectAfter(data.length);
  }
}

/** Gets the data of each event (lines joined) and its name, "" if it has none. */
type EventSink = (data: string, event: string) => void;

/** No JSON document continues like this on its next line. */
function startsAnother(data: string, next: string): boolean {
  return data.endsWith("}") && (next.startsWith("{") || next === "[DONE]");
}

const LF = 10;
const CR = 13;

function nextBreak(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === LF || code === CR) return at;
  }
  return -1;
}
