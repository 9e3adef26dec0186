/** Waits with an end: a limit in time or a caller who no longer wants to; no timer is left behind. */
import { BuddyError } from "../lib/errors.ts";
import { unlessAborted } from "../lib/unless-aborted.ts";

export async function within<T>(ms: number, signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new NoAnswer("target", `no answer within ${ms / 1000} s`)), ms);
  try {
    return await unlessAborted(signal, Promise.race([work, limit.promise]));
  } finally {
    clearTimeout(timer);
  }
}

/** Nothing came back in time. */
export class NoAnswer extends BuddyError {}
