/** Waits with an end: the value, or undefined when it takes longer; leaves no timer behind. */
import { unlessAborted } from "./unless-aborted.ts";

export async function within<T>(work: Promise<T>, ms: number, signal?: AbortSignal): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ms);
  try {
    return await unlessAborted(signal, Promise.race([work, late.promise]));
  } finally {
    clearTimeout(timer);
  }
}
