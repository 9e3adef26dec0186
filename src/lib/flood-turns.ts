/** Reads a stream that may be a flood in turns, and collects its garbage in time. */
import { collectAfter } from "./garbage.ts";
import { nextTurn } from "./waiting.ts";

/**
 * Counts what was read of one stream; a promise is to be awaited before more is read. The collections take a tenth of
 * the processor time of a flood.
 */
export function floodTurns(): (bytes: number) => Promise<void> | undefined {
  let sinceTurn = 0;
  return (bytes) => {
    sinceTurn += bytes;
    if (sinceTurn < TURN_BYTES) return undefined;
    collectAfter(COPIES * sinceTurn);
    sinceTurn = 0;
    return nextTurn();
  };
}

const TURN_BYTES = 256 * 1024;
/** Output is decoded, rendered, masked, stored and quoted, and each of them makes its own text of it. */
const COPIES = 2;
