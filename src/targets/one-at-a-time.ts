/** Runs tasks one at a time, in order; a task that is aborted before its turn does not run. */
export class OneAtATime {
  #last: Promise<void> = Promise.resolve();

  /** The result of `act`, or undefined if the signal fired before its turn. */
  async take<T>(act: () => Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
    const before = this.#last;
    const { promise, resolve: done } = Promise.withResolvers<void>();
    this.#last = promise;
    const aborted = Promise.withResolvers<"aborted">();
    const abort = () => aborted.resolve("aborted");
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort, { once: true });
    const turn = await Promise.race([before, aborted.promise]);
    signal?.removeEventListener("abort", abort);
    if (turn === "aborted" || signal?.aborted === true) {
      void before.then(done);
      return undefined;
    }
    try {
      return await act();
    } finally {
      done();
    }
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
