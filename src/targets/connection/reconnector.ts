/** Connects again when a connection drops: one attempt for everyone who notices, until the transport is closed. */
import { unlessAborted } from "../../lib/waiting.ts";
import { LoginRefused, TargetClosed } from "../errors.ts";
import { runAgainAfterDrop } from "./script-runners.ts";

/** Checks the connection and does what is needed; stops when the signal says that the transport is closed. */
type Reconnect = (signal: AbortSignal, mayAsk: boolean) => Promise<void>;

export class Reconnector {
  readonly #label: string;
  readonly #reconnect: Reconnect;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** Trying again by itself would only lock the account: that is up to the operator. */
  #refusal: LoginRefused | undefined;

  constructor(label: string, reconnect: Reconnect) {
    this.#label = label;
    this.#reconnect = reconnect;
  }

  get busy(): boolean {
    return this.#running !== undefined;
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  assertOpen(): void {
    this.#closing.signal.throwIfAborted();
  }

  async ensure(signal?: AbortSignal): Promise<void> {
    this.assertOpen();
    if (this.#refusal !== undefined && this.#running === undefined) throw this.#refusal;
    await unlessAborted(signal, (this.#running ??= this.#attempt(false)));
  }

  /** On the operator's request: also after a refusal, and with questions on the terminal. */
  async reconnect(signal?: AbortSignal): Promise<void> {
    this.assertOpen();
    await this.#running?.catch(() => {});
    await unlessAborted(signal, (this.#running ??= this.#attempt(true)));
  }

  run<T>(signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
    return runAgainAfterDrop(this.#label, run, () => this.ensure(signal));
  }

  async close(): Promise<void> {
    this.#closing.abort(new TargetClosed("target", `${this.#label} was closed`));
    await this.#running?.catch(() => {});
  }

  async #attempt(mayAsk: boolean): Promise<void> {
    try {
      await this.#reconnect(this.#closing.signal, mayAsk);
      this.#refusal = undefined;
    } catch (error) {
      if (error instanceof LoginRefused) this.#refusal = error;
      throw error;
    } finally {
      this.#running = undefined;
    }
  }
}
