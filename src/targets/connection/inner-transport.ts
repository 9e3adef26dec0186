/** What containers and `via` share: processes started by a client (docker exec, kubectl exec) on another transport. */
import type { Hop } from "../place.ts";
import { labelOfHop } from "../place.ts";
import type {
  GuardShell,
  MachineFacts,
  Process,
  ScriptOptions,
  ScriptResult,
  SpawnOptions,
  Transport,
} from "../target.ts";
import { Reconnector } from "./reconnector.ts";
import type { RemoteSession } from "./remote-session.ts";
import { messageOf } from "../../lib/errors.ts";
import { pause } from "../../lib/waiting.ts";
import { PermanentRefusal } from "../errors.ts";

const CHECK_MS = 5000;
/** How often `gone` checks for an answer, and how long that may take. */
const LOOK_MS = 3000;

export interface InnerOptions {
  /** Where the client runs; closed with this transport. */
  readonly base: Transport;
  readonly cwd?: string | undefined;
  /** A process follows at once. */
  readonly ahead?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export abstract class InnerTransport implements Transport {
  abstract readonly kind: "container" | "via";
  readonly label: string;
  readonly facts: MachineFacts;
  readonly base: Transport;
  readonly #reconnector: Reconnector;
  #remoteSession: RemoteSession;
  #closing: Promise<void> | undefined;

  protected constructor(label: string, base: Transport, remoteSession: RemoteSession, facts: MachineFacts) {
    this.label = label;
    this.base = base;
    this.facts = facts;
    this.#remoteSession = remoteSession;
    this.#reconnector = new Reconnector(label, (signal, mayAsk) => this.#reconnect(signal, mayAsk));
  }

  /** Enters once more; throws MachineChanged if the same name leads to another machine. */
  protected abstract enterAgain(signal: AbortSignal): Promise<RemoteSession>;

  get guardShell(): GuardShell | undefined {
    return this.#remoteSession.guardShell;
  }

  spawn(argv: readonly string[], options?: SpawnOptions): Process {
    this.#reconnector.assertOpen();
    return this.#remoteSession.spawn(argv, options);
  }

  async run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    const over = new AbortController();
    this.gone(over.signal).catch(() => {});
    try {
      return await this.#reconnector.run(options.signal, () => this.#remoteSession.run(script, options));
    } finally {
      over.abort();
    }
  }

  /**
   * A client may stay silent for ever after its container was restarted. One of a paused container is silent, too, but
   * continues later: so the session is given up only if the container can be entered again, or never can be.
   */
  async gone(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(LOOK_MS, signal);
      const session = this.#remoteSession;
      if (this.#reconnector.busy || (await session.answers(LOOK_MS, signal))) continue;
      const entered = await this.#enteredOnceMore(signal);
      if (!entered || session !== this.#remoteSession || (await session.answers(LOOK_MS, signal))) continue;
      session.abandon(`${this.label} was restarted, or is gone`);
      return;
    }
  }

  /** Also true if no further attempt can succeed. */
  async #enteredOnceMore(signal: AbortSignal): Promise<boolean> {
    try {
      await (await this.enterAgain(signal)).close();
      return true;
    } catch (error) {
      signal.throwIfAborted();
      return error instanceof PermanentRefusal;
    }
  }

  ensure(signal?: AbortSignal): Promise<void> {
    return this.#reconnector.ensure(signal);
  }

  reconnect(signal?: AbortSignal): Promise<void> {
    return this.#reconnector.reconnect(signal);
  }

  answers(timeoutMs: number): Promise<boolean> {
    return this.#remoteSession.answers(timeoutMs);
  }

  async connectAnew(signal: AbortSignal): Promise<string | undefined> {
    const outer = await this.base.connectAnew(signal);
    if (outer !== undefined) return outer;
    try {
      await (await this.enterAgain(signal)).close();
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  async abandon(): Promise<void> {
    this.#remoteSession.abandon("it was given up");
    await Promise.all([this.base.abandon(), this[Symbol.asyncDispose]()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#reconnector.close();
    await this.#remoteSession.close();
    await this.base[Symbol.asyncDispose]();
  }

  async #reconnect(signal: AbortSignal, mayAsk: boolean): Promise<void> {
    if (await this.#remoteSession.answers(CHECK_MS, signal)) return;
    this.#remoteSession.abandon(`${this.label} or the connection to it is gone`);
    await (mayAsk ? this.base.reconnect(signal) : this.base.ensure(signal));
    const remoteSession = await this.enterAgain(signal);
    if (this.#reconnector.closed) await remoteSession.close();
    else this.#remoteSession = remoteSession;
  }
}

/** The whole path, the innermost first. */
export function innerLabel(hop: Hop, base: Transport): string {
  return base.kind === "local" ? labelOfHop(hop) : `${labelOfHop(hop)} on ${base.label}`;
}
