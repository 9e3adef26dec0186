/**
 * Finds given secrets in a text, in the usual encodings, and long pieces of them; the time depends on the text only,
 * not on the number of secrets.
 */
import type { WindowSteps } from "./long-texts.ts";

export interface KnownSpan<T> {
  readonly start: number;
  readonly end: number;
  readonly tag: T;
  /** Whole: the secret itself. Encoded: percent, JSON, base64, hex or reversed. Part: a piece of it. */
  readonly form: "whole" | "encoded" | "part";
}

export interface KnownOptions {
  /** Also in encodings other than JSON and percent; short secrets would match by chance there. */
  readonly encoded?: boolean;
  /** This many characters in a row count as a piece of the secret; 0: only the whole. */
  readonly parts?: number;
}

export class KnownSecrets<T> {
  /** What begins with each hash of four characters: nothing, only LONGER candidates, or ANY. */
  #heads = NONE;
  /** Whether the next four characters have this hash in any longer candidate: few other texts get past it. */
  #seconds = NONE;
  /** By the hash of the first four characters, then by length: thousands of tokens may begin alike. */
  readonly #candidates = new Map<number, Map<number, Map<string, Candidate<T>>>>();
  /** The length of the shortest candidate. */
  #shortest = LONGEST_WINDOW;
  #steps: WindowSteps | undefined;
  #size = 0;

  get empty(): boolean {
    return this.#size === 0;
  }

  /** Ignores secrets of fewer than four characters: they cannot be distinguished from ordinary text. */
  add(secret: string, tag: T, { encoded = false, parts = 0 }: KnownOptions = {}): void {
    if (secret.length < HEAD) return;
    const taken = new Set<string>();
    const put = (text: string, form: KnownSpan<T>["form"]): void => {
      if (text.length < HEAD || taken.has(text)) return;
      taken.add(text);
      this.#put({ text, tag, form });
    };
    put(secret, "whole");
    for (const text of usualForms(secret)) put(text, "encoded");
    if (encoded) for (const text of otherForms(secret)) put(text, "encoded");
    if (parts < HEAD || secret.length <= parts) return;
    // For a long secret (a private key) every eighth piece is enough: a match is extended in both directions.
    const long = secret.length > LONG;
    const length = long ? Math.max(parts, LONG_PART) : parts;
    for (const source of long ? [secret] : taken)
      for (let at = 0; at + length <= source.length; at += long ? 8 : 1)
        this.#put({ text: source.slice(at, at + length), tag, form: "part", source, at });
  }

  /** In order, without overlaps; the longest match at each position. */
  find(text: string): KnownSpan<T>[] {
    const spans: KnownSpan<T>[] = [];
    if (this.#size === 0) return spans;
    const steps = text.length < LONG_TEXT ? undefined : this.#windowSteps();
    if (steps !== undefined) return this.#findInLong(text, steps);
    const last = text.length - HEAD;
    const heads = this.#heads;
    // A rolling hash: each character is read once.
    let head = 0;
    for (let at = 0; at < HEAD - 1; at++) head = roll(head, text.charCodeAt(at));
    for (let at = 0; at <= last; at++) {
      head = roll(head, text.charCodeAt(at + HEAD - 1));
      const known = heads[head] as number;
      if (known === 0 || (known === LONGER && !this.#secondMatches(text, at + HEAD))) continue;
      const span = this.#at(text, at, head, spans.at(-1)?.end ?? 0);
      if (span === undefined) continue;
      spans.push(span);
      for (at++; at < span.end; at++) head = roll(head, text.charCodeAt(at + HEAD - 1));
      at--;
    }
    return spans;
  }

  #findInLong(text: string, steps: WindowSteps): KnownSpan<T>[] {
    const spans: KnownSpan<T>[] = [];
    for (let at = steps.next(text, 0); at >= 0;) {
      const head = headOf(text, at);
      const span = this.#heads[head] === 0 ? undefined : this.#at(text, at, head, spans.at(-1)?.end ?? 0);
      if (span !== undefined) spans.push(span);
      at = steps.next(text, span?.end ?? at + 1);
    }
    return spans;
  }

  #windowSteps(): WindowSteps | undefined {
    if (this.#shortest < LEAST_WINDOW) return undefined;
    if (this.#steps !== undefined) return this.#steps;
    this.#steps = inLongTexts.steps?.(this.#shortest);
    for (const lengths of this.#candidates.values())
      for (const texts of lengths.values()) for (const text of texts.keys()) this.#steps?.add(text);
    return this.#steps;
  }

  #secondMatches(text: string, at: number): boolean {
    return at + HEAD <= text.length && this.#seconds[headOf(text, at)] !== 0;
  }

  #at(text: string, at: number, hash: number, least: number): KnownSpan<T> | undefined {
    let best: KnownSpan<T> | undefined;
    for (const [length, texts] of this.#candidates.get(hash) ?? []) {
      const found = texts.get(text.slice(at, at + length));
      if (found === undefined) continue;
      const { tag, form, source, at: from = 0 } = found;
      let start = at;
      let end = at + length;
      if (source !== undefined) {
        for (let next = from + length; next < source.length && source[next] === text[end]; next++) end++;
        for (let before = from - 1; before >= 0 && start > least && source[before] === text[start - 1]; before--)
          start--;
      }
      if (best === undefined || end > best.end) best = { start, end, tag, form };
    }
    return best;
  }

  #put(candidate: Candidate<T>): void {
    if (this.#size === 0) {
      this.#heads = new Uint8Array(HEADS);
      this.#seconds = new Uint8Array(HEADS);
    }
    const hash = headOf(candidate.text);
    if (candidate.text.length < this.#shortest) {
      this.#shortest = candidate.text.length;
      this.#steps = undefined;
    } else this.#steps?.add(candidate.text);
    const longer = candidate.text.length >= 2 * HEAD;
    if (longer) this.#seconds[headOf(candidate.text, HEAD)] = 1;
    if (!longer || this.#heads[hash] === 0) this.#heads[hash] = longer ? LONGER : ANY;
    const lengths = this.#candidates.get(hash) ?? new Map<number, Map<string, Candidate<T>>>();
    this.#candidates.set(hash, lengths);
    const texts = lengths.get(candidate.text.length) ?? new Map<string, Candidate<T>>();
    lengths.set(candidate.text.length, texts);
    const before = texts.get(candidate.text);
    if (before === undefined || (before.form !== "whole" && candidate.form === "whole"))
      texts.set(candidate.text, candidate);
    this.#size++;
  }
}

interface Candidate<T> {
  readonly text: string;
  readonly tag: T;
  readonly form: KnownSpan<T>["form"];
  /** For a piece: the text it is cut from, so that a match can be extended. */
  readonly source?: string;
  readonly at?: number;
}

export const HEAD = 4;
export const HEADS = 1 << 16;
/** Until there is a secret: a start without one does not clear 128 kB. */
const NONE = new Uint8Array();
/** All candidates with this head have eight characters or more; or some have fewer. */
const LONGER = 1;
const ANY = 2;
/** Set by long-texts.ts when that is loaded: a start has no long text. */
export const inLongTexts: { steps?: (window: number) => WindowSteps } = {};
const LONG_TEXT = 4096;
const LEAST_WINDOW = 8;
const LONGEST_WINDOW = 64;
/** Longer secrets are found by fewer, longer pieces. */
const LONG = 200;
const LONG_PART = 24;

/** Characters more than four back are shifted out of the sixteen bits. */
function roll(head: number, code: number): number {
  return ((head << 4) ^ code ^ (code >> 4)) & (HEADS - 1);
}

export function headOf(text: string, from = 0): number {
  const first = roll(roll(0, text.charCodeAt(from)), text.charCodeAt(from + 1));
  return roll(roll(first, text.charCodeAt(from + 2)), text.charCodeAt(from + 3));
}

/** In a URL, in JSON, and in JSON inside JSON. */
export function usualForms(secret: string): string[] {
  const url = encodeURIComponent(secret.toWellFormed());
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [url, url.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()), inJson, JSON.stringify(inJson).slice(1, -1)];
}

/** Hex, reversed, and base64 at each of the three alignments a secret can have inside a longer text (`user:key`). */
export function otherForms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const forms = [hex, hex.toUpperCase(), [...secret].toReversed().join("")];
  for (const shift of [0, 1, 2]) {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    // the first and last characters also carry bits of the neighbours
    const sure = text.slice(shift === 0 ? 0 : shift + 1, (bytes.length + shift) % 3 === 0 ? undefined : -1);
    forms.push(sure, sure.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return forms;
}
