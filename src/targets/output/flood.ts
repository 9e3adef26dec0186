/** Keeps a process that prints more than anyone reads from taking the memory and the time of everything else. */
import { collectAfter } from "../../lib/garbage.ts";
import { nextTurn } from "../../lib/waiting.ts";

/**
 * Counts what was read of one stream; a promise is to be awaited before more is read. `seq 1 6000000` with `--json`
 * took 96 MB more than a quiet run without these turns and collections, and 49 MB with them; its reader got 20 MB of
 * live output instead of 3, for 2.7 s of processor time instead of 1.9.
 */
export function floodTurns(): (bytes: number) => Promise<void> | undefined {
  let sinceTurn = 0;
  return (bytes) => {
    sinceTurn += bytes;
    if (sinceTurn < TURN_BYTES) return undefined;
    collectAfter(sinceTurn);
    sinceTurn = 0;
    return nextTurn();
  };
}

const TURN_BYTES = 1024 * 1024;
