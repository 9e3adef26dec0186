/**
 * Places in a long text where one of many candidates may begin: by the last four characters of a window as long as the
 * shortest candidate, the search goes on as far as they allow.
 */
import { HEAD, HEADS, headOf } from "./known-secrets.ts";

export class WindowSteps {
  readonly #window: number;
  readonly #steps: Uint8Array;

  /** No candidate is shorter than the window. */
  constructor(window: number) {
    this.#window = window;
    this.#steps = new Uint8Array(HEADS).fill(window - HEAD + 1);
  }

  add(candidate: string): void {
    const last = this.#window - HEAD;
    for (let at = 0; at <= last; at++) {
      const hash = headOf(candidate, at);
      this.#steps[hash] = Math.min(this.#steps[hash] as number, last - at);
    }
  }

  /** The next place from here on, or -1. */
  next(text: string, from: number): number {
    const steps = this.#steps;
    const window = this.#window;
    for (let at = from; at + window <= text.length;) {
      const step = steps[headOf(text, at + window - HEAD)] as number;
      if (step === 0) return at;
      at += step;
    }
    return -1;
  }
}
