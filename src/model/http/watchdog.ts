/**
 * Aborts a request when the caller says so, when nothing happens for too long, or when it has taken too long in all.
 */
export class Watchdog {
  /** Why it gave up, unless the caller did. */
  bitten: { words: string; retryable: boolean } | undefined;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #onCaller = () => this.#controller.abort(this.#caller.reason);
  #idle: { ms: number; words: string } | undefined;
  #seen = 0;
  #due = 0;
  #held = false;
  #end: number | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #endTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(caller: AbortSignal) {
    this.#caller = caller;
    if (caller.aborted) this.#onCaller();
    else caller.addEventListener("abort", this.#onCaller, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on something must happen every `ms`. */
  expect(ms: number, words: string): void {
    this.#idle = { ms, words };
    this.alive();
    this.#wake(ms);
  }

  /** Only notes the time: re-arming a timer for each of 200 000 pieces would cost more than reading them. */
  alive(): void {
    this.#seen = performance.now();
    this.#held = false;
  }

  /** The reader is busy with what it got: until `alive` the server may be silent. */
  hold(): void {
    this.#held = true;
  }

  /** From now on it must be over after `ms`, whatever happens; an earlier end stands. */
  endBy(ms: number, words: string): void {
    const end = performance.now() + ms;
    if (this.#end !== undefined && this.#end <= end) return;
    this.#end = end;
    clearTimeout(this.#endTimer);
    this.#endTimer = setTimeout(() => this.#bite(words, false), ms);
  }

  /** Closes the connection if it is still open. */
  release(): void {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#endTimer);
    this.#caller.removeEventListener("abort", this.#onCaller);
    this.#controller.abort();
  }

  #check = (): void => {
    if (!this.#idle) return;
    const now = performance.now();
    // After Ctrl-Z and `fg`, or on a machine with no time for us, the timer comes first and what was sent meanwhile
    // second.
    if (now - this.#due > this.#idle.ms / 4) this.#seen = now;
    const left = this.#held ? this.#idle.ms : this.#idle.ms - (now - this.#seen);
    if (left <= 0) return this.#bite(this.#idle.words, true);
    this.#wake(left);
  };

  #wake(ms: number): void {
    clearTimeout(this.#idleTimer);
    this.#due = performance.now() + ms;
    this.#idleTimer = setTimeout(this.#check, ms);
  }

  #bite(words: string, retryable: boolean): void {
    this.bitten ??= { words, retryable };
    this.#controller.abort(new Error(words));
  }
}
