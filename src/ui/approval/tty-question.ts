/** The same question on the controlling terminal of a one-shot run, wherever stdin and stdout lead. */
import { closeSync, read, readSync, writeSync } from "node:fs";
import { openTerminal } from "../../lib/controlling-terminal.ts";
import { askProgram } from "../../lib/start-child.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../policy/approvals.ts";
import { KeyDecoder, type TerminalInput } from "../terminal/keys.ts";
import { LiveArea } from "../terminal/live-area.ts";
import { pagerCommand, runEditor, runPager } from "../terminal/outside-programs.ts";
import { SCROLL_OFF, SCROLL_ON, ScrollView } from "../terminal/scroll-view.ts";
import { type Theme, theme } from "../theme.ts";
import { answeredLine, ApprovalPrompt } from "./approval-prompt.ts";

/** Answers `nobody` where there is no terminal or we are not in its foreground. */
export async function askOnTerminal(
  request: ApprovalRequest,
  signal: AbortSignal,
  options: TerminalOptions,
  terminal = openTerminal(),
): Promise<ApprovalAnswer> {
  if (terminal === undefined) return { kind: "nobody" };
  const keys = new TerminalKeys(terminal, signal);
  try {
    const question = new TerminalQuestion(request, keys, options);
    const answer = await (keys.raw && process.env.TERM !== "dumb" ? question.ask() : question.askInLines());
    if (answer.kind === "no" && answer.stop === true) options.interrupt();
    return answer;
  } finally {
    await keys.close();
  }
}

export interface TerminalOptions {
  readonly color: boolean;
  /** Questions that wait behind this one. */
  readonly behind?: (() => number) | undefined;
  /** What the operator's pager and editor may inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ctrl-C at the question: a terminal in raw mode sends no signal. */
  interrupt(): void;
}

class TerminalQuestion {
  readonly #keys: TerminalKeys;
  readonly #options: TerminalOptions;
  readonly #style: Theme;
  readonly #prompt: ApprovalPrompt;
  readonly #area = new LiveArea();
  #answer: ApprovalAnswer | undefined;
  /** What the keys wait for: a pager or an editor has the terminal. */
  #outside: Promise<void> | undefined;
  #scroll: ScrollView | undefined;

  constructor(request: ApprovalRequest, keys: TerminalKeys, options: TerminalOptions) {
    this.#keys = keys;
    this.#options = options;
    this.#style = theme(options.color);
    this.#prompt = new ApprovalPrompt(request, this.#style, {
      answer: (answer) => (this.#answer = answer),
      view: (document) => this.#view(document),
      editOutside: (text) => this.#lend(() => runEditor(text, options.env, keys.terminal)),
    });
  }

  async ask(): Promise<ApprovalAnswer> {
    const { columns, rows } = this.#keys.size();
    for (const line of this.#prompt.preamble(columns - 1, rows)) this.#keys.write(`${line}\r\n`);
    for (;;) {
      this.#paint();
      const inputs = await this.#keys.next();
      if (inputs === undefined) return this.#end({ kind: "cancelled" });
      for (const input of inputs) {
        if (this.#scroll !== undefined) this.#scrolled(this.#scroll, input);
        else if (this.#prompt.choosing && input.kind === "key" && input.ctrl && input.name === "c") {
          this.#end({ kind: "cancelled" });
          this.#options.interrupt();
          return { kind: "cancelled" };
        } else this.#prompt.handle(input);
        await this.#outside;
        if (this.#answer !== undefined) return this.#end(this.#answer);
      }
    }
  }

  /** Where nothing can be repainted: whole lines, in the terminal's own mode. */
  async askInLines(): Promise<ApprovalAnswer> {
    const say = (lines: readonly string[]) => this.#keys.write(lines.map((line) => `${line}\n`).join(""));
    say([
      ...this.#prompt.preamble(79, Number.MAX_SAFE_INTEGER),
      ...this.#prompt.plainQuestion(this.#options.behind?.() ?? 0),
    ]);
    while (this.#answer === undefined) {
      this.#keys.write(this.#prompt.plainLabel());
      const line = await this.#keys.line();
      if (line === undefined) return { kind: "cancelled" };
      say(this.#prompt.plainAnswer(line));
    }
    return this.#answer;
  }

  #paint(): void {
    const { columns, rows } = this.#keys.size();
    if (this.#scroll !== undefined) {
      this.#keys.write(this.#scroll.frame(columns, rows));
      return;
    }
    const view = this.#prompt.view(columns - 1, rows - 1, this.#options.behind?.() ?? 0);
    const cut = Math.max(0, view.rows.length - (rows - 1));
    const cursor = { ...view.cursor, row: Math.max(0, view.cursor.row - cut) };
    this.#keys.write(this.#area.frame([], view.rows.slice(cut), cursor, columns));
  }

  #end(answer: ApprovalAnswer): ApprovalAnswer {
    const line = answeredLine(this.#prompt.request, answer, this.#style, this.#keys.size().columns - 1);
    this.#keys.write(`${this.#area.erase()}${line}\r\n`);
    return answer;
  }

  #view(document: readonly string[]): void {
    const command = pagerCommand(this.#options.env);
    if (command !== undefined) {
      void this.#lend(() => runPager(command, document, this.#options.env, this.#keys.terminal));
      return;
    }
    this.#keys.write(SCROLL_ON);
    this.#scroll = new ScrollView(document, this.#style);
  }

  #scrolled(scroll: ScrollView, input: TerminalInput): void {
    if (!scroll.handle(input)) return;
    this.#scroll = undefined;
    this.#keys.write(SCROLL_OFF);
  }

  /** Undefined when the program failed: the question stands as it was, with a word about it above. */
  #lend<T>(work: () => Promise<T>): Promise<T | undefined> {
    this.#keys.write(this.#area.erase());
    const done = this.#keys.lend(work).catch((error: unknown) => {
      this.#keys.write(`${error instanceof Error ? error.message : String(error)}\r\n`);
      return undefined;
    });
    this.#outside = done.then(() => undefined);
    return done;
  }
}

/**
 * Keys from a terminal; what was typed before the question never answers it.
 *
 * Bun's tty.ReadStream keeps a read on the terminal after it is destroyed, which swallows the answer to the next
 * question. With `min 0 time 1` a read ends by itself after a tenth of a second, so none is ever left behind.
 */
class TerminalKeys {
  readonly terminal: number;
  readonly #signal: AbortSignal;
  readonly #saved: string | undefined;
  readonly #decoder = new KeyDecoder();
  readonly #taken = Promise.withResolvers<undefined>();
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
    writeSync(this.terminal, text);
  }

  /** The next keys, none when the terminal changed its size; undefined when the question was taken back. */
  async next(): Promise<readonly TerminalInput[] | undefined> {
    for (;;) {
      if (this.#signal.aborted) return undefined;
      const before = this.#size;
      const chunk = await Promise.race([this.#read(), this.#taken.promise]);
      if (chunk === undefined) return undefined;
      const inputs = chunk.length === 0 && this.#decoder.pending ? this.#decoder.flush() : this.#decoder.push(chunk);
      if (inputs.length > 0 || this.#size !== before) return inputs;
    }
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
   * A read that is still queued would take its bytes from whatever gets the number of the closed file next, or a line of
   * the operator's from the restored terminal: it ends first. Without stty that takes until they press Enter.
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
  }

  readonly #takeBack = (): void => this.#taken.resolve(undefined);

  readonly #resized = (): void => void (this.#size = undefined);

  readonly #restore = (): void => {
    if (this.#saved !== undefined) stty(this.terminal, this.#saved);
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

function stty(terminal: number, ...args: string[]): string | undefined {
  const { code, stdout } = askProgram(["stty", ...args], { stdin: terminal });
  return code === 0 ? stdout.trim() : undefined;
}
