/** Finds unknown secrets: by well-known shapes, by what precedes them, and in files made of secrets. */
import {
  countsTokens,
  inPlace,
  kindOfPlace,
  kindOfShape,
  placeHint,
  plainValue,
  shapeHint,
  shapes,
} from "./secret-shapes.ts";

export interface SecretSpan {
  readonly start: number;
  readonly end: number;
  /** For example "AWS key" or "password". */
  readonly kind: string;
}

/** In order and without overlaps. */
export function findSecrets(text: string): SecretSpan[] {
  if (clean.has(text)) return [];
  const spans: SecretSpan[] = [];
  const long = text.length < SHORT_TEXT ? undefined : inLongTexts.find;
  if (long === undefined) findShapes(text, spans);
  findInDocuments(text, spans);
  if (long === undefined) findInPlaces(text, spans);
  else long(text, spans);
  if (spans.length === 0 && text.length <= LONGEST_REPEATED) {
    if (clean.size === MOST_REPEATED) clean.clear();
    clean.add(text);
  }
  return merged(spans);
}

/** Short texts without a secret, seen before: of many machines most say the same, in events and in the record. */
const clean = new Set<string>();
const MOST_REPEATED = 256;
const LONGEST_REPEATED = 256;

/** A faster search for long texts, set by long-texts.ts when that is loaded: a start has no long text. */
export const inLongTexts: { find?: (text: string, spans: SecretSpan[]) => void } = {};
const SHORT_TEXT = 16_384;

/** Replaces each span with something else. */
export function replaceSpans<S extends { readonly start: number; readonly end: number }>(
  text: string,
  spans: readonly S[],
  by: (span: S, value: string) => string,
): string {
  if (spans.length === 0) return text;
  let out = "";
  let kept = 0;
  for (const span of spans) {
    out += text.slice(kept, span.start) + by(span, text.slice(span.start, span.end));
    kept = span.end;
  }
  return out + text.slice(kept);
}

/** Sorted; overlapping spans become one, of the kind that begins first or is longer. */
export function merged<S extends { readonly start: number; readonly end: number }>(spans: S[]): S[] {
  if (spans.length < 2) return spans;
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  const out: S[] = [];
  for (const span of spans) {
    const last = out.at(-1);
    if (last === undefined || span.start >= last.end) out.push(span);
    else if (span.end > last.end) out[out.length - 1] = { ...last, end: span.end };
  }
  return out;
}

function findShapes(text: string, spans: SecretSpan[]): void {
  const hint = shapeHint().for(text);
  if (hint === undefined) return;
  for (let match = hint.exec(text); match !== null; match = hint.exec(text))
    hint.lastIndex = shapeAt(text, match.index, match[0], spans);
}

/** Adds the secret whose mark is at `at`, if it is one; returns where to continue. */
export function shapeAt(text: string, at: number, mark: string, spans: SecretSpan[]): number {
  const shape = shapes();
  let start = at;
  // The only shape that does not begin with its mark: digits, then :AA.
  if (mark === ":AA") while (start > 0 && at - start < 10 && /[0-9]/.test(text[start - 1]!)) start--;
  shape.lastIndex = start;
  const value = shape.exec(text)?.[0];
  if (value === undefined) return at + mark.length;
  spans.push({ start, end: start + value.length, kind: kindOfShape(value) });
  return start + value.length;
}

/** Searches only around the words that every lead contains. */
function findInPlaces(text: string, spans: SecretSpan[]): void {
  const hint = placeHint().for(text);
  if (hint === undefined) return;
  for (let match = hint.exec(text); match !== null; match = hint.exec(text))
    hint.lastIndex = placeAt(text, match.index, match[0].length, spans);
}

/** Adds the secret after the lead that has a word of this length at `at`; returns where to continue. */
export function placeAt(text: string, at: number, word: number, spans: SecretSpan[], known = placeOf): number {
  const place = inPlace();
  for (const from of starts(text, at)) {
    place.lastIndex = from;
    const found = place.exec(text);
    if (found === null) continue;
    let group = 1;
    while (found[group] === undefined) group++;
    const lead = found[group] as string;
    const end = from + found[0].length;
    const { kind, isPlain } = known(lead);
    if (kind !== undefined && !isPlain(text.slice(from + lead.length, end)))
      spans.push({ start: from + lead.length, end, kind });
    return Math.max(at + word, end);
  }
  return at + word;
}

export interface Place {
  /** Undefined if no secret follows (a counter). */
  readonly kind: string | undefined;
  readonly isPlain: (value: string) => boolean;
}

export function placeOf(lead: string): Place {
  return { kind: countsTokens().test(lead) ? undefined : kindOfPlace(lead), isPlain: plainValue(lead) };
}

/**
 * Where a lead with the word at `hint` may begin: at the start of its word, after an escape in JSON, or at the hint.
 */
function starts(text: string, hint: number): readonly number[] {
  let from = hint;
  while (from > 0 && hint - from < LONGEST_PREFIX && isWord(text.charCodeAt(from - 1))) from--;
  const found = [from];
  if (text[from - 1] === "\\") found.push(text[from] === "u" ? from + 5 : from + 1);
  // `?a.b-token=`: a word may begin with separators
  let dash = from;
  while (dash < from + 4 && (text[dash] === "-" || text[dash] === ".")) dash++;
  if (dash > from) found.push(dash);
  if (from !== hint) found.push(hint);
  return found;
}

const LONGEST_PREFIX = 64;

function isWord(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45 ||
    code === 46 ||
    code === 43
  );
}

/**
 * Secrets that only a whole file shows: .netrc over several lines, .pgpass, Kubernetes Secrets. Each expression is
 * compiled only if the text has a word that it needs.
 */
function findInDocuments(text: string, spans: SecretSpan[]): void {
  if (text.includes("password ") || text.includes("password\t")) {
    groupSpans(
      text,
      /\blogin[ \t]+[^\s"']{1,100}[ \t]+password[ \t]+(?!\[redacted\]|‹secret-)([^\s"'\\]{3,})/g,
      "password",
      spans,
    );
    if (/^[ \t]*(?:machine[ \t]+\S|default[ \t]*$)/m.test(text))
      groupSpans(text, /^[ \t]*password[ \t]+(?!\[redacted\]|‹secret-)(\S{3,})[ \t]*$/gm, "password", spans);
  }
  if (text.includes("chpasswd") || text.includes("newusers") || text.includes("--stdin")) givenToChpasswd(text, spans);
  if (text.includes("<auth-user-pass>"))
    groupSpans(text, /<auth-user-pass>\r?\n[^\n]*\n(?!\[redacted\]|‹secret-)([^\n]{3,200}?)\r?$/gm, "password", spans);
  // host:port:database:user:password
  if (text.includes(":*:") || text.includes(":543") || text.includes(":643"))
    groupSpans(
      text,
      /^[^:\s/]{1,253}:(?:\*|543[0-9]|643[0-9]):[^:\s]{1,63}:[^:\s]{1,63}:(?!\[redacted\]|‹secret-)(\S{3,})$/gm,
      "password",
      spans,
    );
  if (text.includes("Secret") && /kind\\?"?\s*:\s*\\?"?Secret\b/.test(text)) {
    kubernetesYaml(text, spans);
    kubernetesJson(text, spans);
  }
}

/** `user:password` in a pipe, a here-string or a here-document to chpasswd, and in the YAML of cloud-init. */
function givenToChpasswd(text: string, spans: SecretSpan[]): void {
  const users = (match: RegExpMatchArray): void => {
    const [whole, body = ""] = match;
    const from = (match.index ?? 0) + whole.indexOf(body);
    const inner: SecretSpan[] = [];
    groupSpans(
      body,
      /(?<![\w.:/-])[\w.-]{1,64}:(?!\[redacted\]|‹secret-|\$[A-Za-z_({]|%s)((?:(?!\\n)[^\s"'|]){3,200})/g,
      "password",
      inner,
    );
    for (const { start, end, kind } of inner) spans.push({ start: from + start, end: from + end, kind });
  };
  const pipe = /(?:echo|printf)[ \t]([^|;\n]{3,4000})\|[^|\n]{0,200}?\b(?:chpasswd|newusers)\b/g;
  for (const match of text.matchAll(pipe)) users(match);
  for (const match of text.matchAll(/\bchpasswd\b[^\n|;]{0,80}<<<([^\n;|]{3,400})/g)) users(match);
  for (const match of text.matchAll(
    /\b(?:chpasswd|newusers)\b[^\n]{0,80}<<-?\s?["']?\w+["']?\n([^]{3,20000}?)\n\s*\w+$/gm,
  ))
    users(match);
  for (const match of text.matchAll(/^\s*chpasswd:[ \t]*\n((?:[ \t]+.*\n?){1,200})/gm)) users(match);
  groupSpans(
    text,
    /(?:echo|printf)[ \t]+(?:-[neE]{1,3}[ \t]+)?["']?(?!\$|\[redacted\]|‹secret-)([^\s"'|$]{3,200})["']?[ \t]*\|[^|\n]{0,200}?\bpasswd[ \t][^\n|;]{0,80}--stdin/g,
    "password",
    spans,
  );
}

/** Adds the first group of each match. */
function groupSpans(text: string, pattern: RegExp, kind: string, spans: SecretSpan[]): void {
  for (const match of text.matchAll(pattern)) {
    const value = match[1] ?? "";
    const start = match.index + match[0].lastIndexOf(value);
    spans.push({ start, end: start + value.length, kind });
  }
}

function kubernetesYaml(text: string, spans: SecretSpan[]): void {
  const lines: { at: number; text: string }[] = [];
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    lines.push({ at, text: text.slice(at, end) });
    at = end + 1;
  }
  for (let index = 0; index < lines.length; index++) {
    const opened = /^( *)(- )?(?:data|stringData):\s*$/.exec(lines[index]!.text);
    if (opened === null) continue;
    const depth = (opened[1] ?? "").length + (opened[2] ?? "").length;
    if (!belongsToSecret(lines, index, depth)) continue;
    let next = index + 1;
    for (; next < lines.length && (indent(lines[next]!.text) > depth || lines[next]!.text.trim() === ""); next++) {
      const { at, text: line } = lines[next]!;
      const pair = /^(\s*[^\s:#][^:]*:\s+)(\S.*?)\s*$/.exec(line);
      if (pair === null) continue;
      const [, key = "", value = ""] = pair;
      if (!/^[|>][+-]?\d?$/.test(value)) {
        if (!/^(?:""|''|null|‹secret-.*›|\[redacted\])$/.test(value)) {
          const quoted = /^(["'])(.*)\1$/.exec(value);
          const start = at + key.length + (quoted === null ? 0 : 1);
          spans.push({ start, end: start + (quoted?.[2] ?? value).length, kind: KUBERNETES });
        }
        continue;
      }
      const inner = indent(line);
      const first = next + 1;
      while (next + 1 < lines.length && (indent(lines[next + 1]!.text) > inner || lines[next + 1]!.text.trim() === ""))
        next++;
      if (next < first) continue;
      const start = lines[first]!.at + indent(lines[first]!.text);
      const end = lines[next]!.at + lines[next]!.text.length;
      if (end > start) spans.push({ start, end, kind: KUBERNETES });
    }
    index = next - 1;
  }
}

/**
 * The `kind` that belongs to a `data` block: the nearest at the same depth, before or after it, in the same document.
 */
function belongsToSecret(lines: readonly { text: string }[], block: number, depth: number): boolean {
  for (const step of [1, -1]) {
    for (let at = block + step; at >= 0 && at < lines.length; at += step) {
      const line = lines[at]!.text;
      if (line.startsWith("---")) break;
      const item = /^( *)(- )?kind:\s*(\S+)/.exec(line);
      if (item !== null && (item[1] ?? "").length + (item[2] ?? "").length === depth) return item[3] === "Secret";
      const own = indent(line);
      if (line.trim() !== "" && own < depth && !(own === depth - 2 && /^ *- /.test(line) && step === -1)) break;
      if (step === 1 && own === depth - 2 && /^ *- /.test(line)) break;
    }
  }
  return false;
}

function kubernetesJson(text: string, spans: SecretSpan[]): void {
  const mixed = /kind\\*"\s*:\s*\\*"ConfigMap/.test(text);
  for (const block of text.matchAll(/\\{0,3}"(?:data|stringData)\\{0,3}"\s*:\s*\{([^{}]*)\}/g)) {
    const from = block.index + block[0].lastIndexOf(block[1] ?? "");
    for (const pair of (block[1] ?? "").matchAll(/(:\s*\\{0,3}")([^"\\]{1,}(?:\\(?!["\\])[^"\\]*)*)\\{0,3}"/g)) {
      const [, lead = "", value = ""] = pair;
      if (/^(?:‹secret-|\[redacted\])/.test(value) || (mixed && !/^[A-Za-z0-9+/]{4,}={0,2}$/.test(value))) continue;
      const start = from + pair.index + lead.length;
      spans.push({ start, end: start + value.length, kind: KUBERNETES });
    }
  }
}

function indent(line: string): number {
  return line.length - line.trimStart().length;
}

const KUBERNETES = "Kubernetes secret";
