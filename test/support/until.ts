/** Waits for a condition, never for a time: polls `probe` until it returns something truthy. */
export async function until<T>(
  probe: () => T | Promise<T>,
  what: string,
  { timeoutMs = 15_000, everyMs = 10 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<Exclude<T, false | null | undefined | 0 | "">> {
  const deadline = performance.now() + timeoutMs;
  let failure: unknown;
  while (true) {
    try {
      const value = await probe();
      if (value) return value as Exclude<T, false | null | undefined | 0 | "">;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`, failure === undefined ? {} : { cause: failure });
    }
    await pause(everyMs);
  }
}

function pause(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(() => resolve(), ms);
  return promise;
}
