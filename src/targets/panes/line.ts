/**
 * The line at a prompt as the screen shows it. A stand-in for the project's ScreenText, which knows wide
 * characters.
 */
export interface Line {
  readonly prompt: string;
  /** What was drawn after the prompt. */
  readonly drawn: string;
  readonly typedAt: number;
}

const MOST = 8192;

export function addToLine(line: Line, text: string, at: number, isTyping: boolean): Line {
  return { ...line, drawn: (line.drawn + text).slice(0, MOST), typedAt: isTyping ? at : line.typedAt };
}

/** Without a right prompt: that is drawn after a jump and is not before the cursor. */
export function textOf({ prompt, drawn }: Pick<Line, "prompt" | "drawn">, width: number): string {
  if (drawn === "") return "";
  const begin = draw(prompt, 0, width).at;
  const { cells, at } = draw(drawn, begin, width);
  const typed = cells.slice(begin);
  const gap = typed.findIndex((cell) => cell === undefined);
  const whole = gap < 0 ? typed : typed.slice(0, Math.max(gap, at - begin));
  return whole
    .map((cell) => cell ?? " ")
    .join("")
    .trim();
}

/** Cells in one row without end: `width` only matters for jumps up and down. */
function draw(
  text: string,
  begin: number,
  width: number,
): { readonly cells: (string | undefined)[]; readonly at: number } {
  const cells: (string | undefined)[] = [];
  let at = begin;
  // oxlint-disable-next-line no-control-regex
  for (const [part, count, end] of text.matchAll(/\x1b\[([0-9;?]*)[ -/]*([@-~])|\x1b\][^\x07]*\x07|\x1b.|[^\x1b]/gsu)) {
    const n = Math.max(1, Number(count) || 0);
    if (end === "C") at += n;
    else if (end === "D") at = Math.max(0, at - n);
    else if (end === "A") at = Math.max(0, at - n * width);
    else if (end === "B") at += n * width;
    else if (end === "K" || end === "J") cells.length = Math.min(cells.length, at);
    else if (end === "P") cells.splice(at, n);
    else if (end === "@") cells.splice(at, 0, ...Array.from({ length: n }, () => " "));
    else if (part === "\r") at -= at % width;
    else if (part === "\n") at += width;
    else if (part === "\b") at = Math.max(0, at - 1);
    else if (end === undefined && !part.startsWith("\x1b") && part >= " ") cells[at++] = part;
  }
  return { cells: Array.from(cells), at };
}
