/** Signals that whoever started this process told it to ignore (`nohup`, `trap '' INT`): they stay ignored. */
import { readFileSync } from "node:fs";

const NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

export function isIgnored(signal: string): boolean {
  const number = NUMBERS[signal];
  return number !== undefined && ((mask() >> BigInt(number - 1)) & 1n) === 1n;
}

const FIELD = "\nSigIgn:";
let known: bigint | undefined;

/** Read once, before a listener of ours could have changed it; where there is no /proc, none is known to be ignored. */
function mask(): bigint {
  if (known !== undefined) return known;
  try {
    const status = readFileSync("/proc/self/status", "latin1");
    const at = status.indexOf(FIELD);
    known = at < 0 ? 0n : BigInt(`0x${status.slice(at + FIELD.length, status.indexOf("\n", at + 1)).trim()}`);
  } catch {
    known = 0n;
  }
  return known;
}
