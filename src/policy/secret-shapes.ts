/** What secrets look like when nobody told them: shapes of well-known keys, and values in places where secrets stand. */
import { once } from "../lib/once.ts";

const tokenShapes = () => [
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

/**
 * Where a word starts. Whole JSON lines pass through here too, so that `\n` or `\u001b` may stand before it, and no match
 * may take a quote or half an escape with it.
 */
const START = String.raw`(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4}))`;
/** A quote, perhaps inside JSON inside JSON. */
const QUOTE = String.raw`\\{0,3}["']`;

/** PEM: up to its end, or as far as the base64 goes when the end is missing. Never over an unescaped quote. */
const PRIVATE_KEY = String.raw`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-"]*(?:(?:-(?!----)|(?<=(?<!\\)\\)")[^-"]*)*-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\{1,3}[nr])*[A-Za-z0-9+/=]{20,})+)`;

/** Replaced whole. */
export const shapes = once(
  () =>
    new RegExp(
      `${START}(?:${tokenShapes()
        .map((shape) => shape.source)
        .join("|")})|${PRIVATE_KEY}`,
      "g",
    ),
);

const SCHEME = "(?:bearer|basic|token|digest|negotiate|apikey)";
const HEADER_NAME =
  "(?:(?:proxy-)?authorization|(?:x-)?(?:api-key|auth-token|goog-api-key|amz-security-token|vault-token))";
const FIELD_NAME =
  "(?:api_?key|access_?token|refresh_?token|id_?token|auth_?token|client_?secret|secret_?access_?key|secret_?key|private_?key|session_?token|password|passwd|passphrase|code_?verifier|device_?code|authorization_?code)";
const SETTING_NAME = `(?:${FIELD_NAME}|token|secret|access_?key|credentials?)`;
const FLAG_NAME = "(?:api-?key|token|password|passwd|secret|access-key)";
/** Looks ahead at a value that is neither a variable nor a plain word, and ends properly. */
const TELLING = String.raw`(?=[A-Za-z_./-]{0,200}[0-9%+!@#^*~=])(?=[A-Za-z0-9%+!@#^*~=_./:-]{6,}(?:["'&;,\s\\]|$))`;
const VALUE = String.raw`(?!\[redacted\])[^"'&;,\s\\]+`;

/** Places where secrets stand: what comes before one, and the secret itself. */
const PLACES: readonly { readonly lead: string; readonly secret: string }[] = [
  {
    // Authorization: Bearer …   "x-api-key": "…"
    lead: String.raw`${START}${HEADER_NAME}(?:\s{0,4}[:=]\s{0,4}(?:${QUOTE})?|${QUOTE}\s{0,4}[:=,]\s{0,4}${QUOTE})(?:${SCHEME}\s{1,4})?`,
    secret: String.raw`(?!\[redacted\]|\$|${SCHEME}\s)[^\s"',;<>\\]{4,}`,
  },
  { lead: String.raw`${START}bearer\s{1,4}`, secret: String.raw`[A-Za-z0-9._~+/=-]{16,}` },
  { lead: String.raw`${START}(?:set-)?cookie:\s{0,4}`, secret: String.raw`[^\s=;,"'\\]{1,200}=[^\s"',;<>\\]+` },
  {
    // "refresh_token": "…"
    lead: String.raw`${QUOTE}(?:[A-Za-z0-9]{1,40}_){0,4}${FIELD_NAME}${QUOTE}\s{0,4}:\s{0,4}${QUOTE}`,
    secret: String.raw`(?!\[redacted\])[^"'\s\\]{6,}`,
  },
  {
    // API_KEY=…   ?access_token=…   password = "…"
    lead: String.raw`${START}(?:[A-Za-z0-9]{1,40}[_-]){0,4}${SETTING_NAME}\s{0,2}=\s{0,2}(?:${QUOTE})?${TELLING}`,
    secret: VALUE,
  },
  {
    // password: …   token: '…'
    lead: String.raw`${START}(?:[A-Za-z0-9]{1,40}[_-]){0,4}(?:${FIELD_NAME}|token):\s{1,4}(?:${QUOTE})?${TELLING}`,
    secret: VALUE,
  },
  {
    // sshpass -p …   mysql -p…   curl -u user:…
    lead: String.raw`${START}(?:sshpass\s{1,4}-p\s{0,4}|mysql[a-z]{0,8}\s(?:[^\n;|&]{0,100}\s)?-p|curl\s(?:[^\n;|&]{0,100}\s)?(?:-u|--user)[= ](?:${QUOTE})?[^\s:"'$]{1,64}:)(?:${QUOTE})?`,
    secret: String.raw`(?!\[redacted\]|\$)[^"'\s\\]{4,}`,
  },
  {
    // --password …
    lead: String.raw`${START}--(?:[a-z]{1,20}-){0,3}${FLAG_NAME}[ \t]{1,4}(?:${QUOTE})?(?!-)${TELLING}`,
    secret: VALUE,
  },
  {
    // scheme://user:…@host
    lead: String.raw`\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@"'<>]{0,256}:(?=[^\s/@"'<>]{1,256}@)`,
    secret: String.raw`(?!\[redacted\])[^\s/@"'<>]+`,
  },
];

/** In every match of `inPlace`, and found ten times as fast: most text has none of it. */
export const MAY_STAND_IN_PLACE =
  /auth|bearer|cookie|key|token|secret|pass[wp]|sshpass|mysql|curl|credential|device_?code|code_?verifier|:\/\/[^\s/:@"'<>]{0,256}:[^\s/@"'<>]{1,256}@/i;

/** Group `lead` stays. */
export const inPlace = once(
  () => new RegExp(PLACES.map(({ lead, secret }) => `(?<lead>${lead})${secret}`).join("|"), "gi"),
);

/** The end of a text after which a secret may still come. */
export const unfinished = once(
  () =>
    new RegExp(
      String.raw`(?:${HEADER_NAME}|\bbearer|\bcookie|${SETTING_NAME}|${FLAG_NAME}|\bsshpass\s{1,4}-p)(?:${QUOTE})?\s{0,4}[:=,]?\s{0,4}(?:${QUOTE})?(?:${SCHEME}\s{0,4})?$`,
      "i",
    ),
);
