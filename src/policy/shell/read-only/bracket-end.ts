/**
 * Where a bracket expression that begins at `[` ends: the index of its `]`, or -1. Programs differ on a backslash in
 * it; the longer reading counts.
 */
export function bracketEnd(text: string, start: number): number {
  let at = start + 1;
  if (text[at] === "^") at++;
  if (text[at] === "]") at++;
  for (; at < text.length; at++) {
    const character = text[at];
    if (character === "]") return at;
    if (character === "\\") at++;
    else if (character === "[" && /[:.=]/.test(text[at + 1] ?? "")) {
      const close = text.indexOf(`${text[at + 1]}]`, at + 2);
      if (close < 0) return -1;
      at = close + 1;
    }
  }
  return -1;
}
