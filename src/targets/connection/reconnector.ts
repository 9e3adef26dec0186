/** A connection that is put up again when it drops: one attempt for all who notice, until the transport is closed. */
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { TargetClosed } from "../errors.ts";
import { runAgainAfterDrop } from "./script-runners.ts";

export class Reconnector {
  readonly #label: string;
  readonly #mend: (signal: AbortSignal) => Promise<void>;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  /** `mend` checks the connection and does what is needed; it stops when its signal says that the transport is closed. */
  constructor(label: string, mend: (signal: AbortSignal) => Promise<void>) {
    this.#label = label;
    this.#mend = mend;
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  assertOpen(): void {
    this.#closing.signal.throwIfAborted();
  }

  async ensure(signal?: AbortSignal): Promise<void> {
    this.assertOpen();
    this.#running ??= this.#mend(this.#closing.signal).finally(() => (this.#running = undefined));
    await unlessAborted(signal, this.#running);
  }

  run<T>(signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
    return runAgainAfterDrop(this.#label, run, () => this.ensure(signal));
  }

  async close(): Promise<void> {
    this.#closing.abort(new TargetClosed("target", `${this.#label} was closed`));
    await this.#running?.catch(() => {});
  }
}
