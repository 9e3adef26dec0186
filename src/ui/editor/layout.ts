/** Where each character of the typed text is on the screen, and where the cursor is. */
import { clip, clusterWidth } from "../../lib/text.ts";
import type { Cell } from "./line-buffer.ts";

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
