/** A list of words written as one text: `words("ls cat head")`; line breaks count as blanks. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
