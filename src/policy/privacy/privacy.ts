/**
 * Keeps secrets from the model: each gets a name in the session, `‹secret-3: AWS key›`, which becomes its value only
 * on the target.
 */
import { collectAfter } from "../../lib/garbage.ts";
import { findSecrets, replaceSpans, type SecretSpan } from "../../lib/secrets/find-secrets.ts";
import { type KnownSpan, KnownSecrets } from "../../lib/secrets/known-secrets.ts";
import { HeldText, safeCut } from "../../lib/secrets/redact.ts";
import { placeHint, unfinished } from "../../lib/secrets/secret-shapes.ts";
import { detached } from "../../lib/text.ts";
import { isTellingName, listedSecrets } from "./listed-secrets.ts";
import type { SecretValue } from "./outgoing-secret.ts";
import { isListing, type OutputKind } from "./output-kind.ts";
import { insertLiterals } from "./shell-literal.ts";

export interface NamedSecret {
  readonly number: number;
  /** Such as "AWS key". */
  readonly kind: string;
  /** Where it was met first, in words: "run_shell: cat .env", "prompt". */
  readonly from: string;
  readonly value: string;
}

export interface PrivacyOptions {
  /** [privacy] to_model: false leaves what the model gets as it is. */
  readonly mask: boolean;
  /** buddy's own keys: never named, never put in. */
  own(): readonly string[];
  /** The list has changed; it is to be kept with the session. */
  changed?(): void;
}

export interface MaskContext {
  /** For /privacy. */
  readonly from: string;
  readonly output?: OutputKind;
  /** Text is missing before or after this one: a secret may be cut there. */
  readonly cutStart?: boolean;
  readonly cutEnd?: boolean;
}

export class Privacy {
  readonly #options: PrivacyOptions;
  #secrets = new Map<number, NamedSecret>();
  #byValue = new Map<string, NamedSecret>();
  #next = 1;
  /** Those that are masked wherever they appear, not only in the place where they were found. */
  #known: KnownSecrets<number> | undefined;
  /** Plain words that were put into a command: from then on they are masked everywhere, too. */
  readonly #used = new Set<number>();
  /** What a secret holds inside (decoded base64): named when it is seen. */
  readonly #watched = new Map<string, string>();
  /** What the command prints that begins now: for its stored output. */
  #storing: OutputKind = "ordinary";
  #screen: OutputKind = "ordinary";
  /** Whether a text shows a secret in another form; set with the first command, as a start does without it. */
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

  /** What a terminal shows: a listing of variables may be there long after the command that printed it. */
  get screen(): OutputKind {
    return this.#screen;
  }

  /** No secret was met yet. */
  get empty(): boolean {
    return this.#secrets.size === 0;
  }

  list(): readonly NamedSecret[] {
    return [...this.#secrets.values()];
  }

  get(number: number): NamedSecret | undefined {
    return this.#secrets.get(number);
  }

  /** Forgets the value; its name means nothing from then on. */
  drop(number: number): boolean {
    const secret = this.#secrets.get(number);
    if (secret === undefined) return false;
    this.#secrets.delete(number);
    this.#byValue.delete(secret.value);
    this.#known = undefined;
    this.#options.changed?.();
    return true;
  }

  /** The secrets of another session, or of none. */
  restore(secrets: readonly NamedSecret[]): void {
    this.#secrets = new Map(secrets.map((secret) => [secret.number, secret]));
    this.#byValue = new Map(secrets.map((secret) => [secret.value, secret]));
    this.#next = Math.max(0, ...this.#secrets.keys()) + 1;
    this.#used.clear();
    this.#watched.clear();
    this.#screen = "ordinary";
    this.#known = undefined;
  }

  /** What the model may see of a text. */
  mask(text: string, context: MaskContext): string {
    if (text === "") return text;
    if (!this.enabled) return this.hideOwn(text);
    // Most prompts are a sentence: they need none of what follows.
    const whole =
      text.length < LONG_TEXT && context.output === undefined && context.cutStart !== true && context.cutEnd !== true;
    if (whole && this.#secrets.size === 0 && !mayHoldSecrets(text) && this.dumpsSecret?.(text) !== true)
      return this.hideOwn(text);
    const clean = this.hideOwn(text);
    const spans = this.#spans(clean, context);
    // A flood comes in small pieces.
    if (clean.length <= 8 * LONG_TEXT) collectAfter(SPAN * spans.length);
    return replaceSpans(clean, spans, (span, value) => this.#replacement(span, value, context.from));
  }

  /** Known secrets only, by name: for words that buddy makes itself. */
  maskKnown(text: string): string {
    if (this.#secrets.size === 0) return text;
    return replaceSpans(text, this.#knownSecrets().find(text), ({ tag, form }) => this.#shown(tag, form));
  }

  /**
   * For the output that begins now: as many bytes, with stars instead of secrets, as it is read by offset. What
   * no call waits for may still be looked at on the screen: the secrets of a listing get their names here.
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

  /** buddy's own keys are taken out whatever the setting says. */
  hideOwn(text: string): string {
    return replaceSpans(text, this.#ownSecrets().find(text), () => "[redacted]");
  }

  /** For output that arrives in pieces: what could still become a secret is held back, up to a bound. */
  stream(context: MaskContext): HeldText {
    const cutAt = isListing(context.output ?? "ordinary") ? afterLastLine : afterLastWord;
    return new HeldText((text) => this.mask(text, context), cutAt);
  }

  /** The names a text of the model uses; `unknown` are those without a value. */
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

  /** The text with values instead of names, for the target and nothing else. */
  reveal(text: string): string {
    return text.replaceAll(new RegExp(NAME, "g"), (written, number: string) => this.#take(Number(number)) ?? written);
  }

  /** The same for a command: each value is one literal piece, so that nothing in it is read by the shell. */
  revealCommand(command: string, shell: string): string {
    const dialect = shell === "fish" ? "fish" : "posix";
    return insertLiterals(
      command,
      new RegExp(NAME),
      ([written, number]) => this.#take(Number(number)) ?? written,
      dialect,
    );
  }

  /** What no URL and no query may give away. */
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
    // Of a variable that is only not known to be harmless, a value like `web-01` may be any word.
    const telling = isTelling(value) && (!kind.startsWith("value of ") || isTellingName(kind) || isRandom(value));
    if (!telling && !this.#used.has(number)) return;
    this.#known?.add(value, number, {
      encoded: telling && value.length >= 10,
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

  /** Where a text was cut, half a secret may remain that no shape recognises. */
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

/** A name as the model may write it; its number decides. */
const NAME = "‹secret-(\\d{1,6})(?:: [^›\\n]{0,80})?›";
/** Also the forms that have no value (`‹secret-3, encoded›`). */
const ANY_NAME = "‹secret-(\\d{1,6})[^›\\n]{0,100}›";

const MOST_SECRETS = 2_000;
const LONGEST_FROM = 120;
const LONG_TEXT = 4096;
/** Garbage of one secret, about. */
const SPAN = 1024;

/**
 * Every text with a secret in it has one of these words or signs, or a long token; ordinary sentences have none. Not a
 * regular expression: compiling it took longer than a whole prompt takes here.
 */
function mayHoldSecrets(text: string): boolean {
  let token = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === EQUALS || code === AT || (code === COLON && text.charCodeAt(at + 1) > SPACE)) return true;
    token = isTokenSign(code) ? token + 1 : 0;
    if (token === LONG_TOKEN) return true;
  }
  const small = text.toLowerCase();
  for (const word of TELLING_WORDS) if (small.includes(word)) return true;
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
const TELLING_WORDS = "pass secret token key login cookie bearer auth curl mysql psk credential -----begin".split(" ");

/** The beginning of a well-known key. */
const BEGUN =
  /^(?:AKIA|ASIA|sk-|sk_|rk_|gh[pousr]_|github_pat|gl(?:pat|ptt|dt|rt)-|xox|xapp-|AIza|ya29|eyJ|npm_|pypi-|hf_|hv[sbr]\.|SG\.|dckr_|whsec_)/;

/** Wherever it appears it can only be this secret, not a word of the language. */
function isTelling(value: string): boolean {
  return (
    value.length >= 6 &&
    !/^[A-Za-z]+$|^[0-9.,:/ -]{1,11}$|^[A-Za-z]+(?:[-_. ][A-Za-z]+){1,2}$|^[~/.][\w./-]*$/.test(value)
  );
}

/** Letters, digits and signs as a generator mixes them, unlike words, paths, dates and hashes. */
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

/** What base64 hides, where it is text: `user:password` of a sign-in gives its password. */
function decoded(value: string): string | undefined {
  if (!/^[A-Za-z0-9+/]{8,4000}={0,2}$/.test(value) || value.replace(/=+$/, "").length % 4 === 1) return undefined;
  const text = Buffer.from(value, "base64").toString();
  if (!/^[\x20-\x7e\n]{6,}$/.test(text)) return undefined;
  const inner = /^[^:\s]{1,100}:(\S{6,})$/.exec(text)?.[1] ?? text.trim();
  return isTelling(inner) ? inner : undefined;
}

/** Of spans that overlap, the one that covers most; where none covers the others, one over all. */
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

/** Of two over the same text: the one that is known as a whole, then what a shape says. */
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
  // An end that cannot be the beginning of a secret (`[y/N]`) need not wait.
  return cut < text.length && text.length - cut < 80 && harmlessEnd(text, cut) ? text.length : cut;
}

function harmlessEnd(text: string, cut: number): boolean {
  const end = text.slice(cut);
  if (/[0-9\s]|[A-Za-z_-]$/.test(end) || placeHint().for(end)?.test(end) === true) return false;
  return !unfinished().test(text.slice(Math.max(0, cut - 200)));
}
