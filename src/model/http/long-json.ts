/**
 * JSON of megabytes, read while it comes: its long strings are set aside, so that the rest is short to parse, and one
 * that repeats what is known is not kept again. Otherwise bytes, text and values would all be in memory at once.
 */
import { GrowingText } from "../../lib/growing-text.ts";
import { stringText } from "../protocols/repeated-text.ts";

interface LongJsonOptions {
  /** Gets the long strings. */
  readonly aside: string[];
  /** Texts that may come again. */
  known(): readonly string[];
  /** Characters of a long string. */
  readonly longFrom?: number;
}

export class LongJson {
  readonly #options: LongJsonOptions;
  #short = new GrowingText();
  #string: OpenString | undefined;
  /** The beginning of an escape. */
  #held = "";

  constructor(options: LongJsonOptions) {
    this.#options = options;
  }

  push(given: string): void {
    const text = this.#held + given;
    this.#held = "";
    for (let at = 0; ;) {
      const string = this.#string;
      const quote = string === undefined ? text.indexOf('"', at) : closingQuote(text, at);
      const end = quote >= 0 ? quote : string === undefined ? text.length : beforeOpenEscape(text, at);
      (string ?? this.#short).add(text.slice(at, end));
      if (quote < 0) return void (this.#held = text.slice(end));
      if (string === undefined) this.#string = new OpenString(this.#options);
      else this.#close(string);
      at = quote + 1;
    }
  }

  /** All of it, with a mark in place of each long string. */
  end(): string {
    if (this.#string !== undefined) this.#short.add(`"${this.#string.raw}`);
    this.#short.add(this.#held);
    return this.#short.toString();
  }

  #close(string: OpenString): void {
    const { aside } = this.#options;
    const { value } = string;
    this.#short.add(`"${value === undefined ? string.raw : `${mark()}${aside.length}`}"`);
    if (value !== undefined) aside.push(value);
    this.#string = undefined;
  }
}

/** A parsed value with its long strings in their places. */
export function restored(value: unknown, aside: readonly string[]): unknown {
  if (aside.length === 0 || value === null) return value;
  if (typeof value === "string")
    return value.startsWith(mark()) ? (aside[Number(value.slice(mark().length))] ?? value) : value;
  if (Array.isArray(value)) return value.map((item) => restored(item, aside));
  if (typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map((entry) => restored(entry, aside) as [string, unknown]));
}

/** No server can know it. */
const mark = () => (nonce ??= `${crypto.randomUUID()} `);
let nonce: string | undefined;

class OpenString {
  readonly #options: LongJsonOptions;
  /** As it was sent, while it is short. */
  #raw = new GrowingText();
  #text: GrowingText | undefined;
  /** What it repeats, and how much of that has come. */
  #same: string | undefined;
  #sameChars = 0;
  #broken = false;

  constructor(options: LongJsonOptions) {
    this.#options = options;
  }

  get raw(): string {
    return this.#raw.toString();
  }

  /** Only of a long one. */
  get value(): string | undefined {
    return this.#same?.slice(0, this.#sameChars) ?? this.#text?.toString();
  }

  add(raw: string): void {
    this.#raw.add(raw);
    const isShort = this.#same === undefined && this.#text === undefined;
    if (this.#broken || (isShort && this.#raw.length < (this.#options.longFrom ?? LONG_STRING))) return;
    const piece = stringText(this.raw);
    if (piece === undefined) {
      // Not JSON: kept as it was sent, for the error message.
      this.#broken = true;
      this.#raw = new GrowingText(JSON.stringify(this.value ?? "").slice(1, -1) + this.raw);
      this.#text = this.#same = undefined;
      return;
    }
    this.#raw = new GrowingText();
    if (isShort) this.#same = this.#options.known().find((text) => text.startsWith(piece));
    if (this.#same?.startsWith(piece, this.#sameChars)) this.#sameChars += piece.length;
    else {
      this.#text ??= new GrowingText(this.value);
      this.#same = undefined;
      this.#text.add(piece);
    }
  }
}

const LONG_STRING = 64 * 1024;
const BACKSLASH = 92;

function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at >= 0 && backslashesBefore(text, at, from) % 2 === 1) at = text.indexOf('"', at + 1);
  return at;
}

/** Where an escape begins whose end has not come, or the end of the text. */
function beforeOpenEscape(text: string, from: number): number {
  const at = text.lastIndexOf("\\");
  const isOpen = at === text.length - 1 || (text[at + 1] === "u" && at > text.length - ESCAPE);
  return at >= from && isOpen && backslashesBefore(text, at, from) % 2 === 0 ? at : text.length;
}

/** The length of `\u0000`. */
const ESCAPE = 6;

function backslashesBefore(text: string, at: number, from: number): number {
  let start = at;
  while (start > from && text.charCodeAt(start - 1) === BACKSLASH) start--;
  return at - start;
}
