/** Quotes words for sh, whatever they contain, and where scripts for it find programs. */

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
