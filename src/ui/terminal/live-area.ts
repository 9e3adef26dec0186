/** Prints finished lines once into the terminal's own scrollback and repaints only the few live rows below them. */
import { clusterWidth, graphemes } from "../../lib/text.ts";

export class LiveArea {
  #painted: string[] = [];
  /** Row of the terminal's cursor, counted from the first live row. */
  #cursorRow = 0;
  #cursorCol = 0;
  /** Columns when the rows were painted. */
  #columns = 0;

  /**
   * The bytes that print `lines` above and show `rows` with the cursor at its place. Rows must be narrower than the
   * terminal (its last column is where CSI K would eat a character) and fewer than its height.
   */
  frame(lines: readonly string[], rows: readonly string[], cursor: CursorPosition, columns: number): string {
    const out: string[] = [];
    const fresh = rows.map((row) => pinned(row));
    this.#columns = columns;
    if (lines.length > 0) {
      out.push(this.#toTop(), CLEAR_DOWN);
      for (const line of lines) out.push(line, "\r\n");
      this.#painted = [];
      this.#cursorRow = 0;
    }
    const body = this.#repaint(fresh);
    if (body !== "") out.push(NO_WRAP, body, WRAP);
    out.push(this.#place(cursor));
    this.#painted = fresh;
    if (lines.length === 0 && body === "") return out.join("");
    return `${SYNC_ON}${HIDE}${out.join("")}${SHOW}${SYNC_OFF}`;
  }

  /** Forgets what is on the screen, for a fresh start below whatever is there (after a stop, a clear). */
  forget(): void {
    this.#painted = [];
    this.#cursorRow = 0;
    this.#cursorCol = 0;
  }

  /** Takes the live rows away and leaves the cursor where they began. */
  erase(): string {
    const out = this.#painted.length === 0 ? "" : this.#toTop() + CLEAR_DOWN;
    this.forget();
    return out;
  }

  /** True when the cursor's own row is too wide for the new width: terminals disagree on how to show it. */
  ambiguousAt(columns: number): boolean {
    return this.#painted.length > 0 && this.#cursorCol >= columns;
  }

  /**
   * Erases the live rows after the terminal changed width and, where it does that, wrapped them again.
   * `cursorColumn` is what the terminal answered (from 0): xterm.js leaves the cursor's row alone, others wrap it.
   */
  eraseAfterResize(columns: number, reflows: boolean, cursorColumn: number | undefined): string {
    if (this.#painted.length === 0 || columns === this.#columns) return this.erase();
    let up = 0;
    for (const row of this.#painted.slice(0, this.#cursorRow)) up += reflows ? rowsAt(row, columns) : 1;
    if (reflows && this.#cursorCol >= columns && cursorColumn !== undefined) {
      const wrapped = cursorColumn === this.#cursorCol % columns && cursorColumn !== columns - 1;
      if (wrapped) up += Math.floor(this.#cursorCol / columns);
    }
    this.forget();
    return `\r${up > 0 ? `\x1b[${up}A` : ""}${CLEAR_DOWN}`;
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

/** Terminals that cut rows at a narrower width instead of wrapping them. */
export function terminalReflows(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.TMUX !== undefined) return true;
  return env.TERM !== "linux" && env.XTERM_VERSION === undefined && env.STY === undefined;
}

/**
 * Terminals disagree about the width of emoji and other clusters: after each such one the column is set by number,
 * so that everything to its right, the cursor included, is where we think it is.
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

function rowsAt(row: string, columns: number): number {
  return Math.max(1, Math.ceil(Bun.stringWidth(row) / columns));
}

// Everything from the combining marks on that is not plain CJK, Latin, Greek or Cyrillic.
const UNSURE =
  /[\u0590-\u109f\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff]|\p{M}|\p{Cf}|\p{Emoji_Presentation}|\p{Regional_Indicator}/u;
const SEQUENCE = /(\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\))/;

/**
 * From the start of a row: tmux takes CSI J at the very top of the screen for `clear` and moves the rows into its
 * history.
 */
const CLEAR_DOWN = "\x1b[K\x1b[C\x1b[J\r";
const SYNC_ON = "\x1b[?2026h";
const SYNC_OFF = "\x1b[?2026l";
const HIDE = "\x1b[?25l";
const SHOW = "\x1b[?25h";
const NO_WRAP = "\x1b[?7l";
const WRAP = "\x1b[?7h";
