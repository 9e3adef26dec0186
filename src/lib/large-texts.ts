/**
 * Large texts with few copies in memory. Garbage is collected early: left alone, the runtime lets a process grow to
 * five times the text that passes through it. A collection takes 3 to 25 ms; `edenGC` takes less but frees no string
 * before its block is swept.
 */
import { pieces } from "./text.ts";
import { textIn } from "./values.ts";
import { nextTurn } from "./waiting.ts";

/** Call with the size of each text that was copied or converted, before the next copy is made. */
export function collectAfter(chars: number): void {
  uncollected += chars;
  if (uncollected < COLLECT_CHARS) return;
  uncollected = 0;
  Bun.gc(true);
}

/** For all texts together: they share the memory. */
let uncollected = 0;
const COLLECT_CHARS = 2 << 20;

/**
 * Call while waiting for a server. Collects after every eighth request. Measured over 200 calls: without it the process
 * grew by 9 MB more; a synchronous collection saved another 1.5 MB and took a fifth more of the processor.
 */
export function collectRequest(): void {
  if (++requests % 8 === 0) Bun.gc(false);
}

let requests = 0;

/**
 * Counts the bytes read from a stream that may never pause; await a returned promise before reading more. The
 * collections take a tenth of the processor time of such a stream.
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
/** Decoding, rendering, masking, storing and quoting each copy the output. */
const COPIES = 2;

// ── JSON in pieces, so that a long text is not in memory twice. `clean` gets every piece: a long text unescaped, the
// others as JSON with their keys.

export function* jsonPieces(value: unknown, clean = (text: string) => text): Generator<string> {
  if (textIn(value, LARGE) < LARGE) return yield clean(JSON.stringify(value));
  if (typeof value === "string") {
    collectAfter(value.length);
    yield '"';
    for (const piece of pieces(clean(value), PIECE)) yield JSON.stringify(piece).slice(1, -1);
    return yield '"';
  }
  const isList = Array.isArray(value);
  let before = isList ? "[" : "{";
  for (const [key, item] of Object.entries(value as object)) {
    if (item === undefined && !isList) continue;
    yield before;
    before = ",";
    const name = isList ? "" : `${JSON.stringify(key)}:`;
    if (textIn(item, LARGE) < LARGE) yield clean(`${name}${JSON.stringify(item) ?? "null"}`);
    else {
      yield name;
      yield* jsonPieces(item, clean);
    }
  }
  yield isList ? "]" : "}";
}

/** Joins small pieces, so that each result is one write. */
export function* gathered(...parts: readonly Iterable<string>[]): Generator<string> {
  let held = "";
  for (const part of parts)
    for (const piece of part) {
      held += piece;
      if (held.length < PIECE) continue;
      yield held;
      collectAfter(held.length);
      held = "";
    }
  if (held !== "") yield held;
}

const PIECE = 256 * 1024;
const LARGE = 1024 * 1024;
