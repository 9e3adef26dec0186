/** Reads the values of flags that are more than a text; a wrong one is a usage error. */
import { DURATION_FORMAT, LONGEST_DURATION_MS, parseDuration } from "../../lib/durations.ts";
import { BuddyError } from "../../lib/errors.ts";

/** Milliseconds, more than none. */
export function readDuration(value: string, flag: string): number {
  const ms = parseDuration(value);
  if (ms === undefined || ms === 0 || ms > LONGEST_DURATION_MS) {
    throw new BuddyError("usage", `${flag} must be ${DURATION_FORMAT}, at most 24d, not "${value}"`);
  }
  return ms;
}

/** A whole number from 1. */
export function readCount(value: string, flag: string): number {
  const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
  if (count < 1) throw new BuddyError("usage", `${flag} must be a whole number from 1, not "${value}"`);
  return count;
}

/** USD, more than nothing: 0.50, $2. */
export function readAmount(value: string, flag: string): number {
  const amount = /^\$?\d{1,7}(\.\d{1,6})?$/.test(value) ? Number(value.replace("$", "")) : 0;
  if (amount > 0) return amount;
  throw new BuddyError("usage", `${flag} must be an amount in USD above 0, such as 0.50, not "${value}"`);
}
