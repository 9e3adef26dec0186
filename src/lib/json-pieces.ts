/**
 * JSON in pieces, so that a long text is not in memory twice. `clean` gets every piece: a long text unescaped, the
 * others as JSON with their keys.
 */
import { collectAfter } from "./garbage.ts";
import { pieces } from "./text.ts";
import { textIn } from "./values.ts";

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
