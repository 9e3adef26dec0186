/** Which lines match a regular expression, in bounded time: one that could take long runs in a worker. */
import { BuddyError, messageOf } from "./errors.ts";

/** Only this much of a line is searched: the time of a pattern with one star grows with the square of the length. */
export const LONGEST_SEARCHED = 64 * 1024;
const MOST_MS = 2000;

export interface TestedLines {
  /** One for each tested line; fewer than the given lines when time ran out. */
  readonly matches: readonly boolean[];
  readonly gaveUp: boolean;
}

export class LineFilter implements Disposable {
  readonly #pattern: RegExp;
  readonly #isSimple: boolean;
  #worker: Worker | undefined;
  #leftMs = MOST_MS;

  constructor(pattern: string) {
    this.#pattern = regularExpression(pattern);
    // Without repetition, groups and references the time is linear in the length.
    this.#isSimple = !/[*+?{(]|\\[1-9k]/.test(pattern);
  }

  async test(lines: readonly string[]): Promise<TestedLines> {
    if (this.#isSimple) return { matches: lines.map((line) => this.#pattern.test(line)), gaveUp: false };
    if (lines.length === 0) return { matches: [], gaveUp: false };
    if (this.#leftMs <= 0) return { matches: [], gaveUp: true };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const worker = (this.#worker ??= startWorker());
    const done = () => resolve();
    const fail = (event: ErrorEvent) => reject(new Error(event.message));
    worker.addEventListener("message", done);
    worker.addEventListener("error", fail);
    const started = performance.now();
    const timer = setTimeout(resolve, this.#leftMs);
    // Shared memory: the results before a line that takes forever are kept.
    const results = new Uint8Array(new SharedArrayBuffer(lines.length));
    worker.postMessage({ pattern: this.#pattern.source, lines, results });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      worker.removeEventListener("message", done);
      worker.removeEventListener("error", fail);
    }
    const end = results.indexOf(UNTESTED);
    const matches = Array.from(results.subarray(0, end < 0 ? lines.length : end), (result) => result === MATCHES);
    this.#leftMs -= performance.now() - started;
    const gaveUp = matches.length < lines.length;
    if (gaveUp) {
      this.#leftMs = 0;
      this[Symbol.dispose]();
    }
    return { matches, gaveUp };
  }

  /** The line under test is still tested to its end, in the background. */
  [Symbol.dispose](): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}

const UNTESTED = 0;
const MATCHES = 2;

/** As a string: a separate file would have to be located inside the binary. */
const THREAD = `
self.onmessage = ({ data: { pattern, lines, results } }) => {
  const expression = new RegExp(pattern);
  lines.forEach((line, index) => (results[index] = expression.test(line) ? ${MATCHES} : 1));
  postMessage("done");
};`;

let url: string | undefined;

function startWorker(): Worker {
  url ??= URL.createObjectURL(new Blob([THREAD], { type: "application/javascript" }));
  const worker = new Worker(url);
  worker.unref();
  return worker;
}

function regularExpression(pattern: string): RegExp {
  try {
    return new RegExp(pattern);
  } catch (cause) {
    throw new BuddyError("tool", `filter is not a regular expression: ${messageOf(cause)}`, {
      hint: "Escape special characters with a backslash, e.g. \\( for a parenthesis.",
      cause,
    });
  }
}
