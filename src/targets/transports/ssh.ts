/** Processes on a host over ssh: one connection, everything multiplexed, put up again when it drops. */
import { setTimeout as delay } from "node:timers/promises";
import { BuddyError } from "../../lib/errors.ts";
import { runAgainAfterDrop } from "../channel.ts";
import { Foothold } from "../foothold.ts";
import { LaneLost } from "../lane.ts";
import { LOADER } from "../quote.ts";
import type { MachineFacts, Process, ScriptOptions, ScriptResult, SpawnOptions, Transport } from "../target.ts";
import { NoAnswer, unlessAborted } from "../within.ts";
import { LocalTransport } from "./local.ts";
import { parseDestination, type SshDestination } from "./ssh-destination.ts";
import { PassingFailure, SshMaster } from "./ssh-master.ts";

/** In single quotes: the one form that sh, fish and csh read alike. */
const REMOTE_COMMAND = `exec sh -c '${LOADER}'`;
const OPEN_MS = 30_000;
const CHECK_MS = 5000;
const BACKOFF_MS = [0, 500, 1000, 2000, 4000, 8000, 8000, 8000, 8000];

export interface SshOptions {
  /** [user@]host[:port] or an alias of ~/.ssh/config. */
  readonly destination: string;
  readonly cwd?: string;
  readonly secretEnv: readonly string[];
  readonly interactive: boolean;
  readonly signal?: AbortSignal;
}

export class SshTransport implements Transport {
  readonly kind = "ssh";
  readonly label: string;
  readonly facts: MachineFacts;
  readonly #options: SshOptions;
  readonly #local: LocalTransport;
  #line: Line;
  #mending: Promise<void> | undefined;
  #closed = false;
  readonly #closing = new AbortController();

  private constructor(options: SshOptions, local: LocalTransport, line: Line) {
    this.#options = options;
    this.#local = local;
    this.#line = line;
    this.facts = line.foothold.facts;
    const { user, text } = parseDestination(options.destination);
    this.label = user === undefined ? `ssh ${this.facts.user}@${text}` : `ssh ${text}`;
  }

  static async open(options: SshOptions): Promise<SshTransport> {
    const destination = parseDestination(options.destination);
    // Clients are local processes: their environment, groups and end are the local transport's business.
    const local = new LocalTransport({ secretEnv: options.secretEnv, cwd: "/" });
    try {
      return new SshTransport(
        options,
        local,
        await connect(destination, options, local, options.interactive, options.signal),
      );
    } catch (error) {
      await local[Symbol.asyncDispose]();
      throw error;
    }
  }

  spawn(argv: readonly string[], options?: SpawnOptions): Process {
    if (this.#closed) throw new BuddyError("target", `${this.label} was closed`);
    return this.#line.foothold.spawn(argv, options);
  }

  run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    return runAgainAfterDrop(
      this.label,
      () => this.#line.foothold.run(script, options),
      () => this.ensure(options.signal),
    );
  }

  /** One round trip when all is well. Nothing is asked on the terminal: somebody else may be using it by now. */
  async ensure(signal?: AbortSignal): Promise<void> {
    if (this.#closed) throw new BuddyError("target", `${this.label} was closed`);
    this.#mending ??= this.#mend(this.#closing.signal).finally(() => (this.#mending = undefined));
    await unlessAborted(signal, this.#mending);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#closing.abort(new BuddyError("target", `${this.label} was closed`));
    await this.#mending?.catch(() => {});
    await this.#line.foothold.close();
    await this.#line.master[Symbol.asyncDispose]();
    await this.#local[Symbol.asyncDispose]();
  }

  async #mend(signal: AbortSignal): Promise<void> {
    if (await this.#line.foothold.answers(CHECK_MS, signal)) return;
    this.#line.foothold.abandon("the connection was lost");
    await this.#line.master[Symbol.asyncDispose]();
    const destination = parseDestination(this.#options.destination);
    const options = { ...this.#options, cwd: "" };
    for (const [attempt, wait] of BACKOFF_MS.entries()) {
      await delay(wait, undefined, { signal }).catch(() => signal.throwIfAborted());
      try {
        const line = await connect(destination, options, this.#local, false, signal);
        await this.#adopt(line);
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof PassingFailure) || attempt === BACKOFF_MS.length - 1) throw error;
      }
    }
  }

  async #adopt(line: Line): Promise<void> {
    const { machine, user, host } = line.foothold.facts;
    const same = machine === this.facts.machine && user === this.facts.user && host === this.facts.host;
    if (this.#closed || !same) {
      await line.foothold.close();
      await line.master[Symbol.asyncDispose]();
      if (this.#closed) throw new BuddyError("target", `${this.label} was closed`);
      throw new BuddyError(
        "target",
        `${this.label} is another machine now: ${user}@${host} (${machine}), it was ${this.facts.user}@${this.facts.host} (${this.facts.machine})`,
        { hint: "Nothing was run there. Start buddy again if this is the machine you want." },
      );
    }
    this.#line = line;
  }
}

interface Line {
  readonly master: SshMaster;
  readonly foothold: Foothold;
}

async function connect(
  destination: SshDestination,
  options: Omit<SshOptions, "signal" | "interactive">,
  local: LocalTransport,
  interactive: boolean,
  signal: AbortSignal | undefined,
): Promise<Line> {
  const signalled = signal === undefined ? {} : { signal };
  const master = await SshMaster.start({ destination, interactive, secretEnv: options.secretEnv, ...signalled });
  try {
    const foothold = await Foothold.open({
      label: `ssh ${destination.text}`,
      client: () => local.spawn(master.argv(REMOTE_COMMAND), { isClient: true }),
      cwd: options.cwd ?? "",
      timeoutMs: OPEN_MS,
      ...signalled,
    });
    return { master, foothold };
  } catch (error) {
    await master[Symbol.asyncDispose]();
    if (error instanceof NoAnswer) {
      throw new PassingFailure("target", `${destination.text} let us in but gave ${error.message}`, { cause: error });
    }
    if (!(error instanceof LaneLost)) throw error;
    // The line may have dropped right after the login; a login shell that runs nothing says so.
    throw new PassingFailure(
      "target",
      `${destination.text} let us in but ran nothing: ${error.message || "no reason given"}`,
      {
        hint: `The login shell there must run commands: try ssh ${destination.text} true`,
        cause: error,
      },
    );
  }
}
