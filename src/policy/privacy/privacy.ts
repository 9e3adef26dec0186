/**
 * Hides secrets from the model: each gets a name in the session, `‹secret-3: AWS key›`, which is replaced by its value
 * only on the target.
 */
import { collectAfter } from "../../lib/large-texts.ts";
import { findSecrets, replaceSpans, type SecretSpan } from "../../lib/secrets/find-secrets.ts";
import { type KnownSpan, KnownSecrets } from "../../lib/secrets/known-secrets.ts";
import { HeldText, safeCut } from "../../lib/secrets/redact.ts";
import { PLACE_WORDS, placeHint, unfinished } from "../../lib/secrets/secret-shapes.ts";
import { detached } from "../../lib/text.ts";
import type { SecretValue } from "./outgoing-secret.ts";
import { isListing, listedSecrets, type OutputKind, suggestsSecret } from "./listed-secrets.ts";
import { insertLiterals } from "./shell-literal.ts";

export interface NamedSecret {
  readonly number: number;
  /** Such as "AWS key". */
  readonly kind: string;
  /** Where it was first seen, in words: "run_shell: cat .env", "prompt". */
  readonly from: string;
  readonly value: string;
}

export interface PrivacyOptions {
  /** [privacy] to_model; false: the model sees secrets. */
  readonly mask: boolean;
  /** buddy's own keys, which get no name. Keys are only added to this list. */
  own(): readonly string[];
  /** The list of secrets has changed and should be stored with the session. */
  changed?(): void;
}

export interface MaskContext {
  /** For /privacy. */
  readonly from: string;
  readonly output?: OutputKind;
  /** Text is missing before or after this one: it may begin or end inside a secret. */
  readonly cutStart?: boolean;
  readonly cutEnd?: boolean;
}

export class Privacy {
  readonly #options: PrivacyOptions;
  #secrets = new Map<number, NamedSecret>();
  #byValue = new Map<string, NamedSecret>();
  #next = 1;
  /** Secrets that are masked wherever they appear, not only where they were found. */
  #known: KnownSecrets<number> | undefined;
  /** Secrets that were inserted into a command: from then on even plain words are masked everywhere. */
  readonly #used = new Set<number>();
  /** Decoded base64 of a secret, and its kind: gets a name when it is seen. */
  readonly #watched = new Map<string, string>();
  /** What the current command prints: for its stored output. */
  #storing: OutputKind = "ordinary";
  #screen: OutputKind = "ordinary";
  /** Whether a text shows a secret in another form; set with the first command, so that a start does not load it. */
  dumpsSecret?: (text: string) => boolean;
  #own: { readonly keys: readonly string[]; readonly known: KnownSecrets<undefined> } | undefined;

  constructor(options: PrivacyOptions) {
    this.#options = options;
  }

  get enabled(): boolean {
    return this.#options.mask;
  }

  set storing(output: OutputKind) {
    this.#storing = output;
    if (isListing(output)) this.#screen = "screen";
  }

  /** What a terminal shows: it may contain a listing of variables long after the command. */
  get screen(): OutputKind {
    return this.#screen;
  }

  get empty(): boolean {
    return this.#secrets.size === 0;
  }

  list(): readonly NamedSecret[] {
    return [...this.#secrets.values()];
  }

  get(number: number): NamedSecret | undefined {
    return this.#secrets.get(number);
  }

  /** Forgets the value; its name has no value from then on. */
  drop(number: number): boolean {
    const secret = this.#secrets.get(number);
    if (secret === undefined) return false;
    this.#secrets.delete(number);
    this.#byValue.delete(secret.value);
    this.#known = undefined;
    this.#options.changed?.();
    return true;
  }

  /** Replaces all secrets by those of another session. */
  restore(secrets: readonly NamedSecret[]): void {
    this.#secrets = new Map(secrets.map((secret) => [secret.number, secret]));
    this.#byValue = new Map(secrets.map((secret) => [secret.value, secret]));
    this.#next = Math.max(0, ...this.#secrets.keys()) + 1;
    this.#used.clear();
    this.#watched.clear();
    this.#screen = "ordinary";
    this.#known = undefined;
  }

  /** The text with names for secrets, for the model. */
  mask(text: string, context: MaskContext): string {
    if (text === "") return text;
    if (!this.enabled) return this.hideOwn(text);
    // Fast path: most prompts are a sentence.
    const whole =
      text.length < LONG_TEXT && context.output === undefined && context.cutStart !== true && context.cutEnd !== true;
    if (whole && this.#secrets.size === 0 && !mayContainSecrets(text) && this.dumpsSecret?.(text) !== true)
      return this.hideOwn(text);
    const clean = this.hideOwn(text);
    const spans = this.#spans(clean, context);
    // A flood of output arrives in small pieces.
    if (clean.length <= 8 * LONG_TEXT) collectAfter(SPAN * spans.length);
    return replaceSpans(clean, spans, (span, value) => this.#replacement(span, value, context.from));
  }

  /** Masks known secrets only: for buddy's own messages. */
  maskKnown(text: string): string {
    if (this.#secrets.size === 0) return text;
    return replaceSpans(text, this.#knownSecrets().find(text), ({ tag, form }) => this.#shown(tag, form));
  }

  /**
   * Replaces secrets in stored output by stars, byte by byte, because it is read by offset. Secrets of a listing also
   * get names here: the screen may show it later although no call waits for it.
   */
  stars(output: OutputKind = this.#storing): (text: string) => string {
    return (text) => {
      const own = replaceSpans(text, this.#ownSecrets().find(text), (_, value) => stars(value));
      if (!this.enabled) return own;
      const whole = isListing(output) ? own.lastIndexOf("\n") : -1;
      return replaceSpans(own, this.#spans(own, { from: "", output }), (span, value) => {
        if (span.end <= whole) this.#replacement(span, value, "output of a command");
        return stars(value);
      });
    };
  }

  /** Removes buddy's own keys, whatever the setting is. */
  hideOwn(text: string): string {
    return replaceSpans(text, this.#ownSecrets().find(text), () => "[redacted]");
  }

  /** For output that arrives in pieces: an end that may become a secret is held back, up to a limit. */
  stream(context: MaskContext): HeldText {
    const cutAt = (context.output ?? "ordinary") === "ordinary" ? afterLastWord : afterLastLine;
    return new HeldText((text) => this.mask(text, context), cutAt);
  }

  /** The names in a text of the model; `unknown` are those without a value. */
  used(text: string): { readonly names: readonly string[]; readonly unknown: readonly string[] } {
    const names = new Set<string>();
    const unknown = new Set<string>();
    for (const [written, number] of text.matchAll(new RegExp(ANY_NAME, "g"))) {
      const secret = new RegExp(`^${NAME}$`).test(written) ? this.#secrets.get(Number(number)) : undefined;
      if (secret === undefined) unknown.add(written);
      else names.add(nameOf(secret));
    }
    return { names: [...names], unknown: [...unknown] };
  }

  /** The text with values instead of names, only for the target. */
  reveal(text: string): string {
    return text.replaceAll(new RegExp(NAME, "g"), (written, number: string) => this.#take(Number(number)) ?? written);
  }

  /** The same for a command: the shell reads each value as literal text. */
  revealCommand(command: string, shell: string): string {
    const dialect = shell === "fish" ? "fish" : "posix";
    return insertLiterals(
      command,
      new RegExp(NAME),
      ([written, number]) => this.#take(Number(number)) ?? written,
      dialect,
    );
  }

  /** The values that no URL and no query may contain. */
  values(): SecretValue[] {
    const own = this.#options.own().filter((key) => key.length >= 6);
    const named = this.list().map((secret) => ({ value: secret.value, name: nameOf(secret) }));
    return [...own.map((value) => ({ value, name: "a key of buddy's own" })), ...named];
  }

  #take(number: number): string | undefined {
    const secret = this.#secrets.get(number);
    if (secret !== undefined && !this.#used.has(number)) {
      this.#used.add(number);
      this.#known = undefined;
    }
    return secret?.value;
  }

  #spans(text: string, context: MaskContext): Span[] {
    const found: Span[] = [...findSecrets(text), ...listedSecrets(text, context.output ?? "ordinary")].filter(
      ({ start, end }) => !isMasked(text, start, end),
    );
    for (const span of this.#knownSecrets().find(text)) found.push(span);
    for (const span of this.#atEdges(text, context)) found.push(span);
    if (this.dumpsSecret?.(text) === true) found.push({ start: 0, end: text.length, edge: true });
    for (const [value, kind] of this.#watched)
      for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
        found.push({ start: at, end: at + value.length, kind });
    return widest(found);
  }

  #replacement(span: Span, value: string, from: string): string {
    if ("edge" in span) return "[redacted]";
    if ("tag" in span && span.form !== "whole") return this.#shown(span.tag, span.form);
    const kind = "kind" in span ? span.kind : (this.#secrets.get(span.tag)?.kind ?? "secret");
    return this.#name(value, kind, from);
  }

  #shown(number: number, form: KnownSpan<number>["form"]): string {
    const secret = this.#secrets.get(number);
    if (secret === undefined) return "[redacted]";
    return form === "whole" ? nameOf(secret) : `‹secret-${number}, ${form}›`;
  }

  #name(value: string, kind: string, from: string): string {
    const known = this.#byValue.get(value);
    if (known !== undefined) return nameOf(known);
    if (this.#secrets.size >= MOST_SECRETS) return "[redacted]";
    const secret = {
      number: this.#next++,
      kind: kind.replace(/[‹›\s]+/g, " "),
      from: from.slice(0, LONGEST_FROM),
      value: detached(value),
    };
    this.#secrets.set(secret.number, secret);
    this.#byValue.set(secret.value, secret);
    this.#learn(secret);
    const inside = decoded(value);
    if (inside !== undefined) this.#watched.set(inside, kind);
    this.#options.changed?.();
    return nameOf(secret);
  }

  #knownSecrets(): KnownSecrets<number> {
    if (this.#known !== undefined) return this.#known;
    this.#known = new KnownSecrets();
    for (const secret of this.#secrets.values()) this.#learn(secret);
    return this.#known;
  }

  #learn({ value, number, kind }: NamedSecret): void {
    // The value of a variable whose name suggests nothing may be an ordinary word, such as `web-01`.
    const distinct = isDistinct(value) && (!kind.startsWith("value of ") || suggestsSecret(kind) || isRandom(value));
    if (!distinct && !this.#used.has(number)) return;
    this.#known?.add(value, number, {
      encoded: distinct && value.length >= 10,
      parts: value.length >= 18 && isRandom(value) ? 12 : 0,
    });
  }

  #ownSecrets(): KnownSecrets<undefined> {
    const keys = this.#options.own();
    if (this.#own?.keys.length === keys.length) return this.#own.known;
    const known = new KnownSecrets<undefined>();
    for (const key of keys) if (key.length >= 6) known.add(key, undefined, { encoded: key.length >= 12 });
    this.#own = { keys: [...keys], known };
    return known;
  }

  /** Where a text was cut, a part of a secret may remain that no pattern recognises. */
  #atEdges(text: string, { cutStart, cutEnd }: MaskContext): Span[] {
    const spans: Span[] = [];
    if (cutEnd === true) {
      const token = /[^\s"'`=:,;]*$/.exec(text)?.[0] ?? "";
      const start = text.length - token.length;
      const led = unfinished().test(text.slice(Math.max(0, start - 200), start));
      if (token !== "" && (led || BEGUN.test(token))) spans.push({ start, end: text.length, edge: true });
    }
    if (cutStart === true) {
      const rest =
        /^(?:[A-Za-z0-9+/=]{16,76}\r?\n)+(?:[A-Za-z0-9+/=]+|-----END [A-Z0-9 ]*-----)?/.exec(text)?.[0] ?? "";
      const token = /^[A-Za-z0-9+/=_.~%-]{6,}/.exec(text)?.[0] ?? "";
      const end = Math.max(rest.length, isRandom(token) ? token.length : 0);
      if (end > 0) spans.push({ start: 0, end, edge: true });
    }
    return spans;
  }
}

type Span = SecretSpan | KnownSpan<number> | { readonly start: number; readonly end: number; readonly edge: true };

export function nameOf({ number, kind }: Pick<NamedSecret, "number" | "kind">): string {
  return `‹secret-${number}: ${kind}›`;
}

/** A name as the model may write it; only the number matters. */
const NAME = "‹secret-(\\d{1,6})(?:: [^›\\n]{0,80})?›";
/** Also the forms that have no value (`‹secret-3, encoded›`). */
const ANY_NAME = "‹secret-(\\d{1,6})[^›\\n]{0,100}›";

const MOST_SECRETS = 2_000;
const LONGEST_FROM = 120;
const LONG_TEXT = 4096;
/** Garbage of one secret, roughly. */
const SPAN = 1024;

/**
 * Every text with a secret has one of these words or signs, or a long token; ordinary sentences have none. Not a
 * regular expression: compiling it took longer than reading a whole prompt here.
 */
function mayContainSecrets(text: string): boolean {
  let token = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === EQUALS || code === AT || (code === COLON && text.charCodeAt(at + 1) > SPACE)) return true;
    token = isTokenSign(code) ? token + 1 : 0;
    if (token === LONG_TOKEN) return true;
  }
  const small = text.toLowerCase();
  for (const word of SECRET_WORDS) if (small.includes(word)) return true;
  return false;
}

function isTokenSign(code: number): boolean {
  // Digits, letters, and _ + / . - of base64 and of names.
  if (code >= 97) return code <= 122;
  if (code >= 65) return code <= 90 || code === 95;
  return code >= 45 ? code <= 57 : code === 43;
}

const [EQUALS, AT, COLON, SPACE] = [61, 64, 58, 32];
const LONG_TOKEN = 14;
const SECRET_WORDS = `${PLACE_WORDS} -----begin scram-sha {s`.split(" ");

/** The beginning of a well-known key. */
const BEGUN =
  /^(?:AKIA|ASIA|sk-|sk_|rk_|gh[pousr]_|github_pat|gl(?:pat|ptt|dt|rt)-|xox|xapp-|AIza|ya29|eyJ|npm_|pypi-|hf_|hv[sbr]\.|SG\.|dckr_|whsec_)/;

/** Not an ordinary word, number or path: wherever it appears, it is this secret. */
function isDistinct(value: string): boolean {
  return (
    value.length >= 6 &&
    !/^[A-Za-z]+$|^[0-9.,:/ -]{1,11}$|^[A-Za-z]+(?:[-_. ][A-Za-z]+){1,2}$|^[~/.][\w./-]*$/.test(value)
  );
}

/** Mixed letters, digits and signs, unlike words, paths, dates and hashes. */
function isRandom(text: string): boolean {
  if (text.length < 10 || !/[0-9]/.test(text) || !/[A-Za-z]/.test(text) || /^[0-9a-f-]+$|^[\d.:TZ-]+$/.test(text))
    return false;
  let changes = 0;
  for (let at = 1; at < text.length; at++)
    if (classOf(text.charCodeAt(at)) !== classOf(text.charCodeAt(at - 1))) changes++;
  return changes >= text.length / 4;
}

function classOf(code: number): number {
  if (code >= 97 && code <= 122) return 1;
  if (code >= 65 && code <= 90) return 2;
  return code >= 48 && code <= 57 ? 3 : 4;
}

function isMasked(text: string, start: number, end: number): boolean {
  const first = text.charAt(start);
  if (first !== "‹" && first !== "[") return false;
  const value = text.slice(start, end);
  return /^(?:‹secret-\d+[^›]*›|\[redacted\])$/.test(value);
}

/** The text inside base64; of `user:password` only the password. */
function decoded(value: string): string | undefined {
  if (!/^[A-Za-z0-9+/]{8,4000}={0,2}$/.test(value) || value.replace(/=+$/, "").length % 4 === 1) return undefined;
  const text = Buffer.from(value, "base64").toString();
  if (!/^[\x20-\x7e\n]{6,}$/.test(text)) return undefined;
  const inner = /^[^:\s]{1,100}:(\S{6,})$/.exec(text)?.[1] ?? text.trim();
  return isDistinct(inner) ? inner : undefined;
}

/** Of overlapping spans the one that covers the others, or else one over all of them. */
function widest(spans: Span[]): Span[] {
  spans.sort((a, b) => a.start - b.start || b.end - a.end || rank(a) - rank(b));
  const out: Span[] = [];
  for (const span of spans) {
    const last = out.at(-1);
    if (last === undefined || span.start >= last.end) out.push(span);
    else if (span.end > last.end) {
      const kind = "kind" in last ? last.kind : "kind" in span ? span.kind : "secret";
      out[out.length - 1] = { start: last.start, end: span.end, kind };
    }
  }
  return out;
}

/** Of two spans over the same text: a whole known secret first, then one found by its form. */
function rank(span: Span): number {
  if ("tag" in span) return span.form === "whole" ? 0 : 2;
  return "kind" in span ? 1 : 3;
}

function stars(value: string): string {
  return "*".repeat(Buffer.byteLength(value));
}

function afterLastLine(text: string): number {
  return text.lastIndexOf("\n") + 1;
}

function afterLastWord(text: string): number {
  const cut = safeCut(text);
  // An end that cannot begin a secret (`[y/N]`) is not held back.
  return cut < text.length && text.length - cut < 80 && harmlessEnd(text, cut) ? text.length : cut;
}

function harmlessEnd(text: string, cut: number): boolean {
  const end = text.slice(cut);
  if (/[0-9\s]|[A-Za-z_-]$/.test(end) || placeHint().for(end)?.test(end) === true) return false;
  return !unfinished().test(text.slice(Math.max(0, cut - 200)));
}
