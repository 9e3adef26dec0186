/** When and what to paint: at once for keys, a little later for streams, never faster than the terminal takes it. */
import type { Task } from "../../agent/tasks.ts";
import { clip } from "../../lib/text.ts";
import type { ApprovalQueue } from "../approval/approval-queue.ts";
import type { Editor } from "../editor/editor.ts";
import { layout } from "../editor/line-buffer.ts";
import type { PasswordLine } from "../questions/password-line.ts";
import type { Picker } from "../questions/picker.ts";
import { ASK_CURSOR, type CursorPosition, LiveArea, terminalReflows } from "../terminal/live-area.ts";
import { SCROLL_OFF, SCROLL_ON } from "../terminal/scroll-view.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { Theme } from "../theme.ts";
import { oneLine } from "../words.ts";

export class Painter {
  readonly #terminal: Terminal;
  readonly #content: PainterContent;
  readonly #reflows: boolean;
  readonly #area = new LiveArea();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dirty = false;
  #size: Size;
  /** A new size: until it no longer changes and the terminal has said where the cursor went, nothing is drawn. */
  #resizing: { readonly size: Size; readonly timer: NodeJS.Timeout; readonly asked: boolean } | undefined;
  #answerMs = ANSWER_MS;
  #waiters: (() => void)[] = [];
  #off = false;
  #overlay: ((columns: number, rows: number) => string) | undefined;
  #ending = false;

  constructor(terminal: Terminal, env: Readonly<Record<string, string | undefined>>, content: PainterContent) {
    this.#terminal = terminal;
    this.#content = content;
    this.#reflows = terminalReflows(env);
    this.#size = this.#sizeNow();
    terminal.onResize = () => {
      if (this.#overlay !== undefined) this.overlay(this.#overlay);
      this.soon();
    };
    terminal.onDrained = () => this.#drained();
  }

  /** Paints now, or as soon as the frame under way has left. */
  draw(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#off || this.#overlay !== undefined) return;
    if (this.#terminal.busy) {
      this.#dirty = true;
      return;
    }
    if (!this.#settleSize()) return;
    this.#paint();
  }

  /** Paints within a sixtieth of a second. */
  soon(): void {
    if (this.#timer === undefined && !this.#off) this.#timer = setTimeout(() => this.draw(), FRAME_MS);
  }

  /** Resolves when the lines that wait to be printed are few again; undefined when they are. */
  room(): Promise<void> | undefined {
    if (this.#ending || this.#content.waiting() < BACKLOG) return undefined;
    this.draw();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push(resolve);
    return promise;
  }

  /** Nothing waits for the terminal any more: it may be the reason to leave. */
  release(): void {
    this.#ending = true;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  clear(): void {
    this.#terminal.write(`${this.#area.erase()}\x1b[H\x1b[2J`);
    this.draw();
  }

  /** The terminal's answer to "where is the cursor", after its size changed. */
  cursorAnswered(cursor: CursorPosition): void {
    if (this.#resizing?.asked !== true) return;
    const { columns, rows } = this.#resizing.size;
    // tmux changes its rows before it says so: then this answer belongs to a size that is still to come.
    if (cursor.row >= rows || cursor.col > columns) return;
    this.#settle(cursor);
  }

  terminalAnswered(version: string): void {
    this.#area.answered(version);
  }

  /** Ctrl-Z: gives the terminal to the shell until `fg`. */
  async suspend(): Promise<void> {
    // The whole job, as a shell expects it. Execution continues after this line with fg.
    await this.lend(async () => void process.kill(0, "SIGTSTP"));
  }

  /** Gives the terminal to another program while the work lasts. */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    await this.pause();
    try {
      return await work();
    } finally {
      this.resume();
    }
  }

  /** Nothing is drawn and no key is read until `resume`. */
  async pause(): Promise<void> {
    this.#off = true;
    this.#endResizing();
    this.#terminal.write(this.#area.erase());
    await this.#terminal.leave();
  }

  resume(): void {
    this.#off = false;
    this.#terminal.enter();
    this.#area.forget();
    this.draw();
  }

  /** Paints something else over the whole screen, now and whenever its size changes, until `endOverlay`. */
  overlay(frame: (columns: number, rows: number) => string): void {
    this.#endResizing();
    if (this.#overlay === undefined) this.#terminal.write(SCROLL_ON);
    this.#overlay = frame;
    this.#terminal.write(frame(this.#terminal.columns, this.#terminal.rows));
  }

  endOverlay(): void {
    if (this.#overlay === undefined) return;
    this.#overlay = undefined;
    this.#terminal.write(SCROLL_OFF);
    this.draw();
  }

  /** Continued after a stop that came from outside: nothing is known about the screen. */
  restart(): void {
    if (this.#off) return;
    this.#terminal.reenter();
    this.#area.forget();
    this.draw();
  }

  /** Prints what still waits, removes the live rows and gives the terminal back. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer);
    this.#endResizing();
    this.endOverlay();
    this.#off = true;
    this.release();
    this.#terminal.write(this.#area.eraseAfterResize(this.#terminal.columns, this.#reflows, undefined));
    const lines = this.#content.take(Number.MAX_SAFE_INTEGER);
    if (lines.length > 0) this.#terminal.write(`${lines.join("\r\n")}\r\n`);
    await this.#terminal.leave();
  }

  /**
   * False while the size changes. Checked for every frame: the signal may come later. While a window is dragged,
   * erasing would use rows of another size.
   */
  #settleSize(): boolean {
    const size = this.#sizeNow();
    if (sameSize(size, this.#size) && this.#resizing === undefined) return true;
    if (this.#area.empty) {
      this.#endResizing();
      this.#size = size;
      return true;
    }
    if (this.#resizing !== undefined && sameSize(size, this.#resizing.size)) return false;
    this.#endResizing();
    this.#resizing = { size, asked: false, timer: setTimeout(() => this.#rested(size), REST_MS) };
    return false;
  }

  #rested(size: Size): void {
    this.#terminal.ask(ASK_CURSOR);
    const timer = setTimeout(() => {
      this.#answerMs = SILENT_MS;
      this.#settle(undefined);
    }, this.#answerMs);
    this.#resizing = { size, asked: true, timer };
  }

  /** Where the size has changed once more, the cursor may be that of before or after. */
  #settle(cursor: CursorPosition | undefined): void {
    const size = this.#sizeNow();
    const same = this.#resizing !== undefined && sameSize(size, this.#resizing.size);
    this.#endResizing();
    if (same) {
      this.#terminal.write(this.#area.eraseAfterResize(size.columns, this.#reflows, cursor));
      this.#size = size;
    }
    this.soon();
  }

  #endResizing(): void {
    clearTimeout(this.#resizing?.timer);
    this.#resizing = undefined;
  }

  #sizeNow(): Size {
    const { columns, rows } = this.#terminal;
    return { columns, rows };
  }

  #paint(): void {
    this.#dirty = false;
    const { columns, rows } = this.#terminal;
    const lines = this.#content.take(LINES_A_FRAME);
    const view = this.#content.live(Math.max(1, columns - 1), rows);
    this.#terminal.write(this.#area.frame(lines, view.rows, view.cursor));
    this.#content.painted();
    if (this.#content.waiting() > 0) this.#dirty = true;
    if (!this.#terminal.busy) this.#drained();
  }

  #drained(): void {
    if (this.#content.waiting() < BACKLOG) for (const resolve of this.#waiters.splice(0)) resolve();
    if (this.#dirty) this.draw();
  }
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

function sameSize(one: Size, other: Size): boolean {
  return one.columns === other.columns && one.rows === other.rows;
}

interface PainterContent {
  /** Finished lines that are not printed yet. */
  waiting(): number;
  take(limit: number): string[];
  live(columns: number, rows: number): { rows: string[]; cursor: CursorPosition };
  /** What was laid out last is on its way to the terminal. */
  painted(): void;
}

/** Frames of a stream are this far apart. */
const FRAME_MS = 16;
/** A key waits at most for this many lines on a slow link. */
const LINES_A_FRAME = 200;
/** More waiting lines than this make the task wait. */
const BACKLOG = 1000;
/** Until a size counts as the last one of a change. */
const REST_MS = 50;
/** How long the terminal may take to say where the cursor is, on a slow link, too; then a guess is made. */
const ANSWER_MS = 2000;
/** Where it has not answered before. */
const SILENT_MS = 150;

// ── Lays out the live rows: streaming tail, live line, queue, and the input line, question or list below them.

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
