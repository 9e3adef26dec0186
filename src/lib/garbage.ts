/**
 * Collects the garbage of large texts in time: by itself the runtime lets a process grow to five times the text that
 * passes through it. A collection takes 3 to 25 ms; `edenGC` less, but it frees no string before its block is swept.
 */
import { nextTurn } from "./waiting.ts";

/** To be called with the size of each piece of work on a text, before the next copy of it is made. */
export function collectAfter(chars: number): void {
  uncollected += chars;
  if (uncollected < COLLECT_CHARS) return;
  uncollected = 0;
  Bun.gc(true);
}

/** Of all texts: they share the memory. */
let uncollected = 0;
const COLLECT_CHARS = 2 << 20;

/**
 * To be called while a server thinks, with the size of its request: two copies of the conversation are left of each.
 * After every fourth, sooner where they are large; two of three run beside the work, the third at once, which also
 * drops code that is not used any more. Always at once, and by size alone, the last of 200 calls were slower than the
 * first; seldom at once took 2 MB more.
 */
export function collectRequest(chars: number): void {
  requested += Math.max(chars, USUAL_REQUEST);
  if (requested < 4 * USUAL_REQUEST) return;
  requested = 0;
  Bun.gc(++collections % 3 === 0);
}

let requested = 0;
let collections = 0;
const USUAL_REQUEST = 64 * 1024;

/**
 * For a stream that may be a flood: counts what was read of it; a promise is to be awaited before more is read. The
 * collections take a tenth of the processor time of a flood.
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
