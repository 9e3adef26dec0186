/** Which lines match a regular expression, in bounded time: one that could take long runs in a process of its own. */
import { BuddyError, messageOf } from "./errors.ts";
import { startChild } from "./start-child.ts";

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
  #tester: Tester | undefined;
  #leftMs = MOST_MS;

  constructor(pattern: string) {
    this.#pattern = regularExpression(pattern);
    // Without repetition, groups and references the time is linear in the length.
    this.#isSimple = pattern.length < 200 && !/[*+?{(]|\\[1-9k]/.test(pattern);
  }

  async test(lines: readonly string[]): Promise<TestedLines> {
    if (this.#isSimple) return { matches: lines.map((line) => this.#pattern.test(line)), gaveUp: false };
    if (lines.length === 0) return { matches: [], gaveUp: false };
    if (this.#leftMs <= 0) return { matches: [], gaveUp: true };
    const { child, answers } = (this.#tester ??= startTester());
    const started = performance.now();
    const timer = setTimeout(() => child.kill("SIGKILL"), this.#leftMs);
    const matches: boolean[] = [];
    try {
      void child.stdin.write(`${JSON.stringify([this.#pattern.source, lines])}\n`);
      void child.stdin.flush();
      while (matches.length < lines.length) {
        const { value } = await answers.read();
        if (value === undefined) break;
        for (const byte of value) matches.push(byte === YES);
      }
    } finally {
      clearTimeout(timer);
    }
    this.#leftMs -= performance.now() - started;
    const gaveUp = matches.length < lines.length;
    if (gaveUp) this.#leftMs = 0;
    return { matches, gaveUp };
  }

  [Symbol.dispose](): void {
    this.#tester?.child.kill("SIGKILL");
    this.#tester = undefined;
  }
}

const YES = 49;

/** Writes its answers in growing pieces: nearly all of those before a line that takes forever arrive. */
const TESTER = `
const { writeSync } = require("node:fs");
for await (const text of console) {
  const [pattern, lines] = JSON.parse(text);
  const expression = new RegExp(pattern);
  let answers = "";
  lines.forEach((line, index) => {
    answers += expression.test(line) ? "1" : "0";
    if (answers.length * 16 < index) return;
    writeSync(1, answers);
    answers = "";
  });
  if (answers !== "") writeSync(1, answers);
}`;

interface Tester {
  readonly child: Bun.Subprocess<"pipe", "pipe", "ignore">;
  readonly answers: { read(): Promise<{ value?: Uint8Array | undefined }> };
}

/**
 * Runs this program as its runtime, in / and without HOME, so that it reads no settings of a directory or user. A
 * thread could not be ended while it tests a line. The CPU limit ends the process even if buddy is killed.
 */
function startTester(): Tester {
  const seconds = Math.ceil(MOST_MS / 1000) + 2;
  const run = ["/bin/sh", "-c", `ulimit -t ${seconds}; exec "$0" -e "$1"`, process.execPath, TESTER];
  const env = { BUN_BE_BUN: "1" };
  const child = startChild(run, { cwd: "/", env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  return { child, answers: child.stdout.getReader() };
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
