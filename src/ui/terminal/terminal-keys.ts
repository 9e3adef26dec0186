/** Keys from a terminal that is not stdin, for single questions. */
import { closeSync, read, readSync, writeSync } from "node:fs";
import { askProgram } from "../../lib/start-child.ts";
import { terminalEncoder } from "./ascii.ts";
import { KeyDecoder, type TerminalInput } from "./keys.ts";

/**
 * Keys from a terminal; what was typed before the question never answers it.
 *
 * Bun's tty.ReadStream keeps a read on the terminal after it is destroyed, which swallows the answer to the next
 * question. With `min 0 time 1` a read ends by itself after a tenth of a second, so none is ever left behind.
 */
export class TerminalKeys {
  readonly terminal: number;
  readonly #signal: AbortSignal;
  readonly #saved: string | undefined;
  readonly #decoder = new KeyDecoder();
  readonly #taken = Promise.withResolvers<undefined>();
  readonly #encode = terminalEncoder(process.env);
  #reading: Promise<unknown> = Promise.resolve();
  #size: { columns: number; rows: number } | undefined;

  constructor(terminal: number, signal: AbortSignal) {
    this.terminal = terminal;
    this.#signal = signal;
    signal.addEventListener("abort", this.#takeBack, { once: true });
    process.on("SIGWINCH", this.#resized);
    this.#saved = stty(terminal, "-g");
    if (this.#saved === undefined) return;
    // A second signal ends the process at once: the terminal must not stay as it is now.
    process.once("exit", this.#restore);
    this.#setRaw();
  }

  /** Keys come one by one; without stty the terminal stays in its own mode, and lines come. */
  get raw(): boolean {
    return this.#saved !== undefined;
  }

  size(): { columns: number; rows: number } {
    if (this.#size === undefined) {
      const [rows, columns] = (stty(this.terminal, "size") ?? "").split(" ").map(Number);
      this.#size = { columns: Math.max(20, columns || 80), rows: Math.max(4, rows || 24) };
    }
    return this.#size;
  }

  write(text: string): void {
    writeSync(this.terminal, this.#encode(text));
  }

  /** Writes a question that the terminal answers among the keys. */
  ask(question: string): void {
    this.#decoder.expectAnswer();
    this.write(question);
  }

  /**
   * The next keys; none when the terminal changed its size, or at that time (milliseconds since the epoch); undefined
   * when the question was withdrawn.
   */
  async next(due = Infinity): Promise<readonly TerminalInput[] | undefined> {
    for (;;) {
      if (this.#signal.aborted) return undefined;
      if (Date.now() >= due) return [];
      const before = this.#size;
      const chunk = await Promise.race([this.#read(), this.#taken.promise]);
      if (chunk === undefined) return undefined;
      const inputs = chunk.length === 0 && this.#decoder.pending ? this.#decoder.flush() : this.#decoder.push(chunk);
      if (inputs.length > 0 || this.#size !== before) return inputs;
    }
  }

  /** What was typed, as it came; undefined when the question was withdrawn. */
  async bytes(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#signal.aborted ? undefined : await Promise.race([this.#read(), this.#taken.promise]);
      if (chunk === undefined || chunk.length > 0) return chunk;
    }
  }

  /** Drops what is typed until nothing was for that long; whether something was. */
  async rested(ms: number): Promise<boolean> {
    if (!this.raw) return false;
    this.#setMode();
    let typed = false;
    for (let since = Date.now(); !this.#signal.aborted && Date.now() - since < ms;) {
      const chunk = await Promise.race([this.#read(), this.#taken.promise]);
      if (chunk === undefined) break;
      if (chunk.length === 0) continue;
      typed = true;
      since = Date.now();
    }
    return typed;
  }

  /** A whole line, for a terminal in its own mode. */
  async line(): Promise<string | undefined> {
    if (this.#saved !== undefined) stty(this.terminal, this.#saved);
    const decoder = new TextDecoder();
    let text = "";
    while (!text.includes("\n")) {
      const chunk = this.#signal.aborted ? undefined : await Promise.race([this.#read(), this.#taken.promise]);
      if (chunk === undefined || chunk.length === 0) return undefined;
      text += decoder.decode(chunk, { stream: true });
    }
    return text.replace(/\r?\n[\s\S]*$/, "");
  }

  /** The terminal as the operator had it, while another program uses it. */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    await this.#reading;
    this.#restore();
    try {
      return await work();
    } finally {
      if (this.raw) this.#setRaw();
      this.#size = undefined;
    }
  }

  /**
   * A read that is still queued would take its bytes from the file that gets the closed number next, or a line
   * of the operator's from the restored terminal: it ends first. Without stty that takes until they press Enter.
   */
  async close(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#takeBack);
    process.off("SIGWINCH", this.#resized);
    const closed = this.#reading.then(() => {
      process.removeListener("exit", this.#restore);
      this.#restore();
      closeSync(this.terminal);
    });
    if (this.#saved !== undefined && process.env.TERM !== "dumb") await closed;
  }

  #setRaw(): void {
    stty(this.terminal, "-icanon", "-echo", "-isig", "min", "0", "time", "0");
    const typedAhead = Buffer.alloc(4096);
    while (readSync(this.terminal, typedAhead) > 0);
    stty(this.terminal, "time", "1");
    if (process.env.TERM !== "dumb") this.write(PASTES_ON);
  }

  #setMode(): void {
    stty(this.terminal, "-icanon", "-echo", "-isig", "min", "0", "time", "1");
  }

  readonly #takeBack = (): void => this.#taken.resolve(undefined);

  readonly #resized = (): void => void (this.#size = undefined);

  readonly #restore = (): void => {
    if (this.#saved === undefined) return;
    if (process.env.TERM !== "dumb") this.write(PASTES_OFF);
    stty(this.terminal, this.#saved);
  };

  /** Empty when nothing was typed for a moment. */
  #read(): Promise<Uint8Array | undefined> {
    const buffer = Buffer.alloc(4096);
    const chunk = new Promise<Uint8Array | undefined>((resolve) => {
      read(this.terminal, buffer, 0, buffer.length, null, (error, count) => {
        // Without stty the terminal stays in line mode, and no bytes mean its end.
        if (error !== null || (count === 0 && this.#saved === undefined)) resolve(undefined);
        else resolve(buffer.subarray(0, count));
      });
    });
    this.#reading = chunk;
    return chunk;
  }
}

/** Pasted text comes between marks, and is no key. */
const PASTES_ON = "\x1b[?2004h";
const PASTES_OFF = "\x1b[?2004l";

function stty(terminal: number, ...args: string[]): string | undefined {
  const { code, stdout } = askProgram(["stty", ...args], { stdin: terminal });
  return code === 0 ? stdout.trim() : undefined;
}
