/** Puts a field together that arrives in pieces: strings grow, objects merge, list items meet by their `index`. */
import { isRecord } from "../../lib/values.ts";
import { type Json } from "./protocol.ts";

/** Adds the unknown fields of a delta to what is known so far. */
export function mergeDelta(into: Json, delta: Json, handled: ReadonlySet<string>): void {
  for (const key in delta) {
    if (handled.has(key)) continue;
    setOwn(into, key, joined(key, Object.hasOwn(into, key) ? into[key] : undefined, delta[key]));
  }
}

/** Strings under these names come in pieces; others name something and come again unchanged. */
const GROWING = /reason|think|thought|text|content|summary|signature|data|arguments|opaque|note|partial|transcript/i;
const NOTHING: ReadonlySet<string> = new Set();

function joined(key: string, before: unknown, piece: unknown): unknown {
  if (before === undefined || before === null) return piece;
  if (piece === undefined || piece === null) return before;
  if (typeof before === "string" && typeof piece === "string") return GROWING.test(key) ? before + piece : piece;
  if (Array.isArray(before) && Array.isArray(piece)) return joinedLists(before, piece);
  if (isRecord(before) && isRecord(piece)) {
    const merged = { ...before };
    mergeDelta(merged, piece, NOTHING);
    return merged;
  }
  return piece;
}

function joinedLists(before: readonly unknown[], pieces: readonly unknown[]): unknown[] {
  const list = [...before];
  for (const piece of pieces) {
    const at =
      isRecord(piece) && typeof piece["index"] === "number"
        ? list.findIndex((item) => isRecord(item) && item["index"] === piece["index"] && item["type"] === piece["type"])
        : -1;
    if (at < 0) list.push(piece);
    else list[at] = joined("", list[at], piece);
  }
  return list;
}

/** A server may name a field `__proto__`: it must become data, not a prototype. */
function setOwn(into: Json, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true });
  else into[key] = value;
}
