/** Signals that whoever started this process told it to ignore (`nohup`, `trap '' INT`): they stay ignored. */
import { readFileSync } from "node:fs";

const NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

export function isIgnored(signal: string): boolean {
  const number = NUMBERS[signal];
  return number !== undefined && ((mask() >> BigInt(number - 1)) & 1n) === 1n;
}

let known: bigint | undefined;

/** Read once, before a listener of ours could have changed it; where there is no /proc, none is known to be ignored. */
function mask(): bigint {
  if (known !== undefined) return known;
  try {
    const digits = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1] ?? "0";
    known = BigInt(`0x${digits}`);
  } catch {
    known = 0n;
  }
  return known;
}
