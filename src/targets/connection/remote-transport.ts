/** A machine behind a connection that may drop: one attempt to reconnect for all who notice, until it is closed. */
import { unlessAborted } from "../../lib/waiting.ts";
import { LoginRefused, MachineChanged, TargetClosed } from "../errors.ts";
import type {
  GuardShell,
  MachineFacts,
  Process,
  ScriptOptions,
  ScriptResult,
  SpawnOptions,
  Transport,
} from "../target.ts";
import type { RemoteSession } from "./remote-session.ts";
import { runAgainAfterDrop } from "./script-runners.ts";

const CHECK_MS = 5000;

export abstract class RemoteTransport implements Transport {
  abstract readonly kind: Transport["kind"];
  readonly label: string;
  readonly facts: MachineFacts;
  protected session: RemoteSession;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;
  #reconnecting: Promise<void> | undefined;
  /** Not retried automatically, which could lock the account: the operator decides. */
  #refusal: LoginRefused | undefined;

  protected constructor(label: string, session: RemoteSession, facts: MachineFacts) {
    this.label = label;
    this.session = session;
    this.facts = facts;
  }

  /** Throws MachineChanged if that would be another machine. The signal fires when the transport is closed. */
  protected abstract openAgain(signal: AbortSignal, mayAsk: boolean): Promise<RemoteSession>;
  /** What the session depended on. */
  protected abstract closeOuter(): Promise<void>;
  abstract connectAnew(signal: AbortSignal): Promise<string | undefined>;

  get isReconnecting(): boolean {
    return this.#reconnecting !== undefined;
  }

  get guardShell(): GuardShell | undefined {
    return this.session.guardShell;
  }

  spawn(argv: readonly string[], options?: SpawnOptions): Process {
    this.#closing.signal.throwIfAborted();
    return this.session.spawn(argv, options);
  }

  run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    return runAgainAfterDrop(
      this.label,
      () => this.session.run(script, options),
      () => this.ensure(options.signal),
    );
  }

  /** One round trip if the connection is up. Asks nothing on the terminal, which may be in use. */
  async ensure(signal?: AbortSignal): Promise<void> {
    this.#closing.signal.throwIfAborted();
    if (this.#refusal !== undefined && !this.isReconnecting) throw this.#refusal;
    await unlessAborted(signal, (this.#reconnecting ??= this.#reconnect(false)));
  }

  async reconnect(signal?: AbortSignal): Promise<void> {
    this.#closing.signal.throwIfAborted();
    await this.#reconnecting?.catch(() => {});
    await unlessAborted(signal, (this.#reconnecting ??= this.#reconnect(true)));
  }

  answers(timeoutMs: number): Promise<boolean> {
    return this.session.answers(timeoutMs);
  }

  async abandon(): Promise<void> {
    this.session.abandon("it was given up");
    await this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  /** The session, which is closed if it is on another machine. */
  protected async onSameMachine(session: RemoteSession): Promise<RemoteSession> {
    const [now, before] = [session.facts, this.facts].map(({ user, host, machine }) => `${user}@${host} (${machine})`);
    if (now === before) return session;
    await session.close();
    throw this.changed(`: ${now}; it was ${before}`);
  }

  protected changed(details = ""): MachineChanged {
    return new MachineChanged("target", `${this.label} now reaches a different machine${details}`, {
      hint: "Nothing was run there. Start buddy again if this is the machine you want.",
    });
  }

  async #close(): Promise<void> {
    this.#closing.abort(new TargetClosed("target", `${this.label} was closed`));
    await this.#reconnecting?.catch(() => {});
    await this.session.close();
    await this.closeOuter();
  }

  async #reconnect(mayAsk: boolean): Promise<void> {
    const { signal } = this.#closing;
    try {
      if (await this.session.answers(CHECK_MS, signal)) return;
      this.session.abandon("the connection was lost");
      const session = await this.openAgain(signal, mayAsk);
      if (signal.aborted) await session.close();
      signal.throwIfAborted();
      this.session = session;
      this.#refusal = undefined;
    } catch (error) {
      if (error instanceof LoginRefused) this.#refusal = error;
      throw error;
    } finally {
      this.#reconnecting = undefined;
    }
  }
}
