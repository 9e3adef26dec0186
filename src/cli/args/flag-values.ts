/** Values of flags that are not plain text (a wrong one is a usage error), and the limits of `exec` and `run`. */
import { DURATION_FORMAT, LONGEST_DURATION_MS, parseDuration } from "../../lib/durations.ts";
import { BuddyError } from "../../lib/errors.ts";
import type { Args } from "../command.ts";

/** Milliseconds, more than none. */
function readDuration(value: string, flag: string): number {
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

/** How many machines at once, how many failures, how long: for `exec` and `run`. */
export const LIMIT_ARGS = {
  parallel: {
    type: "string",
    valueHint: "N",
    check: readCount,
    description: "work on at most N machines at once (default: fleet.parallel, 32)",
  },
  canary: {
    type: "string",
    valueHint: "N",
    check: readCount,
    description: "make changes on N machines first; on the others only if that succeeded",
  },
  "max-fail": {
    type: "string",
    valueHint: "N",
    check: readCount,
    description: "after N failures, start on no further machines",
  },
  timeout: {
    type: "string",
    valueHint: "DURATION",
    check: readDuration,
    description: "give up after this long, with exit code 124",
  },
} as const satisfies Args;

export function readLimits(args: { readonly [K in keyof typeof LIMIT_ARGS]?: string | undefined }) {
  const { parallel, canary, "max-fail": maxFail, timeout } = args;
  return {
    fleet: {
      ...(parallel === undefined ? {} : { parallel: readCount(parallel, "--parallel") }),
      ...(canary === undefined ? {} : { canary: readCount(canary, "--canary") }),
      ...(maxFail === undefined ? {} : { maxFail: readCount(maxFail, "--max-fail") }),
    },
    timeoutMs: timeout === undefined ? undefined : readDuration(timeout, "--timeout"),
  };
}
