/** Removes keys and tokens from text before it is logged, stored, shown in an error or sent as an event. */
import { findSecrets, merged, replaceSpans } from "./find-secrets.ts";
import { KnownSecrets, usualForms, otherForms } from "./known-secrets.ts";
import { unfinished } from "./secret-shapes.ts";

const REDACTED = "[redacted]";

/** Makes a filter for whole texts: the given secrets in their usual encodings, and well-known key shapes. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const known = knownSecrets(secrets);
  return (text) => replaceSpans(text, merged([...known.find(text), ...findSecrets(text)]), () => REDACTED);
}

/**
 * For messages of a server that got these secrets: it may echo them whole, cut, masked (`sk-ab****yz`) or encoded.
 * Built on first use, because almost no request needs it.
 */
export function echoRedactor(secrets: readonly (string | undefined)[]): (text: string) => string {
  let redact: ((text: string) => string) | undefined;
  return (text) => (redact ??= buildEcho(secrets))(text);
}

/** Only the given secrets: for the model's answers, in which the shape of a key may be what the user asked for. */
export function secretHider(secrets: readonly string[]): (text: string) => string {
  const known = knownSecrets(secrets);
  return (text) => replaceSpans(text, known.find(text), () => REDACTED);
}

/** The same for an answer that arrives in pieces: holds back only a possible beginning of a secret. */
export class HiddenSecrets {
  readonly #forms: readonly string[];
  readonly #hide: (text: string) => string;
  #pending = "";

  constructor(secrets: readonly string[]) {
    this.#forms = formsOf(secrets);
    this.#hide = secretHider(secrets);
  }

  push(delta: string): string {
    const text = this.#hide(this.#pending + delta);
    const cut = Math.min(text.length, ...this.#forms.map((form) => startOfPrefix(text, form)));
    this.#pending = text.slice(cut);
    return text.slice(0, cut);
  }

  end(): string {
    const rest = this.#pending;
    this.#pending = "";
    return rest;
  }
}

/** `redactor` for text that arrives in pieces; `redact` is the filter if there is one already. */
export function redactedStream(secrets: readonly string[], redact = redactor(secrets)): HeldText {
  const spaced = secrets.filter((secret) => secret.length >= SHORTEST && /\s/.test(secret));
  return new HeldText(redact, (text) => safeCut(text, spaced));
}

/** Text that arrives in pieces: holds back what could still become a secret, up to a limit. */
export class HeldText {
  readonly #release: (text: string) => string;
  readonly #cutAt: (text: string) => number;
  #pending = "";

  /** `cutAt` returns the length of the text that can no longer change. */
  constructor(release: (text: string) => string, cutAt: (text: string) => number) {
    this.#release = release;
    this.#cutAt = cutAt;
  }

  push(delta: string): string {
    const text = this.#pending + delta;
    let cut = this.#cutAt(text);
    if (text.length - cut > MAX_HELD) cut = text.length - MAX_HELD / 2;
    this.#pending = text.slice(cut);
    return cut === 0 ? "" : this.#release(text.slice(0, cut));
  }

  end(): string {
    const rest = this.#pending;
    this.#pending = "";
    return rest === "" ? "" : this.#release(rest);
  }
}

/** The text before this index can no longer become part of a secret. `spaced`: secrets with white space in them. */
export function safeCut(text: string, spaced: readonly string[] = []): number {
  let cut = lastSpace(text) + 1;
  for (let before = -1; before !== cut;) {
    before = cut;
    const key = text.lastIndexOf("-----BEGIN ");
    // complete when the last line of the block is before the cut
    if (key >= 0 && !/-----END [\w -]*-----/.test(text.slice(key, cut))) cut = Math.min(cut, key);
    // "Authorization: Bearer " and what follows belong together
    const lead = unfinished().exec(text.slice(Math.max(0, cut - 200), cut));
    if (lead !== null) cut -= lead[0].length;
    for (const secret of spaced) {
      const across = text.indexOf(secret, Math.max(0, cut - secret.length + 1));
      cut = Math.min(cut, startOfPrefix(text, secret), across < 0 ? cut : across);
    }
    // Any of these may begin inside a word, which may be a token: do not split it.
    if (cut !== before) cut = lastSpace(text.slice(0, cut)) + 1;
  }
  return cut;
}

/** Shorter ones would also match ordinary words. */
const SHORTEST = 6;
/** Shorter ones would match by chance in hex and base64. */
const ENCODED_FROM = 12;
const MAX_HELD = 65_536;

function knownSecrets(secrets: readonly string[]): KnownSecrets<undefined> {
  const known = new KnownSecrets<undefined>();
  for (const secret of secrets)
    if (secret.length >= SHORTEST) known.add(secret, undefined, { encoded: secret.length >= ENCODED_FROM });
  return known;
}

function formsOf(secrets: readonly string[]): readonly string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST) continue;
    forms.add(secret);
    for (const form of usualForms(secret)) forms.add(form);
    if (secret.length >= ENCODED_FROM) for (const form of otherForms(secret)) forms.add(form);
  }
  return [...forms];
}

function buildEcho(secrets: readonly (string | undefined)[]): (text: string) => string {
  const known = new KnownSecrets<undefined>();
  const masked: RegExp[] = [];
  for (const secret of secrets) {
    if (!secret || secret.length < 4 || PLACEHOLDERS.has(secret)) continue;
    known.add(secret, undefined, { encoded: true, parts: ECHO_PART });
    masked.push(maskedForm(secret));
  }
  if (known.empty) return (text) => text;
  return (text) => {
    const whole = replaceSpans(
      text,
      known.find(text).filter(({ form }) => form !== "part"),
      () => REDACTED,
    );
    const clean = masked.reduce((left, pattern) => left.replace(pattern, REDACTED), whole);
    return replaceSpans(clean, known.find(clean), () => REDACTED);
  };
}

/** This many characters of a key in a row are a piece of it; fewer may be chance. */
const ECHO_PART = 8;

/** Keys that people set for a local server that wants any key; removing these words would only garble messages. */
const PLACEHOLDERS = new Set([
  "ollama",
  "none",
  "dummy",
  "test",
  "local",
  "lm-studio",
  "not-needed",
  "no-key",
  "sk-no-key-required",
]);

/** "sk-ab****wxyz", "sk-…wxyz": the beginning, a mask, and possibly the end. */
function maskedForm(secret: string): RegExp {
  const heads: string[] = [];
  const tails: string[] = [];
  for (let length = Math.min(secret.length - 1, 64); length >= 2; length--) {
    if (length >= 3) heads.push(RegExp.escape(secret.slice(0, length)));
    tails.push(RegExp.escape(secret.slice(-length)));
  }
  return new RegExp(`(?:${heads.join("|")})(?:[*•·…●]|\\.\\.)[*•·…●.]*(?:${tails.join("|")})?`, "g");
}

function lastSpace(text: string): number {
  for (let i = text.length - 1; i >= 0; i--) if (/\s/.test(text[i] ?? "")) return i;
  return -1;
}

/** Where the longest suffix of `text` that `secret` starts with begins; the length of `text` if there is none. */
function startOfPrefix(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length); length > 0; length--)
    if (text.endsWith(secret.slice(0, length))) return text.length - length;
  return text.length;
}

/** A filter for streamed text that may hold back its end. */
export interface TextFilter {
  push(delta: string): string;
  end(): string;
}

interface Streamed {
  readonly type: string;
}

/** Filters the text and reasoning deltas of events; releases held text before an event that must come after it. */
export class HeldDeltas<E extends Streamed> {
  readonly #filter: () => TextFilter | undefined;
  #open: { readonly filter: TextFilter; last: E & { delta: string } } | undefined;

  constructor(filter: () => TextFilter | undefined) {
    this.#filter = filter;
  }

  through(event: E): E[] {
    if (event.type === "discard") this.#open = undefined;
    if (!isDelta(event)) return ENDS.has(event.type) ? [...this.#rest(), event] : [event];
    const before = this.#open?.last.type === event.type ? [] : this.#rest();
    if (this.#open === undefined) {
      const filter = this.#filter();
      if (filter === undefined) return [...before, event];
      this.#open = { filter, last: event };
    }
    this.#open.last = event;
    const delta = this.#open.filter.push(event.delta);
    return delta === "" ? before : [...before, { ...event, delta }];
  }

  #rest(): E[] {
    if (this.#open === undefined) return [];
    const { filter, last } = this.#open;
    this.#open = undefined;
    const delta = filter.end();
    return delta === "" ? [] : [{ ...last, delta }];
  }
}

/** After these events no more of the same text comes. Notices of the target may come in its middle. */
const ENDS = new Set(["message", "tool_started", "retry", "turn", "error", "done"]);

function isDelta<E extends Streamed>(event: E): event is E & { delta: string } {
  return event.type === "text" || event.type === "reasoning";
}
