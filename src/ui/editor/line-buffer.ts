/** The text being typed, as grapheme clusters and folded pastes, with a cursor, a kill ring and undo. */
import { clip, clusterWidth, graphemes } from "../../lib/text.ts";

export class LineBuffer {
  #cells: Cell[] = [];
  #cursor = 0;
  #killed: Cell[] = [];
  #killing = false;
  #undo: { cells: Cell[]; cursor: number }[] = [];
  #typing = false;

  get cells(): readonly Cell[] {
    return this.#cells;
  }

  get cursor(): number {
    return this.#cursor;
  }

  get empty(): boolean {
    return this.#cells.length === 0;
  }

  /** What is sent: folded pastes in full. */
  get text(): string {
    return textOf(this.#cells);
  }

  /** Text before the cursor, for completion. */
  get before(): string {
    return textOf(this.#cells.slice(0, this.#cursor));
  }

  set(cells: readonly Cell[], cursor = cells.length): void {
    this.#save(false);
    this.#cells = [...cells];
    this.#cursor = Math.min(cursor, cells.length);
  }

  setText(text: string): void {
    this.set(graphemes(text));
  }

  /** An earlier prompt: one that is too long to be edited comes back folded after its first words. */
  recall(text: string): void {
    if (text.length <= RECALL_CHARACTERS && text.split("\n").length <= RECALL_LINES) return this.setText(text);
    const first = graphemes(text.slice(0, 20 * RECALL_SHOWN).split("\n")[0]!).slice(0, RECALL_SHOWN);
    const rest = text.slice(first.join("").length);
    const lines = rest.trim().split("\n").length;
    this.set([...first, { text: rest, shown: lines > 1 ? `[${lines} lines]` : `[${rest.length} characters]` }]);
  }

  /** Types text; a combining mark joins the character before it. */
  insert(text: string): void {
    this.#save(true);
    const left = this.#cells[this.#cursor - 1];
    const right = this.#cells[this.#cursor];
    const head = typeof left === "string" && left !== "\n" ? left : "";
    const tail = typeof right === "string" && right !== "\n" ? right : "";
    const before = graphemes(head + text);
    const all = graphemes(head + text + tail);
    const from = head === "" ? this.#cursor : this.#cursor - 1;
    this.#cells.splice(from, (head === "" ? 0 : 1) + (tail === "" ? 0 : 1), ...all);
    this.#cursor = from + Math.min(before.length, all.length);
  }

  /** A paste: folded into one cell when it is long. */
  paste(text: string): void {
    const clean = text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
    if (clean === "") return;
    const lines = clean.split("\n").length - (clean.endsWith("\n") ? 1 : 0);
    this.#save(false);
    if (lines <= FOLD_LINES && clean.length <= FOLD_CHARACTERS) {
      // A trailing newline of a copied line is not meant as an empty line.
      return this.insert(clean.endsWith("\n") ? clean.slice(0, -1) : clean);
    }
    const shown = lines > 1 ? `[pasted ${lines} lines]` : `[pasted ${clean.length} characters]`;
    this.#cells.splice(this.#cursor, 0, { text: clean, shown });
    this.#cursor++;
  }

  /** Replaces the `length` characters of text before the cursor, which must be plain cells. */
  replaceBefore(length: number, text: string): void {
    this.#save(false);
    let start = this.#cursor;
    let left = length;
    while (start > 0 && left > 0) left -= textOf([this.#cells[--start]!]).length;
    const fresh = graphemes(text);
    this.#cells.splice(start, this.#cursor - start, ...fresh);
    this.#cursor = start + fresh.length;
  }

  move(to: number): void {
    this.#cursor = Math.max(0, Math.min(to, this.#cells.length));
    this.#killing = false;
    this.#typing = false;
  }

  get lineStart(): number {
    let at = this.#cursor;
    while (at > 0 && this.#cells[at - 1] !== "\n") at--;
    return at;
  }

  get lineEnd(): number {
    let at = this.#cursor;
    while (at < this.#cells.length && this.#cells[at] !== "\n") at++;
    return at;
  }

  /** Start of the word before the cursor; words are letters and digits, as in readline. */
  get wordLeft(): number {
    let at = this.#cursor;
    while (at > 0 && !isWord(this.#cells[at - 1]!)) at--;
    while (at > 0 && isWord(this.#cells[at - 1]!)) at--;
    return at;
  }

  get wordRight(): number {
    let at = this.#cursor;
    while (at < this.#cells.length && !isWord(this.#cells[at]!)) at++;
    while (at < this.#cells.length && isWord(this.#cells[at]!)) at++;
    return at;
  }

  /** Start of the blank-delimited word before the cursor (Ctrl-W). */
  get bigWordLeft(): number {
    let at = this.#cursor;
    while (at > 0 && isBlank(this.#cells[at - 1]!)) at--;
    while (at > 0 && !isBlank(this.#cells[at - 1]!)) at--;
    return at;
  }

  delete(from: number, to: number): void {
    const start = Math.max(0, Math.min(from, to));
    const end = Math.min(this.#cells.length, Math.max(from, to));
    if (start === end) return;
    this.#save(false);
    this.#cells.splice(start, end - start);
    this.#cursor = start;
    this.#killing = false;
  }

  /** Deletes into the kill ring; kills in a row join, as in readline. */
  kill(from: number, to: number): void {
    const cut = this.#cells.slice(Math.min(from, to), Math.max(from, to));
    if (cut.length === 0) return;
    const joined = this.#killing ? (from < to ? [...this.#killed, ...cut] : [...cut, ...this.#killed]) : cut;
    this.delete(from, to);
    this.#killed = joined;
    this.#killing = true;
  }

  yank(): void {
    if (this.#killed.length === 0) return;
    this.#save(false);
    this.#cells.splice(this.#cursor, 0, ...this.#killed);
    this.#cursor += this.#killed.length;
    this.#killing = false;
  }

  /** Ctrl-T: swaps the two characters around the cursor. */
  transpose(): void {
    const at = this.#cursor === this.#cells.length ? this.#cursor - 1 : this.#cursor;
    if (at < 1) return;
    this.#save(false);
    const [left, right] = [this.#cells[at - 1]!, this.#cells[at]!];
    this.#cells.splice(at - 1, 2, right, left);
    this.#cursor = at + 1;
  }

  undo(): void {
    const last = this.#undo.pop();
    if (last === undefined) return;
    this.#cells = last.cells;
    this.#cursor = last.cursor;
    this.#typing = false;
    this.#killing = false;
  }

  /** Empties the buffer and forgets its undo steps. */
  clear(): void {
    this.#cells = [];
    this.#cursor = 0;
    this.#undo = [];
    this.#typing = false;
    this.#killing = false;
  }

  /** Characters typed in a row are undone together. */
  #save(typing: boolean): void {
    this.#killing = false;
    if (typing && this.#typing) return;
    this.#typing = typing;
    this.#undo.push({ cells: [...this.#cells], cursor: this.#cursor });
    if (this.#undo.length > UNDO_STEPS) this.#undo.shift();
  }
}

/** One character, or a long paste that is shown folded and sent whole. */
export type Cell = string | Folded;

interface Folded {
  readonly text: string;
  readonly shown: string;
}

export function textOf(cells: readonly Cell[]): string {
  let text = "";
  for (const cell of cells) text += typeof cell === "string" ? cell : cell.text;
  return text;
}

const FOLD_LINES = 12;
const FOLD_CHARACTERS = 4000;
const RECALL_LINES = 100;
const RECALL_CHARACTERS = 20_000;
const RECALL_SHOWN = 40;
const UNDO_STEPS = 100;

function isWord(cell: Cell): boolean {
  return typeof cell !== "string" || /[\p{L}\p{N}]/u.test(cell);
}

function isBlank(cell: Cell): boolean {
  return typeof cell === "string" && /^\s$/.test(cell);
}

/** Where each character of the typed text is on the screen, and where the cursor is. */
export function layout(cells: readonly Cell[], cursor: number, promptWidth: number, columns: number): EditorLayout {
  const usable = Math.max(4, columns);
  const indent = Math.min(CONTINUATION, usable - 3);
  const rows: LayoutRow[] = [{ text: "", start: 0, end: 0, indent: Math.min(promptWidth, usable - 2) }];
  let row = rows[0]!;
  let column = row.indent;
  let place = { row: 0, col: column };
  const wrap = (index: number): void => {
    row.end = index;
    row = { text: "", start: index, end: index, indent };
    rows.push(row);
    column = indent;
  };
  for (let index = 0; index < cells.length; index++) {
    const cell = cells[index]!;
    const shown = shownCell(cell, usable);
    const width = cellWidth(cell, usable);
    // Unless the row is empty: on another one it would not fit any better.
    if (cell !== "\n" && (column > row.indent || row.indent > indent) && column + width > usable) wrap(index);
    if (index === cursor) place = { row: rows.length - 1, col: column };
    if (cell === "\n") {
      wrap(index + 1);
      continue;
    }
    row.text += shown;
    column += width;
  }
  if (cursor >= cells.length) {
    // The cursor needs its own column after the last character.
    if (column >= usable) wrap(cells.length);
    place = { row: rows.length - 1, col: column };
  }
  row.end = cells.length;
  return { rows, cursor: place, columns: usable };
}

/** A folded paste is cut where the line is too narrow for it. */
function shownCell(cell: Cell, columns: number): string {
  if (typeof cell !== "string") return clip(cell.shown, columns - CONTINUATION);
  return cell === "\t" ? "    ".slice(0, columns - CONTINUATION) : cell;
}

function cellWidth(cell: Cell, columns: number): number {
  if (cell === "\n") return 0;
  return typeof cell === "string" && cell !== "\t" ? clusterWidth(cell) : Bun.stringWidth(shownCell(cell, columns));
}

/** The cell index at a column of a row, for moving up and down. */
export function cellAt(view: EditorLayout, cells: readonly Cell[], rowIndex: number, column: number): number {
  const row = view.rows[rowIndex]!;
  let at = row.indent;
  let index = row.start;
  while (index < row.end) {
    const cell = cells[index]!;
    if (cell === "\n") break;
    const width = cellWidth(cell, view.columns);
    if (at + width > column) break;
    at += width;
    index++;
  }
  // The end of a wrapped row is the start of the next one: stay on this row.
  if (index === row.end && index > row.start && rowIndex < view.rows.length - 1 && cells[index - 1] !== "\n")
    return index - 1;
  if (index > row.start && cells[index - 1] === "\n") return index - 1;
  return index;
}

interface EditorLayout {
  readonly columns: number;
  readonly rows: readonly LayoutRow[];
  readonly cursor: { readonly row: number; readonly col: number };
}

interface LayoutRow {
  text: string;
  /** Cells start..end (exclusive) are on this row; a newline belongs to the row it ends. */
  start: number;
  end: number;
  indent: number;
}

/** Continuation rows are indented, so that a wrapped prompt does not look like output. */
const CONTINUATION = 2;
