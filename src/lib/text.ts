/** Text: words, characters and columns, cutting and comparing. */

/** A list of words written as one string: `words("ls cat head")`. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** A copy: a slice would keep the whole text it was cut from in memory. */
export function detached(text: string): string {
  return [...text].join("");
}

/** `1 line`, `2 lines`. */
export function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** A file's mode as chmod takes it: `0644`. */
export function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

/** A Markdown code block, with a fence that is longer than any run of backticks inside. */
export function codeBlock(text: string, language = ""): string {
  let longest = 2;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** What a person calls characters. */
export function graphemes(text: string): string[] {
  if (SINGLE.test(text)) return text.split("");
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const clusters: string[] = [];
  for (const { segment } of segmenter.segment(text)) clusters.push(segment);
  return clusters;
}

/** Terminal columns of one grapheme: 0, 1 or 2. A family emoji of seven code points still takes two. */
export function clusterWidth(cluster: string): number {
  if (cluster.length === 1 && PRINTABLE_ASCII.test(cluster)) return 1;
  return Math.min(2, Bun.stringWidth(cluster));
}

/** Cuts text to `columns`, ending in … if something was left out. Keeps SGR and OSC 8 sequences balanced. */
export function clip(text: string, columns: number): string {
  if (columns <= 0) return "";
  if (Bun.stringWidth(text) <= columns) return text;
  if (columns === 1) return "…";
  return `${Bun.sliceAnsi(text, 0, columns - 1)}…`;
}

/**
 * Rows of cells as lines: each column is as wide as its widest cell, at most `most` columns of the terminal; `right` is
 * the one that is aligned to the right.
 */
export function alignColumns(rows: readonly (readonly string[])[], most = Infinity, right?: number): string[] {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, at) => (widths[at] = Math.min(most, Math.max(widths[at] ?? 0, Bun.stringWidth(cell)))));
  return rows.map((row) => {
    const cells = row.map((cell, at) => {
      const blanks = " ".repeat(at === row.length - 1 ? 0 : Math.max(0, widths[at]! - Bun.stringWidth(cell)));
      return at === right ? blanks + cell : cell + blanks;
    });
    return cells.join("  ").trimEnd();
  });
}

/** Tabs become spaces: a terminal aligns them from its edge, and `stringWidth` counts them as 0. */
export function withoutTabs(line: string): string {
  if (!line.includes("\t")) return line;
  let column = 0;
  const parts = line.split("\t");
  return parts
    .map((part, at) => {
      column += Bun.stringWidth(part);
      const blanks = at === parts.length - 1 ? 0 : 8 - (column % 8);
      column += blanks;
      return part + " ".repeat(blanks);
    })
    .join("");
}

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
/** Characters that never join with their neighbours: Latin, Greek, Cyrillic, lines and boxes, kana, Chinese, and �. */
const SINGLE =
  /^[\x20-\x7e\xa0-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2500-\u25ff\u3041-\u3096\u4e00-\u9fff\ufffd]*$/;
let segmenter: Intl.Segmenter | undefined;

/** Where UTF-8 text can be cut: how many of the first `end` bytes are whole characters. */
export function wholeCharacters(bytes: Uint8Array, end = bytes.length): number {
  for (let back = 1; back <= 3 && back <= end; back++) {
    const byte = bytes[end - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const need = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return need > back ? end - back : end;
  }
  return end;
}

/** For text from files and programs in buddy's own messages: escapes what could move the cursor or mislead a reader. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** Control characters except tab and newline, C1, bidi controls, zero-width characters, tags. */
const UNPRINTABLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** The known word nearest to a mistyped one, for "did you mean". */
export function closestMatch(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // A third of the letters may differ; beyond that a suggestion is noise.
  let limit = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), limit);
    if (distance < limit) [best, limit] = [candidate, distance];
  }
  return best ?? (word.length >= 2 ? known.find((candidate) => candidate.startsWith(word)) : undefined);
}

/** Insertions, deletions, replacements and swapped neighbours; gives up at `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? limit;
}

/** The cut at or before `at` that leaves surrogate pairs whole. */
export function wholeAt(text: string, at: number): number {
  return at > 0 && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at)) ? at - 1 : at;
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;

/** One space for each run of white space, none at the ends. */
export function collapseSpaces(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Its first `most` characters, and … where there are more. */
export function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, wholeAt(text, most))}…` : text;
}

/** A long text in parts that are cheap to encode; surrogate pairs stay whole. */
export function pieces(text: string, length = 1 << 20): readonly string[] {
  if (text.length <= length) return [text];
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = Math.min(text.length, wholeAt(text, at + length));
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

/** Replaces {{names}} with values; an unknown name is removed. */
export function filledIn(template: string, values: Readonly<Record<string, string>>): string {
  const [start = "", ...rest] = template.split("{{");
  const parts = rest.map((part) => {
    const end = part.indexOf("}}");
    return `${values[part.slice(0, end)] ?? ""}${part.slice(end + 2)}`;
  });
  return start + parts.join("");
}

/** The text if it fits, otherwise what comes before its first semicolon, colon or bracket. */
export function firstClause(text: string, width: number): string {
  return Bun.stringWidth(text) <= width ? text : text.replace(/(?:[;:](?= )| \().*$/s, "");
}
