/** Takes keys and tokens out of text before it is logged, stored, shown in an error or sent as an event. */
import { inPlace, MAY_STAND_IN_PLACE, shapes, unfinished } from "./secret-shapes.ts";

const REDACTED = "[redacted]";

/** Makes a filter for whole texts: the given secrets in their usual encodings, and well-known key shapes. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const known = knownForms(secrets);
  return (text) => {
    const withoutKnown = known === undefined ? text : text.replace(known, REDACTED);
    const withoutShapes = withoutKnown.replace(shapes(), REDACTED);
    return MAY_STAND_IN_PLACE.test(withoutShapes)
      ? withoutShapes.replace(inPlace(), `$<lead>${REDACTED}`)
      : withoutShapes;
  };
}

/** Only the given secrets: for the model's answers, in which a shape may be just what was asked for. */
export function secretHider(secrets: readonly string[]): (text: string) => string {
  const known = knownForms(secrets);
  return (text) => (known === undefined ? text : text.replace(known, REDACTED));
}

/** Only the given secrets, with as many bytes in their place: for stored text that is read by offset. */
export function secretMask(secrets: readonly string[]): (text: string) => string {
  const known = knownForms(secrets);
  return (text) =>
    known === undefined ? text : text.replace(known, (secret) => "*".repeat(Buffer.byteLength(secret)));
}

/** The same for an answer that arrives in pieces: holds back only what a secret may begin with. */
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

/** The same as `redactor` for text that arrives in pieces: holds back what could still become a secret, up to a bound. */
export class RedactedStream {
  readonly #redact: (text: string) => string;
  readonly #secrets: readonly string[];
  #pending = "";

  constructor(secrets: readonly string[]) {
    this.#redact = redactor(secrets);
    this.#secrets = secrets.filter((secret) => secret.length >= SHORTEST);
  }

  push(delta: string): string {
    this.#pending += delta;
    let cut = this.#safeCut();
    if (this.#pending.length - cut > MAX_HELD) cut = this.#pending.length - MAX_HELD / 2;
    const ready = this.#pending.slice(0, cut);
    this.#pending = this.#pending.slice(cut);
    return this.#redact(ready);
  }

  end(): string {
    const rest = this.#redact(this.#pending);
    this.#pending = "";
    return rest;
  }

  /** Everything before this index can no longer become part of a secret. */
  #safeCut(): number {
    const text = this.#pending;
    let cut = lastSpace(text) + 1;
    const key = text.lastIndexOf("-----BEGIN ");
    // complete once the whole last line of the block lies before the cut
    if (key >= 0 && !/-----END [A-Z0-9 ]*-----/.test(text.slice(key, cut))) cut = Math.min(cut, key);
    // "Authorization: Bearer " and what follows belong together
    const lead = unfinished().exec(text.slice(Math.max(0, cut - 200), cut));
    if (lead !== null) cut -= lead[0].length;
    for (const secret of this.#secrets) {
      if (!/\s/.test(secret)) continue;
      const across = text.indexOf(secret, Math.max(0, cut - secret.length + 1));
      cut = Math.min(cut, startOfPrefix(text, secret), across < 0 ? cut : across);
    }
    return cut;
  }
}

/** Shorter ones would take ordinary words out of ordinary text. */
const SHORTEST = 6;
const MAX_HELD = 65_536;

function knownForms(secrets: readonly string[]): RegExp | undefined {
  const forms = formsOf(secrets);
  return forms.length === 0 ? undefined : new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), "g");
}

/** Longest first. */
function formsOf(secrets: readonly string[]): readonly string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST) continue;
    forms.add(secret);
    forms.add(encodeURIComponent(secret.toWellFormed()));
    const inJson = JSON.stringify(secret).slice(1, -1);
    forms.add(inJson);
    forms.add(JSON.stringify(inJson).slice(1, -1));
    if (secret.length >= 12) for (const form of encoded(secret)) forms.add(form);
  }
  return [...forms].sort((a, b) => b.length - a.length);
}

/** Hex, and base64 at each of the three alignments a secret can have inside a longer text (`user:key`). */
function encoded(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const forms = [bytes.toString("hex"), encodeURIComponent(secret.toWellFormed()).toLowerCase()];
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

function lastSpace(text: string): number {
  for (let i = text.length - 1; i >= 0; i--) if (/\s/.test(text[i] ?? "")) return i;
  return -1;
}

/** Index of the longest suffix of `text` that `secret` starts with; the length of `text` when there is none. */
function startOfPrefix(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length); length > 0; length--)
    if (text.endsWith(secret.slice(0, length))) return text.length - length;
  return text.length;
}
