/** Prints finished lines once into the terminal's own scrollback and repaints only the few live rows below them. */
import { clusterWidth, graphemes } from "../../lib/text.ts";

export class LiveArea {
  #painted: string[] = [];
  /** Row of the terminal's cursor, counted from the first live row. */
  #cursorRow = 0;
  #cursorCol = 0;
  /** The terminal has wrapped rows again, except the cursor's. */
  #leavesCursorRow = false;
  /**
   * What lies above the live rows since a smaller window pushed some of them into the scrollback: those, and the lines
   * that were printed since.
   */
  #above: Above[] = [];

  /**
   * The bytes that print `lines` above and show `rows` with the cursor at its place. Rows must be narrower than the
   * terminal (its last column is where CSI K would eat a character) and fewer than its height.
   */
  frame(lines: readonly string[], rows: readonly string[], cursor: CursorPosition): string {
    const out: string[] = [];
    const fresh = rows.map((row) => pinned(row));
    if (lines.length > 0) {
      out.push(this.#toTop(), CLEAR_DOWN);
      for (const line of lines) out.push(line, "\r\n");
      if (this.#above.length > 0) this.#above.push(...lines.map((line) => ({ width: Bun.stringWidth(line), line })));
      if (this.#above.length > KEPT_ABOVE) this.#above = [];
      this.#painted = [];
      this.#cursorRow = 0;
    }
    const body = this.#repaint(fresh);
    const isSame = lines.length === 0 && body === "";
    // tmux changes its rows before it says so: a column that was right before moves the cursor to another place.
    if (isSame && cursor.row === this.#cursorRow && cursor.col === this.#cursorCol) return "";
    if (body !== "") out.push(NO_WRAP, body, WRAP);
    out.push(this.#place(cursor));
    this.#painted = fresh;
    if (isSame) return out.join("");
    return `${SYNC_ON}${HIDE}${out.join("")}${SHOW}${SYNC_OFF}`;
  }

  /** Forgets what is on the screen, for a fresh start below whatever is there (after a stop, a clear). */
  forget(): void {
    this.#unpainted();
    this.#above = [];
  }

  /** Removes the live rows and leaves the cursor where they began. */
  erase(): string {
    const out = this.#painted.length === 0 ? "" : this.#toTop() + CLEAR_DOWN;
    this.forget();
    return out;
  }

  /** Which terminal it says it is: the version that xterm.js gives is its own. */
  answered(version: string): void {
    this.#leavesCursorRow = version === "0;276;0";
  }

  get empty(): boolean {
    return this.#painted.length === 0;
  }

  /**
   * Erases the live rows after the terminal changed its size and, where it does that, wrapped them again. `cursor` is
   * what the terminal answered (from 0). It shows how the cursor's own row was wrapped, which rows a smaller window
   * pushed into the scrollback, and which of those a larger one gave back: they are erased, too.
   */
  eraseAfterResize(columns: number, reflows: boolean, cursor: CursorPosition | undefined): string {
    if (this.empty) return "";
    const heightOf = (width: number): number => (reflows ? Math.max(1, Math.ceil(width / columns)) : 1);
    const heights = this.#painted.map((row) => heightOf(Bun.stringWidth(row)));
    const above = sum(heights.slice(0, this.#cursorRow));
    const below = sum(heights.slice(this.#cursorRow + 1)) - (heights.length - this.#cursorRow - 1);
    let up = above;
    if (reflows && cursor !== undefined && this.#cursorCol >= columns) {
      this.#leavesCursorRow ||= cursor.col === columns - 1;
      // A cursor after the last column is still in the row before.
      if (!this.#leavesCursorRow) up += Math.floor((this.#cursorCol - (cursor.col === columns ? 1 : 0)) / columns);
    }
    // xterm.js leaves the cursor's row alone, but counts every row that it adds below the cursor as one above it.
    if (this.#leavesCursorRow && below > 0) up += heights[this.#cursorRow]! - 1 + below;
    if (cursor === undefined) this.#above = [];
    const first = cursor === undefined ? 0 : cursor.row - up;
    const out = first < 0 ? this.#pushedOff(heights, -first, columns, up) : this.#givenBack(first, up, heightOf);
    this.#unpainted();
    return out;
  }

  /** So many rows of the screen that are no longer visible were live. */
  #pushedOff(heights: readonly number[], hidden: number, columns: number, up: number): string {
    let left = hidden;
    let rest = 0;
    for (const [at, row] of this.#painted.entries()) {
      if (left <= 0) break;
      const width = Bun.stringWidth(row);
      this.#above.push({ width });
      if (heights[at]! > left) rest = width - left * columns;
      left -= heights[at]!;
    }
    // A row that was cut in two will be one again in a wider window: what is left of it stays, as blanks.
    const blank = rest > 0 ? `${" ".repeat(rest)}\r\n` : "";
    return `\r\x1b[${up}A${blank}${CLEAR_DOWN}`;
  }

  /** So many rows of the screen are above the first live one. */
  #givenBack(first: number, up: number, heightOf: (width: number) => number): string {
    let rows = 0;
    let [from, erased] = [this.#above.length, 0];
    for (let at = this.#above.length - 1; at >= 0; at--) {
      rows += heightOf(this.#above[at]!.width);
      if (rows > first) break;
      if (this.#above[at]!.line === undefined) [from, erased] = [at, rows];
    }
    const again = this.#above.splice(from).flatMap(({ line }) => (line === undefined ? [] : [`${line}\r\n`]));
    const by = up + erased;
    return `\r${by > 0 ? `\x1b[${by}A` : ""}${CLEAR_DOWN}${again.join("")}`;
  }

  #unpainted(): void {
    this.#painted = [];
    this.#cursorRow = 0;
    this.#cursorCol = 0;
  }

  #toTop(): string {
    const up = this.#cursorRow > 0 ? `\x1b[${this.#cursorRow}A` : "";
    this.#cursorRow = 0;
    return `\r${up}`;
  }

  /** Rewrites the rows that changed, adds new ones, clears those that are gone. */
  #repaint(rows: readonly string[]): string {
    const out: string[] = [];
    const old = this.#painted;
    let at = this.#cursorRow;
    const go = (row: number): void => {
      if (row < at) out.push(`\x1b[${at - row}A`);
      // A line feed makes the rows that do not exist yet and scrolls where it must; CSI B would stop at the bottom.
      else if (row > at) out.push(row < old.length ? `\x1b[${row - at}B` : "\n".repeat(row - at));
      at = row;
      out.push("\r");
    };
    for (let row = 0; row < rows.length; row++) {
      if (row < old.length && old[row] === rows[row]) continue;
      if (row >= old.length && old.length > 0 && at < old.length - 1 && row > at) go(old.length - 1);
      go(row);
      // tmux keeps the blanks of a row that was wider and, in a narrower window, wraps them: clear it from its start.
      if (row < old.length && Bun.stringWidth(rows[row]!) < Bun.stringWidth(old[row]!)) out.push("\x1b[K");
      out.push(rows[row]!, rows[row]!.includes("\x1b") ? "\x1b[0m\x1b[K" : "\x1b[K");
    }
    if (rows.length < old.length) {
      go(rows.length);
      out.push("\x1b[J");
    }
    this.#cursorRow = at;
    return out.join("");
  }

  #place(cursor: CursorPosition): string {
    const by = cursor.row - this.#cursorRow;
    const vertical = by < 0 ? `\x1b[${-by}A` : by > 0 ? `\x1b[${by}B` : "";
    this.#cursorRow = cursor.row;
    this.#cursorCol = cursor.col;
    return `${vertical}\x1b[${cursor.col + 1}G`;
  }
}

export interface CursorPosition {
  readonly row: number;
  readonly col: number;
}

/** A row above the live ones; without a line it was live and is stale. */
interface Above {
  readonly width: number;
  readonly line?: string;
}

/** Which terminal it is, and where its cursor is. */
export const ASK_CURSOR = "\x1b[>c\x1b[6n";

/** Terminals that cut rows at a narrower width instead of wrapping them. */
export function terminalReflows(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.TMUX !== undefined) return true;
  return env.TERM !== "linux" && env.XTERM_VERSION === undefined && env.STY === undefined;
}

/**
 * Terminals disagree about the width of emoji and other clusters: after each such one the column is set by number,
 * so that everything to its right, the cursor included, is where it was laid out.
 */
function pinned(row: string): string {
  if (!UNSURE.test(row)) return row;
  const out: string[] = [];
  let column = 0;
  for (const part of row.split(SEQUENCE)) {
    if (part.startsWith("\x1b")) {
      out.push(part);
      continue;
    }
    for (const cluster of graphemes(part)) {
      out.push(cluster);
      column += clusterWidth(cluster);
      if (UNSURE.test(cluster)) out.push(`\x1b[${column + 1}G`);
    }
  }
  return out.join("");
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

// A tab, and all but what every terminal shows as wide as it is measured: ASCII, Latin, Greek, Cyrillic, punctuation,
// arrows, signs of mathematics, lines and boxes, Braille, kana, Chinese, Hangul.
const UNSURE =
  /[^\x1b\x20-\x7e\xa0-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2100-\u22ff\u2500-\u25ff\u2800-\u28ff\u3000-\u3029\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60\ufffd]|\p{Emoji_Presentation}/u;
const SEQUENCE = /(\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\))/;

/**
 * From the start of a row: tmux takes CSI J at the very top of the screen for `clear` and moves the rows into its
 * history.
 */
const CLEAR_DOWN = "\x1b[K\x1b[C\x1b[J\r";
/** More lines than this since then, and the stale rows stay where they are. */
const KEPT_ABOVE = 500;
const SYNC_ON = "\x1b[?2026h";
const SYNC_OFF = "\x1b[?2026l";
const HIDE = "\x1b[?25l";
const SHOW = "\x1b[?25h";
const NO_WRAP = "\x1b[?7l";
const WRAP = "\x1b[?7h";
