/** A real terminal emulator that tests can read: what stands on the screen, where the cursor is, what scrolled away. */
import { Terminal } from "@xterm/headless";
import { until } from "./until.ts";

export class Emulator {
  readonly #terminal: Terminal;
  #raw = "";
  readonly #listeners: (() => void)[] = [];
  /** False: bytes are only kept. Drawing a flood costs more than printing it. */
  drawing = true;

  constructor(
    public columns = 80,
    public rows = 24,
  ) {
    this.#terminal = new Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 20_000 });
  }

  /** What the terminal itself sends back: answers to queries. */
  onAnswer(listener: (text: string) => void): void {
    this.#terminal.onData(listener);
  }

  write(data: string | Uint8Array): void {
    const text = typeof data === "string" ? data : new TextDecoder().decode(data);
    this.#raw = (this.#raw + text).slice(-KEPT);
    for (const listener of this.#listeners.splice(0)) listener();
    if (this.drawing) this.#terminal.write(data);
  }

  /** The last bytes received, sequences and all. */
  /** Resolves with the next bytes. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#listeners.push(resolve));
  }

  get raw(): string {
    return this.#raw;
  }

  forgetRaw(): void {
    this.#raw = "";
  }

  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    this.#terminal.resize(columns, rows);
  }

  async settle(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#terminal.write("", resolve);
    await promise;
  }

  /** The visible rows, blanks at their ends and empty rows at the bottom taken away. */
  screen(): string {
    const { active } = this.#terminal.buffer;
    const rows = Array.from({ length: this.rows }, (_, row) => this.#row(active.viewportY + row));
    return rows.join("\n").trimEnd();
  }

  /** Everything, from the oldest line that was kept. */
  history(): string {
    const { active } = this.#terminal.buffer;
    return Array.from({ length: active.length }, (_, row) => this.#row(row))
      .join("\n")
      .trimEnd();
  }

  cursor(): { row: number; col: number } {
    const { active } = this.#terminal.buffer;
    return { row: active.cursorY, col: active.cursorX };
  }

  /** The visible row the cursor is on, up to the cursor. */
  beforeCursor(): string {
    const { active } = this.#terminal.buffer;
    const line = active.getLine(active.baseY + active.cursorY);
    return line?.translateToString(false, 0, active.cursorX) ?? "";
  }

  async until(wanted: string | RegExp | ((screen: string) => boolean), timeoutMs = 15_000): Promise<string> {
    const found = (screen: string): boolean =>
      typeof wanted === "string"
        ? screen.includes(wanted)
        : wanted instanceof RegExp
          ? wanted.test(screen)
          : wanted(screen);
    try {
      await until(
        async () => {
          await this.settle();
          return found(this.screen());
        },
        String(wanted),
        { timeoutMs, everyMs: 4 },
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}\nthe screen:\n${this.screen()}`, { cause: error });
    }
    return this.screen();
  }

  dispose(): void {
    this.#terminal.dispose();
  }

  #row(index: number): string {
    return this.#terminal.buffer.active.getLine(index)?.translateToString(true) ?? "";
  }
}

const KEPT = 1024 * 1024;
