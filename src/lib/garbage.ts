/**
 * Collects the garbage of large texts in time: by itself the runtime lets a process grow to five times the text that
 * passes through it. A collection takes 3 to 25 ms; `edenGC` less, but it frees no string before its block is swept.
 */

/** To be called with the size of each piece of work on a text, before the next copy of it is made. */
export function collectAfter(chars: number): void {
  uncollected += chars;
  if (uncollected < COLLECT_CHARS) return;
  uncollected = 0;
  Bun.gc(true);
}

/** Of all texts: they share the memory. */
let uncollected = 0;
const COLLECT_CHARS = 4 << 20;

/**
 * To be called while a server thinks, with the size of its request: more often than the two copies of the conversation
 * that each leaves behind would ask for. Two of three run beside the work; the third runs at once, and also drops code
 * that is not used any more. In a run of 200 calls the last ones were slower than the first where all ran at once, for
 * 1 ms more of processor time each; where none did, it took 3 MB more.
 */
export function collectRequest(chars: number): void {
  requested += chars;
  if (requested < COLLECT_REQUESTS) return;
  requested = 0;
  Bun.gc(++collections % 3 === 0);
}

let requested = 0;
let collections = 0;
const COLLECT_REQUESTS = 200 * 1024;
