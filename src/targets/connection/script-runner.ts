/** A persistent `sh` on the target that runs small scripts one after another: one round trip each, bytes in and out. */
import runnerDefinitions from "../../../templates/target/runner-definitions.sh" with { type: "text" };
import runnerRequests from "../../../templates/target/runner-requests.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { randomBytes } from "node:crypto";
import { BuddyError } from "../../lib/errors.ts";
import { END_GROUPS } from "./exit-cleanup.ts";
import { ABSOLUTE_PATH, quote } from "../../lib/quote.ts";
import { OWN_DIRECTORY, PID_SPACE, quoteOnOneLine } from "../script-line.ts";
import type { LentProcess, Process, ScriptResult, ShellScript } from "../target.ts";

const DEFINITIONS = script(runnerDefinitions, {
  absolute_path: ABSOLUTE_PATH,
  ownDirectory: OWN_DIRECTORY,
  pidSpace: PID_SPACE,
});

const REQUESTS = script(runnerRequests, { endGroups: END_GROUPS });

/** How a script runner is started. */
export const RUNNER_ARGV: readonly string[] = ["sh"];
const NAME = "buddy-runner";
export const RUNNER_SCRIPT: ShellScript = {
  name: NAME,
  text: `${DEFINITIONS}IFS= read -r K || exit 0\n${REQUESTS}`,
};

/** A script that only answers, also while a command runs. */
export const PING = ":";
/** Follows the token where an answer begins. */
const BEGINS = "+";

const MAX_RESPONSE = 96 * 1024 * 1024;
const MAX_STDERR = 64 * 1024;
const MAX_REPORT = 64 * 1024;
/** ssh prints a long warning about a changed host key. */
const MAX_LAST_WORDS = 4000;
const SLOW_LINE_BYTES_PER_MS = 50;

interface Pending {
  readonly token: Buffer;
  readonly exclusive: boolean;
  readonly bytes: number;
  readonly resolve: (result: ScriptResult) => void;
  readonly reject: (error: Error) => void;
  out: { code: number; bytes: Buffer } | undefined;
  err: string | undefined;
}

type ExpectedAnswer = Pick<Pending, "resolve" | "reject"> & {
  readonly token: string;
  /** Nothing is sent until it is answered. */
  readonly alone: boolean;
  readonly bytes?: number;
};

type Take = Parameters<LentProcess["listen"]>[0];

/** A script, and lines of sh before and after it. */
interface FirstRequest {
  readonly before: string;
  readonly script: string;
  readonly args: readonly string[];
  readonly behind: string;
}

interface BegunRunner {
  readonly runner: ScriptRunner;
  readonly answer: Promise<ScriptResult>;
}

export class ScriptRunner {
  /** Resolves when the process has ended, with its last output on stderr. */
  readonly ended: Promise<string>;
  readonly process: Process;
  readonly #secret: string;
  #names = new Map<string, string>();
  #pending: Pending[] = [];
  #waiting: (() => void)[] = [];
  #out = new Splitter(MAX_RESPONSE);
  #err = new Splitter(MAX_STDERR);
  #dead: Error | undefined;
  #lastByte = performance.now();
  #lent: Take | undefined;
  #report: Report | undefined;

  constructor(process: Process, secret?: string) {
    this.process = process;
    this.#secret = secret ?? newToken();
    if (secret === undefined) process.stdin.write(`${this.#secret}\n`);
    this.ended = Promise.all([
      this.#pump(process.stdout, (chunk) => this.#onStdout(chunk)),
      this.#pump(process.stderr, (chunk) => this.#onStderr(chunk)),
      process.exited,
    ]).then(() => {
      const said = this.#err.rest().toString().trim() || this.#out.rest().toString().trim();
      const lastWords = said.slice(-MAX_LAST_WORDS);
      this.#die(new ScriptRunnerLost(lastWords));
      return lastWords;
    });
  }

  /**
   * A runner whose program contains the first request. A shell that reads its program from stdin reads ahead, so
   * nothing may follow until that request is answered, except a line that has an effect only if a start-up file has
   * read the program.
   */
  static begin(start: (script: ShellScript) => Process, first: FirstRequest): BegunRunner {
    const [secret, token] = [newToken(), newToken()];
    const text = [
      `${DEFINITIONS}K=${secret} N=1`,
      first.before,
      `f0() {\n${first.script}\n}`,
      `x ${token} f0 ${first.args.map(quote).join(" ")}`,
      first.behind,
      REQUESTS,
    ].join("\n");
    const runner = new ScriptRunner(start({ name: NAME, text }), secret);
    runner.process.stdin.write(`${secret} : || exit 71\n`);
    runner.#names.set(first.script, "f0");
    return {
      runner,
      answer: new Promise((resolve, reject) => runner.#expect({ token, alone: true, resolve, reject })),
    };
  }

  get alive(): boolean {
    return this.#dead === undefined;
  }

  /** Programs that a command left behind could print into its answers: another runner is safer. */
  get isLent(): boolean {
    return this.#lent !== undefined;
  }

  get load(): number {
    return this.#pending.length + this.#waiting.length;
  }

  /** Milliseconds without an answer; the time that data needs to be uploaded does not count. */
  get silence(): number {
    const upload = this.#pending.reduce((sum, one) => sum + one.bytes, 0) / SLOW_LINE_BYTES_PER_MS;
    return performance.now() - this.#lastByte - upload;
  }

  /** A line without an answer: `watch`, `unwatch`, signals to groups. */
  tell(line: string): void {
    if (this.#dead === undefined) this.#whenFree(() => this.process.stdin.write(`${this.#secret} ${line}\n`));
  }

  run(script: string, args: readonly string[] = [], input?: Uint8Array): Promise<ScriptResult> {
    return this.#request(input, (token) => {
      const call = [this.#name(script), ...args.map(quoteOnOneLine)].join(" ");
      const how = input === undefined ? `x ${token}` : `d ${token} ${input.byteLength}`;
      return `${this.#definition(script)}${this.#beginning(token, script === PING)}${how} ${call}`;
    });
  }

  /**
   * Calls a function of the runner in its own shell, so that its effects stay. What it starts prints one line after
   * the token, its first argument, in one write at any later time: others do not wait for it.
   */
  report(name: string, ...args: readonly string[]): Promise<string> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    this.#report = new Report();
    this.tell([name, this.#report.token, ...args.map(quoteOnOneLine)].join(" "));
    return this.#report.line.promise;
  }

  /** If commands print into the same streams, an answer marks its beginning: after the running command, or at once. */
  #beginning(token: string, atOnce: boolean): string {
    return this.#lent === undefined ? "" : `${atOnce ? "begin" : "after"} ${token}; `;
  }

  #request(input: Uint8Array | undefined, line: (token: string) => string): Promise<ScriptResult> {
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined) return reject(this.#dead);
      this.#whenFree(() => {
        if (this.#dead !== undefined) return reject(this.#dead);
        const token = newToken();
        const words = line(token);
        this.#expect({ token, alone: input !== undefined, bytes: input?.byteLength ?? 0, resolve, reject });
        this.process.stdin.write(`${this.#secret} ${words}\n`);
        if (input !== undefined && input.byteLength > 0) this.process.stdin.write(input);
      });
    });
  }

  #expect(request: ExpectedAnswer): void {
    const { token, alone, bytes = 0, resolve, reject } = request;
    this.#pending.push({
      token: Buffer.from(token),
      exclusive: alone,
      bytes,
      resolve,
      reject,
      out: undefined,
      err: undefined,
    });
    this.#lastByte = performance.now();
  }

  /**
   * A process for what runs in parallel to the loop and prints into its streams: the loop reads each line of its stdin.
   * From now on, everything outside of an answer is its output. It ends with the runner.
   */
  lend(): LentProcess {
    return {
      pid: this.process.pid,
      stdin: { write: (line) => this.tell(String(line).trimEnd()), end() {} },
      listen: (take) => void (this.#lent = take),
      exited: this.process.exited,
      kill() {},
    };
  }

  close(): void {
    this.process.stdin.end();
  }

  destroy(error: Error): void {
    this.#die(error);
    this.process.stdin.end();
    this.process.kill();
  }

  /** busybox `head -c` reads ahead: nothing may follow a request with data until it is answered. */
  #whenFree(send: () => void): void {
    if (this.#waiting.length > 0 || this.#pending.some((one) => one.exclusive)) this.#waiting.push(send);
    else send();
  }

  #name(script: string): string {
    return this.#names.get(script) ?? `f${this.#names.size}`;
  }

  #definition(script: string): string {
    if (this.#names.has(script)) return "";
    const name = this.#name(script);
    this.#names.set(script, name);
    return `eval ${quoteOnOneLine(`${name}() {\n${script}\n}`)}; `;
  }

  async #pump(
    stream: ReadableStream<Uint8Array>,
    take: (chunk: Buffer) => Promise<void> | undefined | void,
  ): Promise<void> {
    try {
      for await (const chunk of stream) {
        this.#lastByte = performance.now();
        const wait = take(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
        if (wait !== undefined) await wait;
      }
    } catch (error) {
      if (this.#dead === undefined) this.destroy(new ScriptRunnerLost(String(error)));
    }
  }

  #onStdout(bytes: Buffer): ReturnType<Take> | void {
    const chunk = this.#withoutReport(bytes);
    if (this.#isNoAnswer(this.#out)) return this.#lent?.("stdout", chunk);
    if (!this.#out.push(chunk)) {
      return this.destroy(new BuddyError("target", "the target sent more than 96 MiB in one answer"));
    }
    for (const one of this.#pending) {
      if (one.out !== undefined) continue;
      const found = this.#answer("stdout", this.#out, one.token);
      if (found === undefined) return;
      one.out = { bytes: found.before, code: Number.parseInt(found.after, 10) };
    }
    const wait = this.#passOn("stdout", this.#out);
    this.#settle();
    return wait;
  }

  #withoutReport(chunk: Buffer): Buffer {
    if (this.#report === undefined) return chunk;
    const { others, come } = this.#report.takeOut(chunk);
    if (come) this.#report = undefined;
    return others;
  }

  #onStderr(chunk: Buffer): ReturnType<Take> | void {
    if (this.#isNoAnswer(this.#err)) return this.#lent?.("stderr", chunk);
    if (!this.#err.push(chunk)) this.#err = this.#err.newer(chunk);
    for (const one of this.#pending) {
      if (one.err !== undefined) continue;
      const found = this.#answer("stderr", this.#err, one.token);
      if (found === undefined) return this.#settle();
      if (found.after !== "") return this.destroy(new ScriptRunnerLost(SENT_ELSEWHERE));
      one.err = found.before.toString();
    }
    const wait = this.#passOn("stderr", this.#err);
    this.#settle();
    return wait;
  }

  /** Nothing was asked for: what comes is of the lent process. */
  #isNoAnswer(before: Splitter): boolean {
    return this.#lent !== undefined && this.#pending.length === 0 && before.isEmpty && this.#dead === undefined;
  }

  /** What comes before the beginning of an answer is output of the lent process. */
  #answer(stream: "stdout" | "stderr", splitter: Splitter, token: Buffer): ReturnType<Splitter["upTo"]> {
    const found = splitter.upTo(token);
    if (found?.after !== BEGINS) return found;
    void this.#lent?.(stream, found.before);
    return splitter.upTo(token);
  }

  #passOn(stream: "stdout" | "stderr", splitter: Splitter): ReturnType<Take> {
    if (this.#dead !== undefined || this.#lent === undefined) return undefined;
    const bytes = splitter.take();
    return bytes.length === 0 ? undefined : this.#lent(stream, bytes);
  }

  #settle(): void {
    for (let first = this.#pending[0]; first?.out !== undefined && first.err !== undefined; first = this.#pending[0]) {
      this.#pending.shift();
      first.resolve({ code: first.out.code, stdout: first.out.bytes, stderr: first.err });
    }
    while (this.#waiting.length > 0 && !this.#pending.some((one) => one.exclusive)) this.#waiting.shift()?.();
  }

  #die(error: Error): void {
    this.#dead ??= error;
    const pending = this.#pending.splice(0);
    for (const one of pending) one.reject(this.#dead);
    this.#report?.line.reject(this.#dead);
    for (const send of this.#waiting.splice(0)) send();
  }
}

function newToken(): string {
  return randomBytes(16).toString("hex");
}

/** Only the marks on stdout have exit codes. */
export const SENT_ELSEWHERE = "standard output goes to standard error";

/** The runner's process ended: the connection, container or shell is gone. */
export class ScriptRunnerLost extends Error {
  override name = "ScriptRunnerLost";
}

/** One line behind a token that comes between any other bytes, even in the middle of an answer: it is taken out. */
class Report {
  readonly token = newToken();
  readonly line = Promise.withResolvers<string>();
  /** What may be the beginning of it. */
  #held = Buffer.alloc(0);

  constructor() {
    this.line.promise.catch(() => {});
  }

  /** Returns the other bytes, and whether it has come. */
  takeOut(chunk: Buffer): { readonly others: Buffer; readonly come: boolean } {
    const bytes = Buffer.concat([this.#held, chunk]);
    const at = bytes.indexOf(this.token);
    const end = at < 0 ? -1 : bytes.indexOf(10, at);
    if (end >= 0) {
      this.line.resolve(bytes.toString("utf8", at + this.token.length + 1, end));
      return { others: Buffer.concat([bytes.subarray(0, at), bytes.subarray(end + 1)]), come: true };
    }
    const isEndless = at >= 0 && bytes.length - at > MAX_REPORT;
    if (isEndless) this.line.reject(new Error("a report without end"));
    const from = at < 0 || isEndless ? bytes.length - this.#begun(bytes) : at;
    this.#held = bytes.subarray(from);
    return { others: bytes.subarray(0, from), come: false };
  }

  /** How many of the last bytes may be the beginning of the token. */
  #begun(bytes: Buffer): number {
    let count = Math.min(bytes.length, this.token.length - 1);
    while (!this.token.startsWith(bytes.toString("latin1", bytes.length - count))) count--;
    return count;
  }
}

/** Collects bytes and cuts them at a token and the rest of its line; never searches the same bytes twice. */
class Splitter {
  #bytes: Buffer = Buffer.alloc(0);
  #used = 0;
  #searched = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): boolean {
    const need = this.#used + chunk.length;
    if (need > this.#limit) return false;
    if (need > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(need, Math.min(this.#limit, this.#bytes.length * 2), 4096));
      this.#bytes.copy(grown, 0, 0, this.#used);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, this.#used);
    this.#used = need;
    return true;
  }

  upTo(token: Buffer): { before: Buffer; after: string } | undefined {
    const view = this.#bytes.subarray(0, this.#used);
    const at = view.indexOf(token, this.#searched);
    if (at < 0) {
      this.#searched = Math.max(0, this.#used - token.length);
      return undefined;
    }
    const end = view.indexOf(10, at + token.length);
    if (end < 0) {
      this.#searched = at;
      return undefined;
    }
    const before = Buffer.from(view.subarray(0, at));
    const after = view.toString("latin1", at + token.length, end).trim();
    const rest = Buffer.from(view.subarray(end + 1));
    this.#bytes = rest;
    this.#used = rest.length;
    this.#searched = 0;
    return { before, after };
  }

  /** Keeps the newer half: for text that need not be complete. */
  newer(chunk: Buffer): Splitter {
    const next = new Splitter(this.#limit);
    next.push(this.rest().subarray(-this.#limit / 2));
    next.push(chunk.subarray(-this.#limit / 2));
    return next;
  }

  get isEmpty(): boolean {
    return this.#used === 0;
  }

  rest(): Buffer {
    return this.#bytes.subarray(0, this.#used);
  }

  take(): Buffer {
    const rest = this.rest();
    this.#bytes = Buffer.alloc(0);
    this.#used = 0;
    this.#searched = 0;
    return rest;
  }
}
