/** Quotes and reads words for sh, whatever they contain, and where scripts for it find programs. */

/** Unchanged if that is safe, otherwise in quotes. */
export function quote(word: string): string {
  if (word.includes("\0")) throw new TypeError("a word for a shell cannot contain a NUL byte");
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) && !word.startsWith("=") ? word : inQuotes(word);
}

export function quoteAll(argv: readonly string[]): string {
  return argv.map(quote).join(" ");
}

export function inQuotes(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function fishQuote(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}

/**
 * Directories in PATH without a leading slash go: a program in the working directory is not the one that the policy
 * knows by that name. An empty PATH means that directory, too.
 */
export const ABSOLUTE_PATH =
  "case ${PATH+:$PATH:} in *::* | *:[!/]*) __buddy_part=$PATH: PATH=; " +
  'while [ -n "$__buddy_part" ]; do case $__buddy_part in /*) PATH=$PATH:${__buddy_part%%:*} ;; esac; ' +
  "__buddy_part=${__buddy_part#*:}; done; PATH=${PATH#:}; PATH=${PATH:-/usr/bin:/bin}; unset __buddy_part ;; esac";

const NAMED: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, e: 27, E: 27 };

/**
 * The value of `$'…'` as bash, zsh and mksh print it; undefined: it is something else. `word` has a character for each
 * byte: without a UTF-8 locale some of the bytes of a character are escaped.
 */
export function ansiQuoted(word: string): string | undefined {
  const [, inner] = /^\$'(.*)'$/.exec(word) ?? [];
  if (inner === undefined) return undefined;
  const escapes = /(\\M-\\C-|\\[MC]-)(.)|\\([0-7]{1,3}|.)/g;
  const bytes = inner.replaceAll(escapes, (_, prefix: string | undefined, of: string, escaped: string) => {
    if (prefix !== undefined) {
      const low = !prefix.includes("C") ? of.charCodeAt(0) : of === "?" ? 127 : of.charCodeAt(0) & 31;
      return String.fromCharCode(prefix.includes("M") ? low | 128 : low);
    }
    const code = /^[0-7]/.test(escaped) ? Number.parseInt(escaped, 8) : NAMED[escaped];
    return code === undefined ? escaped : String.fromCharCode(code);
  });
  return Buffer.from(bytes, "latin1").toString();
}

/** Splits into words, with quotes as in a shell; undefined: a quote is not closed. */
export function splitWords(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (quote !== "") {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && /["\\]/.test(text[at + 1] ?? "")) word += text[++at] ?? "";
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + (char === "\\" && at + 1 < text.length ? (text[++at] ?? "") : char);
  }
  if (quote !== "") return undefined;
  return word === undefined ? words : [...words, word];
}
