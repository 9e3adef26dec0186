/**
 * The script runners of one connection: as few as possible, and one more where a script waits on purpose. Each is a
 * session of its own, which runs the start-up files of the account over ssh.
 */
import { BuddyError } from "../../lib/errors.ts";
import { ConnectionLost, TargetClosed } from "../errors.ts";
import { RUNNER_ARGV, RUNNER_SCRIPT, ScriptRunner, ScriptRunnerLost } from "./script-runner.ts";
import { SESSION_REFUSED } from "./remote-process.ts";
import type { Process, ScriptOptions, ScriptResult, SpawnOptions } from "../target.ts";

/** More would use up sshd's MaxSessions (10 by default), which panes and shells need. */
const MAX_RUNNERS = 3;
const TIMEOUT_MS = 30_000;

export interface ScriptRunnersOptions {
  /** Starts a process on the target. */
  readonly spawn: (argv: readonly string[], options?: SpawnOptions) => Process;
  /** Runs quick scripts, and all of them if the sshd allows no session for a separate runner (MaxSessions 2). */
  readonly shared?: ScriptRunner;
  /** Name of the target in messages. */
  readonly label: string;
  /** One of many machines: all but slow scripts run on `shared`, which saves a process on both sides. */
  readonly frugal?: boolean;
}

export class ScriptRunners {
  readonly #options: ScriptRunnersOptions;
  #runners: ScriptRunner[] = [];
  #slow = new WeakSet<ScriptRunner>();
  #closed = false;
  /** No further session is available. */
  #sharing = false;

  constructor(options: ScriptRunnersOptions) {
    this.#options = options;
  }

  async run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    options.signal?.throwIfAborted();
    try {
      return await this.#within(this.#runner(options), script, options);
    } catch (error) {
      const { shared } = this.#options;
      const refused = error instanceof ScriptRunnerLost && SESSION_REFUSED.test(error.message);
      if (!refused || shared?.alive !== true || this.#sharing) throw error;
      this.#sharing = true;
      return await this.#within(shared, script, options);
    }
  }

  close(): void {
    this.#closed = true;
    for (const runner of this.#runners.splice(0)) runner.close();
  }

  /** Gives up every runner: the connection is gone. */
  reset(why: string): void {
    for (const runner of this.#runners.splice(0)) runner.destroy(new ScriptRunnerLost(why));
  }

  #runner({ slow = false, quick = false }: ScriptOptions): ScriptRunner {
    if (this.#closed) throw new TargetClosed("target", `${this.#options.label} was closed`);
    const { shared, frugal } = this.#options;
    const fits = quick || (frugal === true && !slow);
    if (shared?.alive === true && (this.#sharing || (fits && !shared.isLent))) return shared;
    this.#runners = this.#runners.filter((runner) => runner.alive);
    const usable = this.#runners.filter((runner) => !this.#slow.has(runner) || runner.load === 0);
    const idle = usable.find((runner) => runner.load === 0);
    let runner = idle ?? (slow ? undefined : usable.toSorted((a, b) => a.load - b.load)[0]);
    if (runner === undefined) {
      if (this.#runners.length >= MAX_RUNNERS) runner = this.#runners.toSorted((a, b) => a.load - b.load)[0];
      runner ??= this.#open();
    }
    if (slow) this.#slow.add(runner);
    else this.#slow.delete(runner);
    return runner;
  }

  #open(): ScriptRunner {
    const runner = new ScriptRunner(this.#options.spawn(RUNNER_ARGV, { script: RUNNER_SCRIPT }));
    this.#runners.push(runner);
    return runner;
  }

  #within(runner: ScriptRunner, script: string, options: ScriptOptions): Promise<ScriptResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ScriptResult>();
    const limit = options.timeoutMs ?? TIMEOUT_MS;
    const check = () => {
      if (runner.silence < limit) timer = setTimeout(check, limit - runner.silence);
      else {
        // With `shared` everything ends: a short silence of the line does not justify that.
        if (runner !== this.#options.shared || runner.silence >= TIMEOUT_MS)
          runner.destroy(new ScriptRunnerLost("no answer"));
        reject(
          new BuddyError("target", `${this.#options.label} did not answer within ${Math.round(limit / 1000)} s`, {
            hint: "The connection may be down, or a file system on the target may hang.",
          }),
        );
      }
    };
    let timer = setTimeout(check, limit);
    const abort = () => {
      // It may hang: until it has ended, or its time is up, nothing waits behind it.
      this.#slow.add(runner);
      reject(options.signal?.reason ?? new Error("aborted"));
    };
    options.signal?.addEventListener("abort", abort, { once: true });
    runner
      .run(script, options.args, toBytes(options.input))
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
    return promise.finally(() => options.signal?.removeEventListener("abort", abort));
  }
}

/** Runs it again after a reconnect if the runner was lost. */
export async function runAgainAfterDrop<T>(
  label: string,
  run: () => Promise<T>,
  ensure: () => Promise<void>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ScriptRunnerLost)) throw error;
  }
  await ensure();
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ScriptRunnerLost)) throw error;
    const why = error.message === "" ? "" : `: ${error.message.split("\n").at(-1)}`;
    throw new ConnectionLost("target", `lost ${label}${why}`, { cause: error });
  }
}

function toBytes(input: string | Uint8Array | undefined): Uint8Array | undefined {
  return typeof input === "string" ? Buffer.from(input) : input;
}
