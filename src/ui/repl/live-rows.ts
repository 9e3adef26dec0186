/** Lays out the live rows: streaming tail, live line, queue, and the input line, question or list below them. */
import type { Task } from "../../agent/tasks.ts";
import { clip } from "../../lib/text.ts";
import type { ApprovalQueue } from "../approval/approval-queue.ts";
import type { Editor } from "../editor/editor.ts";
import { layout } from "../editor/layout.ts";
import type { PasswordLine } from "../questions/password-line.ts";
import type { Picker } from "../questions/picker.ts";
import type { CursorPosition } from "../terminal/live-area.ts";
import type { Theme } from "../theme.ts";
import { oneLine } from "../words.ts";

export interface LiveRows {
  readonly style: Theme;
  readonly editor: Editor;
  readonly queue: ApprovalQueue;
  readonly picker: Picker | undefined;
  readonly password: PasswordLine | undefined;
  /** Precedes the prompt while approvals are not asked for as usual. */
  readonly badge: string;
  readonly prompt: string;
  readonly statusLine: string | undefined;
  readonly queued: readonly Task[];
  /** A remark below the input line that goes away by itself: "press Ctrl-C again to quit". */
  readonly hint: string;
  /** The model's checklist, at most so many rows. */
  plan(limit: number): readonly string[];
  /** The newest rows of what is being streamed, at most so many. */
  tail(limit: number): readonly string[];
}

/** `columns` is what a row may use; `rows` the height of the terminal. */
export function liveRows(view: LiveRows, columns: number, rows: number): { rows: string[]; cursor: CursorPosition } {
  const height = Math.max(1, rows - 1);
  const bottom = bottomRows(view, columns, height);
  const above: string[] = [];
  const free = (): number => height - bottom.rows.length - above.length;
  if (view.statusLine !== undefined && free() > 0) above.push(view.statusLine);
  above.unshift(...view.plan(Math.min(PLAN_SHOWN, Math.floor(free() / 2))));
  for (const task of view.queued.slice(0, QUEUED_SHOWN)) {
    if (free() <= 1) break;
    above.push(view.style.grey(`  queued ${task.id}: ${oneLine(task.title)}`));
  }
  const room = Math.min(free(), Math.max(3, Math.floor(height / 2)));
  const tail = room > 0 ? view.tail(room) : [];
  // An empty row between the output and the input, where there is room for it.
  const gap = height >= ROOMY && free() > tail.length ? [""] : [];
  const all = [...tail, ...gap, ...above, ...bottom.rows].map((row) => clip(row, columns));
  const shift = all.length - bottom.rows.length;
  return { rows: all, cursor: { row: shift + bottom.cursor.row, col: Math.min(bottom.cursor.col, columns) } };
}

function bottomRows(view: LiveRows, columns: number, height: number): { rows: string[]; cursor: CursorPosition } {
  const { queue, picker, password } = view;
  if (password !== undefined) {
    const { rows, cursor } = password.view(columns, view.style);
    // On a small screen the line itself stays.
    const cut = Math.min(cursor.row, Math.max(0, rows.length - height));
    return { rows: rows.slice(cut, cut + height), cursor: { ...cursor, row: cursor.row - cut } };
  }
  if (queue.current !== undefined && queue.asks) {
    const { rows, cursor } = queue.current.view(columns, height, queue.behind);
    const cut = Math.max(0, rows.length - height);
    return { rows: rows.slice(cut), cursor: { ...cursor, row: Math.max(0, cursor.row - cut) } };
  }
  if (queue.current !== undefined && queue.holdsBack) {
    const note = queue.aside ? "Esc: back to the question" : "asks when you stop typing";
    const line = lineRows(view, columns, Math.max(1, height - ANNOUNCED));
    const above = queue.current.announcement(columns, note).slice(0, Math.max(0, height - line.rows.length));
    return { rows: [...above, ...line.rows], cursor: { row: above.length + line.cursor.row, col: line.cursor.col } };
  }
  if (picker !== undefined) {
    const rows = picker.rows(columns, height, view.style);
    return { rows, cursor: { row: 0, col: Math.min(columns, Bun.stringWidth(rows[0] ?? "")) } };
  }
  return lineRows(view, columns, height - (view.statusLine === undefined ? 0 : 1));
}

/** The input line with what is below it. */
function lineRows(view: LiveRows, columns: number, height: number): { rows: string[]; cursor: CursorPosition } {
  const line = editorRows(view, columns, Math.max(1, Math.floor(height * 0.6)));
  const free = height - line.rows.length;
  const hint = view.hint === "" ? [] : [view.style.grey(view.hint)];
  const below = free > 0 ? (view.editor.dropDown?.rows(columns, free, view.style) ?? hint) : [];
  return { rows: [...line.rows, ...below], cursor: line.cursor };
}

function editorRows(view: LiveRows, columns: number, limit: number): { rows: string[]; cursor: CursorPosition } {
  const { editor, style } = view;
  const { search } = editor;
  if (search !== undefined) {
    const label = clip(`(${search.failed ? "not found" : "search"} '${search.query}') `, Math.floor(columns * 0.7));
    const match = oneLine(search.shown);
    const at = search.match === undefined ? 0 : Math.max(0, match.toLowerCase().indexOf(search.query.toLowerCase()));
    const row = clip(`${style.prompt(label)}${match}`, columns);
    return {
      rows: [row],
      cursor: { row: 0, col: Math.min(columns, Bun.stringWidth(label) + Bun.stringWidth(match.slice(0, at))) },
    };
  }
  const start = view.badge === "" ? "" : `${style.badge(view.badge)} `;
  const promptWidth = Bun.stringWidth(start) + Bun.stringWidth(view.prompt);
  editor.view = { promptWidth, columns };
  const placed = layout(editor.buffer.cells, editor.buffer.cursor, promptWidth, columns);
  const first = Math.max(0, Math.min(placed.cursor.row - Math.floor(limit / 2), placed.rows.length - limit));
  const visible = placed.rows.slice(first, first + limit);
  const rows = visible.map((row, index) => {
    const before = first + index === 0 ? start + style.prompt(view.prompt) : " ".repeat(row.indent);
    return before + row.text;
  });
  if (first > 0 && rows.length > 1) rows[0] = style.grey(`  …${first + 1} lines above`);
  const hidden = placed.rows.length - first - visible.length;
  if (hidden > 0 && rows.length > 2) rows[rows.length - 1] = style.grey(`  …${hidden + 1} lines below`);
  return { rows, cursor: { row: placed.cursor.row - first, col: placed.cursor.col } };
}

const QUEUED_SHOWN = 3;
const PLAN_SHOWN = 8;
const ROOMY = 10;
/** Rows of a question that waits above the line. */
const ANNOUNCED = 3;
