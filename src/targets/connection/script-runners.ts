/** The script runners of one connection: as few as possible, and one more where a script waits on purpose. */
import { BuddyError } from "../../lib/errors.ts";
import { ConnectionLost, TargetClosed } from "../errors.ts";
import { RUNNER_ARGV, RUNNER_SCRIPT, ScriptRunner, ScriptRunnerLost } from "./script-runner.ts";
import { SESSION_REFUSED } from "./remote-process.ts";
import type { Process, ScriptOptions, ScriptResult, SpawnOptions } from "../target.ts";

/** More script runners than this would eat into sshd's MaxSessions (10 by default), which panes and shells need. */
const MAX_RUNNERS = 3;
const TIMEOUT_MS = 30_000;

export interface ChannelOptions {
  /** Starts a process there, unguarded. */
  readonly spawn: (argv: readonly string[], options?: SpawnOptions) => Process;
  /** Runs scripts, too, where the sshd allows no session for a runner of their own (MaxSessions 2). */
  readonly shared?: ScriptRunner;
  /** How the target is called in messages. */
  readonly label: string;
  /** One of many machines: short scripts run on `shared` from the start, which saves a process on both sides. */
  readonly frugal?: boolean;
}

export class Channel {
  readonly #options: ChannelOptions;
  #scriptRunners: ScriptRunner[] = [];
  #slow = new WeakSet<ScriptRunner>();
  #closed = false;
  /** No further session is available. */
  #sharing = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Opens the first runner ahead of need. */
  warm(): void {
    if (!this.#closed && this.#options.frugal !== true) this.#scriptRunner(false);
  }

  async run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    options.signal?.throwIfAborted();
    try {
      return await this.#within(this.#scriptRunner(options.slow ?? false), script, options);
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
    for (const scriptRunner of this.#scriptRunners.splice(0)) scriptRunner.close();
  }

  /** Gives up every runner, because the connection below is known to be gone. */
  reset(why: string): void {
    for (const scriptRunner of this.#scriptRunners.splice(0)) scriptRunner.destroy(new ScriptRunnerLost(why));
  }

  #scriptRunner(slow: boolean): ScriptRunner {
    if (this.#closed) throw new TargetClosed("target", `${this.#options.label} was closed`);
    const { shared, frugal } = this.#options;
    if ((this.#sharing || (frugal === true && !slow && shared?.isLent !== true)) && shared?.alive === true)
      return shared;
    this.#scriptRunners = this.#scriptRunners.filter((scriptRunner) => scriptRunner.alive);
    const usable = this.#scriptRunners.filter(
      (scriptRunner) => !this.#slow.has(scriptRunner) || scriptRunner.load === 0,
    );
    const idle = usable.find((scriptRunner) => scriptRunner.load === 0);
    let scriptRunner = idle ?? (slow ? undefined : usable.toSorted((a, b) => a.load - b.load)[0]);
    if (scriptRunner === undefined) {
      if (this.#scriptRunners.length >= MAX_RUNNERS)
        scriptRunner = this.#scriptRunners.toSorted((a, b) => a.load - b.load)[0];
      scriptRunner ??= this.#open();
    }
    if (slow) this.#slow.add(scriptRunner);
    else this.#slow.delete(scriptRunner);
    return scriptRunner;
  }

  #open(): ScriptRunner {
    const scriptRunner = new ScriptRunner(this.#options.spawn(RUNNER_ARGV, { script: RUNNER_SCRIPT }));
    this.#scriptRunners.push(scriptRunner);
    return scriptRunner;
  }

  #within(scriptRunner: ScriptRunner, script: string, options: ScriptOptions): Promise<ScriptResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ScriptResult>();
    const limit = options.timeoutMs ?? TIMEOUT_MS;
    const check = () => {
      if (scriptRunner.silence < limit) timer = setTimeout(check, limit - scriptRunner.silence);
      else {
        scriptRunner.destroy(new ScriptRunnerLost("no answer"));
        reject(
          new BuddyError("target", `${this.#options.label} did not answer within ${Math.round(limit / 1000)} s`, {
            hint: "The connection may be down, or a file system on the target may hang.",
          }),
        );
      }
    };
    let timer = setTimeout(check, limit);
    const abort = () => reject(options.signal?.reason ?? new Error("aborted"));
    options.signal?.addEventListener("abort", abort, { once: true });
    scriptRunner.run(script, options.args, toBytes(options.input)).then(resolve, reject);
    return promise.finally(() => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", abort);
    });
  }
}

/** Once, and once more after a reconnect when the runner was lost. */
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
