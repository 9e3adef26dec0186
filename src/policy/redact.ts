/** Takes keys and tokens out of text before it is logged, stored, shown in an error or sent as an event. */
export const REDACTED = "[redacted]";

/** Makes a filter for whole texts: the given secrets in their usual encodings, and well-known key shapes. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const known = knownForms(secrets);
  return (text) => {
    const withoutKnown = known === undefined ? text : text.replace(known, REDACTED);
    return withoutKnown.replace(SHAPES, REDACTED).replace(IN_CONTEXT, (_all, ...parts) => {
      const groups = parts.at(-1) as Readonly<Record<string, string | undefined>>;
      return `${groups["header"] ?? groups["field"] ?? groups["setting"] ?? groups["flag"] ?? groups["user"] ?? ""}${REDACTED}`;
    });
  };
}

/** The same for text that arrives in pieces: holds back what could still become a secret, up to a bound. */
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
    const lead = UNFINISHED.exec(text.slice(Math.max(0, cut - 200), cut));
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

const TOKEN_SHAPES = [
  /(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}/, // Stripe
  /sk-(?:(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}|[A-Za-z_-]{20,})/, // OpenAI, OpenRouter, Anthropic, DeepSeek
  /gh[pousr]_[A-Za-z0-9]{20,}/,
  /github_pat_[A-Za-z0-9_]{20,}/,
  /gl(?:pat|ptt|dt|rt|cbt|ft|soat)-[A-Za-z0-9_-]{16,}/,
  /xox[a-z]-[A-Za-z0-9-]{10,}/,
  /xapp-[0-9]-[A-Za-z0-9-]{10,}/,
  /(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])/,
  /AIza[A-Za-z0-9_-]{30,}/,
  /ya29\.[A-Za-z0-9_-]{20,}/,
  /npm_[A-Za-z0-9]{30,}/,
  /pypi-[A-Za-z0-9_-]{30,}/,
  /hf_[A-Za-z0-9]{20,}/,
  /gsk_[A-Za-z0-9]{20,}/,
  /xai-[A-Za-z0-9]{20,}/,
  /r8_[A-Za-z0-9]{20,}/,
  /do[opr]_v1_[a-f0-9]{32,}/,
  /dckr_pat_[A-Za-z0-9_-]{20,}/,
  /hv[sbr]\.[A-Za-z0-9_-]{20,}/,
  /tskey-[a-z]+-[A-Za-z0-9-]{16,}/,
  /SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/,
  /AGE-SECRET-KEY-1[A-Z0-9]{40,}/,
  /eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?/, // JSON web token
];

/** PEM: up to its end, or as far as the base64 goes when the end is missing. `\n` may be written out. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]*(?:-(?!----)[^-]*)*-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20,})+)/;

const SHAPES = new RegExp(
  `(?<![A-Za-z0-9_-])(?:${TOKEN_SHAPES.map((shape) => shape.source).join("|")})|${PRIVATE_KEY.source}`,
  "g",
);

const QUOTE = String.raw`(?:\\?["'])?`;
const SCHEME = "(?:bearer|basic|token|digest|negotiate|apikey)";
const HEADER = `(?<header>(?:proxy-)?authorization${QUOTE}\\s{0,4}[:=]\\s{0,4}${QUOTE}(?:${SCHEME}\\s{1,4})?|\\bbearer\\s{1,4}(?=[A-Za-z0-9._~+/=-]{16})|\\b(?:x-)?(?:api-key|auth-token|goog-api-key|amz-security-token|vault-token)${QUOTE}\\s{0,4}:\\s{0,4}${QUOTE}|\\b(?:set-)?cookie:\\s{0,4}(?=[^\\s=]{1,200}=))`;
const FIELD_NAME =
  "(?:api_?key|access_?token|refresh_?token|id_?token|auth_?token|client_?secret|secret_?access_?key|secret_?key|private_?key|session_?token|password|passwd|passphrase|code_?verifier|device_?code|authorization_?code)";
/** JSON: the value is quoted. */
const FIELD = `(?<field>\\\\?["'](?:[A-Za-z0-9]{1,40}_){0,4}${FIELD_NAME}\\\\?["']\\s{0,4}:\\s{0,4}\\\\?["'])(?=[^"'\\s\\\\]{6})`;
/** name=value of a shell, a URL or a TOML file; the value must not look like a variable or a word. */
const SETTING = `(?<setting>(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,40}[_-]){0,4}(?:${FIELD_NAME}|token|secret|access_?key|credentials?)\\s{0,2}=\\s{0,2}["']?)(?=[A-Za-z_./-]{0,200}[0-9%+!@#^*~=])(?=[A-Za-z0-9%+!@#^*~=_./:-]{6,}(?:["'&;,\\s]|$))`;
/** --password VALUE of a command line, with the same look at the value. */
const FLAG = `(?<flag>(?<![A-Za-z0-9-])--(?:[a-z]{1,20}-){0,3}(?:api-?key|token|password|passwd|secret|access-key)[ \\t]{1,4}["']?)(?=[A-Za-z_./]{0,200}[0-9%+!@#^*~=])(?=[A-Za-z0-9%+!@#^*~=_./:-]{6,}(?:["'&;,\\s]|$))`;
const USER_INFO = String.raw`(?<user>\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@"'<>]{0,256}:)(?=[^\s/@"'<>]{1,256}@)`;

const IN_CONTEXT = new RegExp(
  `${HEADER}(?!\\[redacted\\]|\\$|${SCHEME}\\s)[^\\s"',;<>\\\\]{4,}|${FIELD}(?!\\[redacted\\])[^"'\\s\\\\]+|${SETTING}(?!\\[redacted\\])[^"'&;,\\s]+|${FLAG}(?!\\[redacted\\])[^"'&;,\\s]+|${USER_INFO}(?!\\[redacted\\])[^\\s/@"'<>]+`,
  "gi",
);

const UNFINISHED = new RegExp(
  `(?:(?:proxy-)?authorization|\\bbearer|\\bcookie|api-key|auth-token|security-token|vault-token|${FIELD_NAME}|token|secret|access_?key|credentials?)${QUOTE}\\s{0,4}[:=]?\\s{0,4}${QUOTE}(?:${SCHEME}\\s{0,4})?$`,
  "i",
);

function knownForms(secrets: readonly string[]): RegExp | undefined {
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
  if (forms.size === 0) return undefined;
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map((form) => RegExp.escape(form)).join("|"), "g");
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
