/** The operator's terminal: raw keys in, frames out, and always restored as it was found. */
import { writeSync } from "node:fs";
import type { WriteStream } from "node:tty";
import { within } from "../../lib/waiting.ts";
import { KeyDecoder, type TerminalInput } from "./keys.ts";
import { writeAll } from "../../lib/output.ts";
import { startChild } from "../../lib/start-child.ts";

export class Terminal {
  readonly #stdin: RawInput;
  readonly #output: TerminalOutput;
  #decoder = new KeyDecoder();
  #escapeTimer: ReturnType<typeof setTimeout> | undefined;
  #active = false;
  #inFlight: Promise<void> | undefined;
  #queued = "";
  #broken = false;
  #dismissRestorer: (() => void) | undefined;

  /** One chunk of input may hold several keys: they come together, so that type-ahead does not pass for an answer. */
  onInput: (inputs: readonly TerminalInput[]) => void = () => {};
  onResize: () => void = () => {};
  /** The terminal is gone (hang-up, closed window). */
  onGone: () => void = () => {};
  /** Everything written so far has left the process. */
  onDrained: () => void = () => {};

  constructor(stdin: RawInput, output: TerminalOutput) {
    this.#stdin = stdin;
    this.#output = output;
  }

  get columns(): number {
    return Math.max(1, this.#output.size().columns || 80);
  }

  get rows(): number {
    return Math.max(1, this.#output.size().rows || 24);
  }

  /** Takes the terminal: raw mode, bracketed paste, focus reports. */
  enter(): void {
    if (this.#active) return;
    this.#active = true;
    process.once("exit", this.#restoreNow);
    process.on("SIGWINCH", this.#resized);
    this.#stdin.setRawMode(true);
    this.#stdin.on("data", this.#read);
    this.#stdin.on("end", this.#gone);
    this.#stdin.on("error", this.#gone);
    this.#stdin.resume();
    // With the first frame, where that comes at once.
    this.#queued += MODES_ON;
    queueMicrotask(() => {
      if (this.#queued !== "" && this.#inFlight === undefined && !this.#broken) this.#pump();
    });
    this.#dismissRestorer = this.#output.restoreAfterDeath?.(MODES_OFF);
  }

  /** Sets the modes again after a stop that buddy did not choose: the shell has changed them. */
  reenter(): void {
    if (!this.#active) return;
    this.#stdin.setRawMode(true);
    this.write(MODES_ON);
  }

  /** Gives the terminal back, after what was written has arrived. */
  async leave(): Promise<void> {
    if (!this.#active) return;
    this.#stopReading();
    this.write(MODES_OFF);
    // A terminal that takes no more output must not keep the process alive.
    await within(this.drained(), DRAIN_MS);
    this.#active = false;
    process.off("exit", this.#restoreNow);
    // Setting the mode waits until the terminal has taken everything.
    if (!this.busy) this.#setCooked();
    this.#dismissRestorer?.();
  }

  /** True while a frame is on its way: draw later, from the newest state. */
  get busy(): boolean {
    return this.#inFlight !== undefined;
  }

  /** Writes without ever blocking the event loop: a stopped (Ctrl-S) or slow terminal must not stop keys and tasks. */
  write(text: string): void {
    if (text === "" || this.#broken) return;
    this.#queued += text;
    if (this.#inFlight === undefined) this.#pump();
  }

  /** Writes a question that the terminal answers among the keys. */
  ask(question: string): void {
    this.#decoder.expectAnswer();
    this.write(question);
  }

  async drained(): Promise<void> {
    while (this.#inFlight !== undefined) await this.#inFlight;
  }

  #pump(): void {
    const text = this.#queued;
    this.#queued = "";
    this.#inFlight = this.#output.write(text).then(
      () => this.#written(),
      () => {
        this.#broken = true;
        this.#inFlight = undefined;
        this.onGone();
      },
    );
  }

  #written(): void {
    this.#inFlight = undefined;
    if (this.#queued !== "") this.#pump();
    else this.onDrained();
  }

  #read = (chunk: Uint8Array | string): void => {
    if (this.#escapeTimer !== undefined) clearTimeout(this.#escapeTimer);
    this.#escapeTimer = undefined;
    const inputs = this.#decoder.push(chunk);
    if (this.#decoder.pending) {
      this.#escapeTimer = setTimeout(() => {
        this.#escapeTimer = undefined;
        const late = this.#decoder.flush();
        if (late.length > 0) this.onInput(late);
      }, ESCAPE_WAIT_MS);
    }
    if (inputs.length > 0) this.onInput(inputs);
  };

  #resized = (): void => this.onResize();

  #gone = (): void => this.onGone();

  #stopReading(): void {
    if (this.#escapeTimer !== undefined) clearTimeout(this.#escapeTimer);
    this.#escapeTimer = undefined;
    process.off("SIGWINCH", this.#resized);
    this.#stdin.off("data", this.#read);
    this.#stdin.off("end", this.#gone);
    this.#stdin.off("error", this.#gone);
    this.#stdin.pause();
  }

  /** Last resort on a crash or process.exit: synchronous, ignores everything that can go wrong. */
  #restoreNow = (): void => {
    if (!this.#active) return;
    this.#active = false;
    try {
      this.#output.writeNow(MODES_OFF);
    } catch {
      // The terminal is gone; there is nothing left to restore on it.
    }
    this.#setCooked();
  };

  #setCooked(): void {
    try {
      this.#stdin.setRawMode(false);
    } catch {
      // A terminal that hung up cannot be set.
    }
  }
}

/** What the terminal needs of process.stdin. */
interface RawInput {
  setRawMode(on: boolean): unknown;
  on(event: "data" | "end" | "error", listener: (...values: any[]) => void): unknown;
  off(event: "data" | "end" | "error", listener: (...values: any[]) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

interface TerminalOutput {
  size(): { columns: number; rows: number };
  /** Resolves when the text has left the process. */
  write(text: string): Promise<unknown>;
  writeNow(text: string): void;
  /** Writes these when the process dies without having called what this returns. */
  restoreAfterDeath?(modesOff: string): () => void;
}

/**
 * Written by a thread: under Bun 1.4.4 process.stdout.write blocks on a TTY that is not read, and so does Bun.write
 * for texts of a few kilobytes (it does not for a megabyte); then not even SIGTERM would be noticed.
 */
export function standardOutput(stdout: WriteStream, encode: (text: string) => string = (text) => text): TerminalOutput {
  let isFirst = true;
  return {
    size: () => {
      const [columns, rows] = stdout.getWindowSize();
      return { columns, rows };
    },
    write: (text) => {
      const bytes = Buffer.from(encode(text));
      const written = isFirst ? writtenAtOnce(bytes) : 0;
      isFirst = false;
      return written === bytes.length ? Promise.resolve() : writeAll(1, bytes.subarray(written));
    },
    writeNow: (text) => void writeSync(1, text),
    restoreAfterDeath,
  };
}

/** The first frame does not wait until a thread has started: a terminal that was just opened has room for it. */
function writtenAtOnce(bytes: Uint8Array): number {
  try {
    return writeSync(1, bytes);
  } catch {
    // Full, or gone: the thread waits, or reports it.
    return 0;
  }
}

const DRAIN_MS = 2000;

/** How long a lone ESC may be the beginning of a sequence; slow links cut sequences in two. */
const ESCAPE_WAIT_MS = 50;

// Bracketed paste, focus reports.
const MODES_ON = "\x1b[?2004h\x1b[?1004h";
// The same off, auto-wrap and cursor on, colours reset, a synchronized update ended.
const MODES_OFF = "\x1b[?2026l\x1b[?2004l\x1b[?1004l\x1b[?7h\x1b[?25h\x1b[0m";

// A small sh next to buddy that restores the terminal when buddy was killed or crashed before it could do so itself.

export function restoreAfterDeath(modesOff: string): () => void {
  let child: ReturnType<typeof watcher> | undefined;
  // After the first frame: starting a process takes longer than a key press.
  const timer = setTimeout(() => (child = watcher(modesOff)), START_MS);
  timer.unref();
  return () => {
    clearTimeout(timer);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const { stdin } = child;
    // It may just have been killed; then there is nothing to end.
    void Promise.try(() => stdin.write("\n"))
      .then(() => stdin.end())
      .catch(() => {});
  };
}

/**
 * Its stdin ends with buddy. In its own session: no key and no job control reach it, and it may set the terminal.
 * A program that has taken the terminal meanwhile (the shell, at its prompt) has signals on and is left alone.
 */
const SCRIPT = `trap '' HUP INT QUIT TERM
read -r _ && exit
printf %s "$1"
exec 3<&1
case $(stty -a <&3) in *-isig*) stty sane <&3 ;; esac`;

function watcher(modesOff: string) {
  try {
    const child = startChild(["sh", "-c", SCRIPT, "buddy-terminal", modesOff], {
      stdin: "pipe",
      stdout: "inherit",
      stderr: "ignore",
      cwd: "/",
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
      detached: true,
    });
    child.unref();
    return child;
  } catch {
    // No sh, or no further process possible: everything else works without it.
    return undefined;
  }
}

const START_MS = 100;
