/** Words for tmux's own command parser, as control mode reads it: one line, any characters. */
export function tmuxQuote(word: string): string {
  const escaped = word
    .replace(/[\\"$]/g, (char) => `\\${char}`)
    // oxlint-disable-next-line no-control-regex
    .replace(/[\0-\x1f\x7f]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return `"${escaped}"`;
}
