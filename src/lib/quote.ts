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
