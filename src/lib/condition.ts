/** Waits until something has become true, looked at whenever something happened; never polls. */
export class Condition {
  readonly #waiters = new Set<() => void>();

  /** Something happened. */
  changed(): void {
    for (const look of this.#waiters) look();
  }

  /** Until it holds, the time is over or the signal comes: the caller looks again. */
  async until(holds: () => boolean, ms: number, signal?: AbortSignal): Promise<void> {
    if (holds()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (holds()) resolve();
    };
    const stop = () => resolve();
    const timer = setTimeout(stop, ms);
    signal?.addEventListener("abort", stop, { once: true });
    this.#waiters.add(look);
    await promise;
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    this.#waiters.delete(look);
  }
}
