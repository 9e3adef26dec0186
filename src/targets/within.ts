/** Waits with an end: a limit in time or a caller who no longer wants to; no timer is left behind. */
import { BuddyError } from "../lib/errors.ts";

export async function within<T>(ms: number, signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new NoAnswer("target", `no answer within ${ms / 1000} s`)), ms);
  try {
    return await unlessAborted(signal, Promise.race([work, limit.promise]));
  } finally {
    clearTimeout(timer);
  }
}

/** The work itself goes on: others may be waiting for it too. */
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

/** Nothing came back in time. */
export class NoAnswer extends BuddyError {}
