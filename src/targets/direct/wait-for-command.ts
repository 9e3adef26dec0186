/** Waits for a command of a direct shell: its end, the time allowed, the wish to stop it, or a lost connection. */
import type { RunOptions } from "../target.ts";

/** Time in which a command waits for the operator, which is not its own. */
export class Pauses {
  #open = 0;
  #since = 0;
  #before = 0;

  get ms(): number {
    return this.#before + (this.#open > 0 ? performance.now() - this.#since : 0);
  }

  async during<T>(work: Promise<T>): Promise<T> {
    if (this.#open++ === 0) this.#since = performance.now();
    try {
      return await work;
    } finally {
      if (--this.#open === 0) this.#before += performance.now() - this.#since;
    }
  }
}

type How = "ended" | "aborted" | "deadline" | "gone";

export async function waitForCommand(
  ended: Promise<unknown>,
  options: RunOptions,
  pauses: Pauses,
  gone: Promise<void> | undefined,
): Promise<How> {
  const { promise, resolve } = Promise.withResolvers<How>();
  const started = performance.now();
  const { waitMs } = options;
  const check = (): void => {
    const left = (waitMs ?? 0) + pauses.ms - (performance.now() - started);
    if (left <= 0) resolve("deadline");
    else timer = setTimeout(check, Math.max(left, 20));
  };
  let timer = waitMs === undefined ? undefined : setTimeout(check, waitMs);
  const abort = () => resolve("aborted");
  options.signal?.addEventListener("abort", abort, { once: true });
  if (options.signal?.aborted === true) abort();
  void ended.then(() => resolve("ended"));
  gone?.then(
    () => resolve("gone"),
    () => {},
  );
  const how = await promise;
  clearTimeout(timer);
  options.signal?.removeEventListener("abort", abort);
  return how;
}
