/** Processes on a host over ssh: one connection, everything multiplexed, put up again when it drops. */
import { setTimeout as delay } from "node:timers/promises";
import { MachineChanged } from "../errors.ts";
import { NoAnswer, RemoteSession } from "./remote-session.ts";
import { ScriptRunnerLost } from "./script-runner.ts";
import { LOADER } from "../quote.ts";
import type { MachineFacts, Process, ScriptOptions, ScriptResult, SpawnOptions, Transport } from "../target.ts";
import { LocalTransport } from "./local.ts";
import { Reconnector } from "./reconnector.ts";
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
  readonly #mending: Reconnector;
  #closing: Promise<void> | undefined;

  private constructor(options: SshOptions, local: LocalTransport, line: Line) {
    this.#options = options;
    this.#local = local;
    this.#line = line;
    this.facts = line.remoteSession.facts;
    const { user, text } = parseDestination(options.destination);
    this.label = user === undefined ? `ssh ${this.facts.user}@${text}` : `ssh ${text}`;
    this.#mending = new Reconnector(this.label, (signal) => this.#mend(signal));
  }

  static async open(options: SshOptions): Promise<SshTransport> {
    const destination = parseDestination(options.destination);
    // Clients are local processes: their environment, groups and end are the local transport's business.
    const local = new LocalTransport({ cwd: "/" });
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
    this.#mending.assertOpen();
    return this.#line.remoteSession.spawn(argv, options);
  }

  run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    return this.#mending.run(options.signal, () => this.#line.remoteSession.run(script, options));
  }

  /** One round trip when all is well. Nothing is asked on the terminal: somebody else may be using it by now. */
  ensure(signal?: AbortSignal): Promise<void> {
    return this.#mending.ensure(signal);
  }

  answers(timeoutMs: number): Promise<boolean> {
    return this.#line.remoteSession.answers(timeoutMs);
  }

  abandon(): Promise<void> {
    this.#line.remoteSession.abandon("it was given up");
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#mending.close();
    await this.#line.remoteSession.close();
    await this.#line.master[Symbol.asyncDispose]();
    await this.#local[Symbol.asyncDispose]();
  }

  async #mend(signal: AbortSignal): Promise<void> {
    if (await this.#line.remoteSession.answers(CHECK_MS, signal)) return;
    this.#line.remoteSession.abandon("the connection was lost");
    await this.#line.master[Symbol.asyncDispose]();
    const destination = parseDestination(this.#options.destination);
    const options = { ...this.#options, cwd: this.facts.cwd, again: true };
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
    const { machine, user, host } = line.remoteSession.facts;
    const same = machine === this.facts.machine && user === this.facts.user && host === this.facts.host;
    if (this.#mending.closed || !same) {
      await line.remoteSession.close();
      await line.master[Symbol.asyncDispose]();
      this.#mending.assertOpen();
      throw new MachineChanged(
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
  readonly remoteSession: RemoteSession;
}

async function connect(
  destination: SshDestination,
  options: Omit<SshOptions, "signal" | "interactive"> & { readonly again?: boolean },
  local: LocalTransport,
  interactive: boolean,
  signal: AbortSignal | undefined,
): Promise<Line> {
  const signalled = signal === undefined ? {} : { signal };
  const master = await SshMaster.start({ destination, interactive, ...signalled });
  try {
    const remoteSession = await RemoteSession.open({
      label: `ssh ${destination.text}`,
      client: () => local.spawn(master.argv(REMOTE_COMMAND), { isClient: true }),
      cwd: options.cwd ?? "",
      again: options.again ?? false,
      timeoutMs: OPEN_MS,
      ...signalled,
    });
    return { master, remoteSession };
  } catch (error) {
    await master[Symbol.asyncDispose]();
    if (error instanceof NoAnswer) {
      throw new PassingFailure("target", `${destination.text} let us in but gave ${error.message}`, { cause: error });
    }
    if (!(error instanceof ScriptRunnerLost)) throw error;
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
