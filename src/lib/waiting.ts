/** Waiting: with an end, with a signal, until something is true. */

// Waits with an end: the value, or undefined when it takes longer; leaves no timer behind.

export async function within<T>(work: Promise<T>, ms: number, signal?: AbortSignal): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ms);
  try {
    return await unlessAborted(signal, Promise.race([work, late.promise]));
  } finally {
    clearTimeout(timer);
  }
}

// Resolves after `ms`, rejects with the signal's reason as soon as it fires.

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

// Waits for work that others may be waiting for too: a caller that no longer wants it leaves, the work continues.

export async function unlessAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return await work;
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

// Waits until something has become true, looked at whenever something happened; never polls.

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

// Works on many things side by side, a few at a time; the results in the order of the things.

export async function atMost<T, R>(limit: number, things: readonly T[], work: (thing: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < things.length; at = next++) results[at] = await work(things[at] as T);
  };
  await Promise.all(Array.from({ length: Math.min(limit, things.length) }, worker));
  return results;
}
