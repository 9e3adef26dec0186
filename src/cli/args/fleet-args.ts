/** The options of commands that work on several machines at once. */
import type { Args } from "../command.ts";
import { readCount } from "./flag-values.ts";

export const FLEET_ARGS = {
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
    description: "make changes on N machines first; on the others only if that went well",
  },
  "max-fail": {
    type: "string",
    valueHint: "N",
    check: readCount,
    description: "begin on no further machine after N failures",
  },
} as const satisfies Args;

export interface FleetLimitOptions {
  readonly parallel?: number;
  readonly canary?: number;
  readonly maxFail?: number;
}

export function fleetLimits(args: {
  readonly parallel?: string | undefined;
  readonly canary?: string | undefined;
  readonly "max-fail"?: string | undefined;
}): FleetLimitOptions {
  const { parallel, canary, "max-fail": maxFail } = args;
  return {
    ...(parallel === undefined ? {} : { parallel: readCount(parallel, "--parallel") }),
    ...(canary === undefined ? {} : { canary: readCount(canary, "--canary") }),
    ...(maxFail === undefined ? {} : { maxFail: readCount(maxFail, "--max-fail") }),
  };
}
