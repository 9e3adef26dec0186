/** Reconnects when a connection drops: one attempt for all callers that notice, until the transport is closed. */
import { unlessAborted } from "../../lib/waiting.ts";
import { LoginRefused, TargetClosed } from "../errors.ts";
import { runAgainAfterDrop } from "./script-runners.ts";

/** Checks the connection and reconnects if needed; the signal fires when the transport is closed. */
type Reconnect = (signal: AbortSignal, mayAsk: boolean) => Promise<void>;

export class Reconnector {
  readonly #label: string;
  readonly #reconnect: Reconnect;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** Not retried automatically, which could lock the account: the operator decides. */
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

  /** At the operator's request: also after a refusal, and may ask on the terminal. */
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
