/** The value of a promise, or undefined when it takes longer; the timer never keeps the process up. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
