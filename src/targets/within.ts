/** A wait with a limit that leaves no timer behind. */
import { BuddyError } from "../lib/errors.ts";

export async function within<T>(ms: number, signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new BuddyError("target", `no answer within ${ms / 1000} s`)), ms);
  const abort = () => limit.reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, limit.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
