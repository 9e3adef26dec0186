/** Takes keys and tokens out of words that reach a person, also where a server echoes them whole, cut, masked or encoded. */
export function redactor(secrets: readonly (string | undefined)[]): (text: string) => string {
  // Built on first use: almost no request needs it, and every request would pay for it.
  let redact: ((text: string) => string) | undefined;
  return (text) => (redact ??= build(secrets))(text);
}

function build(secrets: readonly (string | undefined)[]): (text: string) => string {
  const forms = new Set<string>();
  const masked: RegExp[] = [];
  for (const secret of secrets) {
    if (!secret || secret.length < 4 || PLACEHOLDERS.has(secret)) continue;
    for (const form of formsOf(secret)) forms.add(form);
    masked.push(maskedForm(secret));
  }
  if (forms.size === 0) return (text) => text;
  const whole = [...forms].sort((a, b) => b.length - a.length);
  const grams = new Set<string>();
  for (const form of whole) for (let at = 0; at + GRAM <= form.length; at++) grams.add(form.slice(at, at + GRAM));
  return (text) => {
    let clean = text;
    for (const form of whole) if (clean.includes(form)) clean = clean.replaceAll(form, MARK);
    for (const pattern of masked) clean = clean.replace(pattern, MARK);
    return dropFragments(clean, grams);
  };
}

/** What people write where a local server wants some key; taking these words out would only garble messages. */
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
const MARK = "[redacted]";
/** So many characters in a row of a secret are a piece of it; fewer are chance. */
const GRAM = 8;

function formsOf(secret: string): string[] {
  const url = encodeURIComponent(secret);
  const lower = url.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
  const base64 = Buffer.from(secret).toString("base64");
  const json = JSON.stringify(secret).slice(1, -1);
  return [secret, url, lower, url.replaceAll("%20", "+"), json, base64, base64.replace(/=+$/, "")];
}

/** "sk-ab****wxyz", "sk-…wxyz": the beginning, a mask, and perhaps the end. */
function maskedForm(secret: string): RegExp {
  const heads: string[] = [];
  const tails: string[] = [];
  for (let length = Math.min(secret.length - 1, 64); length >= 2; length--) {
    if (length >= 3) heads.push(escape(secret.slice(0, length)));
    tails.push(escape(secret.slice(-length)));
  }
  return new RegExp(`(?:${heads.join("|")})(?:[*•·…●]|\\.\\.)[*•·…●.]*(?:${tails.join("|")})?`, "g");
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}

function dropFragments(text: string, grams: ReadonlySet<string>): string {
  let clean = "";
  let kept = 0;
  for (let at = 0; at + GRAM <= text.length; at++) {
    if (!grams.has(text.slice(at, at + GRAM))) continue;
    let end = at + GRAM;
    while (end < text.length && grams.has(text.slice(end - GRAM + 1, end + 1))) end++;
    clean += text.slice(kept, at) + MARK;
    kept = end;
    at = end - 1;
  }
  return clean + text.slice(kept);
}
