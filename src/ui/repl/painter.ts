/** When and what to paint: at once for keys, a little later for streams, never faster than the terminal takes it. */
import { type CursorPosition, LiveArea, terminalReflows } from "../terminal/live-area.ts";
import { SCROLL_OFF, SCROLL_ON } from "../terminal/scroll-view.ts";
import type { Terminal } from "../terminal/terminal.ts";

export class Painter {
  readonly #terminal: Terminal;
  readonly #content: PainterContent;
  readonly #reflows: boolean;
  readonly #area = new LiveArea();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dirty = false;
  #size: { columns: number; rows: number };
  #asked: ReturnType<typeof setTimeout> | undefined;
  #waiters: (() => void)[] = [];
  #off = false;
  #overlay: ((columns: number, rows: number) => string) | undefined;
  #ending = false;

  constructor(terminal: Terminal, env: Readonly<Record<string, string | undefined>>, content: PainterContent) {
    this.#terminal = terminal;
    this.#content = content;
    this.#reflows = terminalReflows(env);
    this.#size = { columns: terminal.columns, rows: terminal.rows };
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
    if (this.#terminal.busy || this.#asked !== undefined) {
      this.#dirty = true;
      return;
    }
    if (!this.#settleSize(undefined)) return;
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

  /** The terminal's answer to "where is the cursor", after a change of width. */
  cursorAnswered(column: number): void {
    if (this.#asked === undefined) return;
    clearTimeout(this.#asked);
    this.#asked = undefined;
    this.#settleSize(column);
    this.draw();
  }

  /** Ctrl-Z: gives the terminal to the shell until `fg`. */
  async suspend(): Promise<void> {
    // The whole job, as a shell expects it. Execution continues behind this line after fg.
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

  /** Prints what still waits, takes the live rows away and gives the terminal back. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer);
    clearTimeout(this.#asked);
    this.endOverlay();
    this.#off = true;
    this.release();
    this.#terminal.write(this.#area.eraseAfterResize(this.#terminal.columns, this.#reflows, undefined));
    const lines = this.#content.take(Number.MAX_SAFE_INTEGER);
    if (lines.length > 0) this.#terminal.write(`${lines.join("\r\n")}\r\n`);
    await this.#terminal.leave();
  }

  /**
   * False while the terminal is asked where the cursor went. Looks at the size itself: the signal may come after the
   * next frame.
   */
  #settleSize(cursorColumn: number | undefined): boolean {
    const { columns, rows } = this.#terminal;
    if (columns === this.#size.columns && rows === this.#size.rows) return true;
    const narrower = columns < this.#size.columns;
    if (cursorColumn === undefined && narrower && this.#reflows && this.#area.ambiguousAt(columns)) {
      this.#terminal.ask("\x1b[6n");
      this.#asked = setTimeout(() => {
        this.#asked = undefined;
        this.#settleSize(columns - 1);
        this.draw();
      }, ANSWER_MS);
      return false;
    }
    this.#terminal.write(this.#area.eraseAfterResize(columns, this.#reflows, cursorColumn));
    this.#size = { columns, rows };
    return true;
  }

  #paint(): void {
    this.#dirty = false;
    const { columns, rows } = this.#terminal;
    const lines = this.#content.take(LINES_A_FRAME);
    const view = this.#content.live(Math.max(1, columns - 1), rows);
    this.#terminal.write(this.#area.frame(lines, view.rows, view.cursor, columns));
    this.#content.painted();
    if (this.#content.waiting() > 0) this.#dirty = true;
    if (!this.#terminal.busy) this.#drained();
  }

  #drained(): void {
    if (this.#content.waiting() < BACKLOG) for (const resolve of this.#waiters.splice(0)) resolve();
    if (this.#dirty) this.draw();
  }
}

export interface PainterContent {
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
/** How long the terminal may take to say where the cursor is; a slow link answers late, and then a guess is made. */
const ANSWER_MS = 150;
