/** Quotes words for sh, whatever they contain. */

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
