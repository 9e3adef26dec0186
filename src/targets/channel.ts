/** The standing helpers on one connection: a keeper that ends what was started there, and lanes that run small scripts. */
import { BuddyError } from "../lib/errors.ts";
import { LANE_ARGV, Lane, LaneLost } from "./lane.ts";
import type { Process, ScriptOptions, ScriptResult, SpawnOptions } from "./target.ts";

/** More lanes than this would eat into sshd's MaxSessions (10 by default), which panes and shells need. */
const MAX_LANES = 3;
const TIMEOUT_MS = 30_000;

export interface ChannelOptions {
  /** Starts a process there, unguarded. */
  readonly spawn: (argv: readonly string[], options?: SpawnOptions) => Process;
  /** How the target is called in messages. */
  readonly label: string;
}

export class Channel {
  readonly #options: ChannelOptions;
  #lanes: Lane[] = [];
  #slow = new WeakSet<Lane>();
  #closed = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Opens the first lane ahead of need. */
  warm(): void {
    this.#lane(false);
  }

  async run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    options.signal?.throwIfAborted();
    return await this.#within(this.#lane(options.slow ?? false), script, options);
  }

  close(): void {
    this.#closed = true;
    for (const lane of this.#lanes.splice(0)) lane.close();
  }

  /** Gives up on every lane, because the connection below is known to be gone. */
  reset(why: string): void {
    for (const lane of this.#lanes.splice(0)) lane.destroy(new LaneLost(why));
  }

  #lane(slow: boolean): Lane {
    if (this.#closed) throw new BuddyError("target", `${this.#options.label} was closed`);
    this.#lanes = this.#lanes.filter((lane) => lane.alive);
    const usable = this.#lanes.filter((lane) => !this.#slow.has(lane) || lane.load === 0);
    const idle = usable.find((lane) => lane.load === 0);
    let lane = idle ?? (slow ? undefined : usable.toSorted((a, b) => a.load - b.load)[0]);
    if (lane === undefined) {
      if (this.#lanes.length >= MAX_LANES) lane = this.#lanes.toSorted((a, b) => a.load - b.load)[0];
      lane ??= this.#open();
    }
    if (slow) this.#slow.add(lane);
    else this.#slow.delete(lane);
    return lane;
  }

  #open(): Lane {
    const lane = new Lane(this.#options.spawn(LANE_ARGV));
    this.#lanes.push(lane);
    return lane;
  }

  #within(lane: Lane, script: string, options: ScriptOptions): Promise<ScriptResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ScriptResult>();
    const limit = options.timeoutMs ?? TIMEOUT_MS;
    const check = () => {
      if (lane.silence < limit) timer = setTimeout(check, limit - lane.silence);
      else {
        lane.destroy(new LaneLost("no answer"));
        reject(
          new BuddyError("target", `${this.#options.label} did not answer within ${Math.round(limit / 1000)} s`, {
            hint: "The line may be down, or a file system there hangs.",
          }),
        );
      }
    };
    let timer = setTimeout(check, limit);
    const abort = () => reject(options.signal?.reason ?? new Error("aborted"));
    options.signal?.addEventListener("abort", abort, { once: true });
    lane.run(script, options.args, toBytes(options.input)).then(resolve, reject);
    return promise.finally(() => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", abort);
    });
  }
}

/** Once, and once more after a reconnect when the lane was lost. */
export async function runAgainAfterDrop<T>(
  label: string,
  run: () => Promise<T>,
  ensure: () => Promise<void>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof LaneLost)) throw error;
  }
  await ensure();
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof LaneLost)) throw error;
    const why = error.message === "" ? "" : `: ${error.message.split("\n").at(-1)}`;
    const full = /session request failed|open failed|refused by peer/i.test(why);
    throw new BuddyError("target", `lost ${label}${why}`, {
      hint: full
        ? "The sshd there allows too few sessions a connection: raise MaxSessions (10 is its default)."
        : undefined,
      cause: error,
    });
  }
}

function toBytes(input: string | Uint8Array | undefined): Uint8Array | undefined {
  return typeof input === "string" ? Buffer.from(input) : input;
}
