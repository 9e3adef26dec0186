/** The line on stderr that says what buddy waits for, rewritten in place. */
import { spinnerFrame, SPINNER_MS } from "../words.ts";
import { formatDuration } from "../../lib/durations.ts";
import { clip } from "../../lib/text.ts";
import { paintsOnTerminal } from "../../lib/terminal.ts";

export class LiveLine {
  readonly #write: (text: string) => void;
  readonly #columns: () => number;
  #timer: ReturnType<typeof setInterval> | undefined;
  #label = "";
  #since = 0;
  #shown = false;

  /** Another program has the terminal. */
  #paused = false;
  #forget: (() => void) | undefined;

  constructor(write: (text: string) => void, columns: () => number) {
    this.#write = write;
    this.#columns = columns;
  }

  /** Appears after a moment of waiting. */
  wait(label: string): void {
    this.clear();
    this.#label = label;
    this.#since = performance.now();
    this.#forget ??= paintsOnTerminal({
      pause: () => {
        this.clear();
        this.#paused = true;
      },
      resume: () => void (this.#paused = false),
    });
    this.#timer ??= setInterval(() => this.#draw(), SPINNER_MS);
    this.#timer.unref();
  }

  /** Appears at once, and stays until buddy waits for something else. */
  show(label: string): void {
    this.wait(label);
    this.#since -= PATIENCE_MS;
    this.#draw();
  }

  /** The same wait, with other words. */
  relabel(label: string): void {
    this.#label = label;
  }

  /** Removes it from the screen; it comes back when the wait continues. */
  clear(): void {
    if (this.#shown) this.#write("\r\u001b[K");
    this.#shown = false;
    this.#since = performance.now();
  }

  stop(): void {
    this.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#forget?.();
    this.#forget = undefined;
    this.#paused = false;
  }

  #draw(): void {
    const waited = performance.now() - this.#since;
    if (waited < PATIENCE_MS || this.#paused) return;
    const frame = spinnerFrame(Date.now());
    const time = formatDuration(Math.floor(waited / 1000) * 1000);
    // A line that the terminal breaks could not be rewritten.
    const label = clip(
      this.#label,
      Math.min(MOST_COLUMNS, Math.max(1, this.#columns() - frame.length - time.length - 3)),
    );
    this.#shown = true;
    this.#write(`\r\u001b[K\u001b[90m${frame} ${label} ${time}\u001b[0m`);
  }
}

const PATIENCE_MS = 1_000;
const MOST_COLUMNS = 60;
