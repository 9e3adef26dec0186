/** Waiting: with a time limit, with a signal, until a condition holds, in a queue, or for a turn of the event loop. */

/** The value, or undefined when it takes longer; leaves no timer behind. */
export async function within<T>(work: Promise<T>, ms: number, signal?: AbortSignal): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ms);
  try {
    return await unlessAborted(signal, Promise.race([work, late.promise]));
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves after `ms`, rejects with the signal's reason as soon as it fires. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  if (ms <= 0) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = () => reject(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** A signal that fires after `ms`; its timer ends with the block that uses it. */
export function deadline(ms: number, why = "out of time"): Disposable & { readonly signal: AbortSignal } {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException(why, "TimeoutError")), ms);
  return { signal: late.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}

/** Whether this is the reason of an abort because time ran out. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === "TimeoutError";
}

/** For shared work: a caller that aborts stops waiting, and the work continues for the others. */
export async function unlessAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return await work;
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    // An abort wins, even if the work is done or has failed.
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Lets keys, timers and other streams have a turn. */
export function nextTurn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setImmediate(resolve);
  return promise;
}

/** For loops over a fast source: call it each round, and it yields to keys and timers when a turn is due. */
export function turnTaker(): () => Promise<void> | undefined {
  let last = performance.now();
  return () => {
    if (performance.now() - last <= TURN_MS) return undefined;
    return nextTurn().then(() => void (last = performance.now()));
  };
}

const TURN_MS = 8;

/** Waits until something becomes true; the caller reports each change, so nothing is polled. */
export class Condition {
  readonly #waiters = new Set<() => void>();

  changed(): void {
    for (const look of this.#waiters) look();
  }

  /** Until it holds, time runs out or the signal fires: the caller must check which. */
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

/** Works on many things, a few at a time; the results are in the order of the things. */
export async function atMost<T, R>(limit: number, things: readonly T[], work: (thing: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < things.length; at = next++) results[at] = await work(things[at] as T);
  };
  await Promise.all(Array.from({ length: Math.min(limit, things.length) }, worker));
  return results;
}

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
