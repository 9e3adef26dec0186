/**
 * Puts streamed chat-completions tool calls together, also from servers that leave out `index` or `id`, or give every
 * call index 0.
 */
import { GrowingText } from "../growing-text.ts";
import { isRecord } from "../../lib/values.ts";
import type { ToolCall } from "../types.ts";
import { checkParts, count, isWholeJson, type Json, uniqueId } from "./protocol.ts";

export class ToolCallSlots {
  #slots: Slot[] = [];

  get size(): number {
    return this.#slots.length;
  }

  /** Adds one delta. */
  add(delta: Json): void {
    // A few servers leave the wrapper out.
    const fn = isRecord(delta["function"]) ? delta["function"] : { name: delta["name"], arguments: delta["arguments"] };
    const name = typeof fn["name"] === "string" ? fn["name"] : "";
    const given = fn["arguments"] ?? fn["parameters"] ?? fn["input"];
    const piece = typeof given === "string" ? given : isRecord(given) ? JSON.stringify(given) : "";
    const slot = this.#slotFor(delta, name, piece);
    if (!slot.id && typeof delta["id"] === "string") slot.id = delta["id"];
    // A name comes whole, in pieces, or again with every piece of the arguments.
    if (name !== "" && name !== slot.name) slot.name += name;
    slot.add(piece);
    mergeDelta(slot.extra, delta, CALL_FIELDS);
    mergeDelta(slot.functionExtra, fn, FUNCTION_FIELDS);
  }

  /** The calls in order; with `onlyWhole` those whose arguments were cut off are left out. */
  calls(onlyWhole: boolean): ToolCall[] {
    const taken = new Set<string>();
    const calls: ToolCall[] = [];
    const ordered = this.#slots.toSorted((a, b) => (a.index ?? a.order) - (b.index ?? b.order) || a.order - b.order);
    for (const slot of ordered) {
      const text = unwrapped(slot.text());
      // An empty object instead of a call.
      if ((slot.name === "" && text === "") || (onlyWhole && !isWholeJson(text))) continue;
      const extra = { ...slot.extra };
      if (Object.keys(slot.functionExtra).length > 0) extra["function"] = slot.functionExtra;
      const call = { id: uniqueId(slot.id, taken), name: bareName(slot.name), arguments: text };
      calls.push(Object.keys(extra).length > 0 ? { ...call, extra } : call);
    }
    return calls;
  }

  #slotFor(delta: Json, name: string, piece: string): Slot {
    const index = count(delta["index"]);
    const id = typeof delta["id"] === "string" && delta["id"] !== "" ? delta["id"] : undefined;
    const found =
      this.#withId(id, name) ??
      (index === undefined ? this.#withoutIndex(id, name) : this.#withIndex(index, id, name, piece));
    if (found) return found;
    const slot = new Slot(this.#slots.length, index, id);
    checkParts(this.#slots.push(slot), "tool calls");
    return slot;
  }

  /** More of a call that has begun, whatever its index says. */
  #withId(id: string | undefined, name: string): Slot | undefined {
    return id === undefined || name !== "" ? undefined : this.#slots.findLast((known) => known.id === id);
  }

  /** Where every call has the same index, another begins with a name: under its own id, or after a whole one. */
  #withIndex(index: number, id: string | undefined, name: string, piece: string): Slot | undefined {
    const slot = this.#slots.findLast((known) => known.index === index);
    if (slot === undefined && name === "" && id === undefined) return this.#unfinished();
    if (slot === undefined || name === "") return slot;
    const renamed = name !== slot.name;
    if (id !== undefined) {
      if (slot.id === undefined || slot.id === id) return slot;
      return slot.whole || renamed || slot.length + piece.length === 0 ? undefined : slot;
    }
    const another =
      slot.whole && piece !== "" && (renamed || (slot.id === undefined && ![piece, "{}"].includes(slot.text())));
    return another ? undefined : slot;
  }

  /** The call that a piece without a name must continue. */
  #unfinished(): Slot | undefined {
    const last = this.#slots.at(-1);
    return last === undefined || last.whole ? undefined : last;
  }

  #withoutIndex(id: string | undefined, name: string): Slot | undefined {
    if (id !== undefined) {
      const slot = this.#slots.findLast((known) => known.id === id);
      // The same id on a second, whole call is a careless server, not a continuation.
      return slot && name !== "" && slot.whole ? undefined : slot;
    }
    const last = this.#slots.at(-1);
    if (name === "") return last;
    const continues = last !== undefined && last.name === name && last.length > 0 && !last.whole;
    return continues ? last : undefined;
  }
}

/** Without what templates write around it: `functions.look:0`, `look<|channel|>commentary`. */
function bareName(name: string): string {
  return (
    name
      .replace(/<\|.*$/s, "")
      .replace(/^(functions|default_api|tools?)[.:]/, "")
      .replace(/:\d+$/, "")
      .trim() || name
  );
}

/**
 * Arguments that a gateway wrapped in a string or a code block, sent twice, or put after the empty object it began
 * with.
 */
function unwrapped(text: string): string {
  const block = /^\s*```(?:json)?\s*(\{.*\})\s*```\s*$/s.exec(text)?.[1];
  if (block !== undefined && isWholeJson(block)) return block;
  if (text.startsWith("{}{") && isWholeJson(text.slice(2))) return text.slice(2);
  const half = text.slice(0, text.length / 2);
  if (half.length * 2 === text.length && text.startsWith(half, half.length) && isWholeJson(half)) return half;
  if (!text.startsWith('"') || !isWholeJson(text)) return text;
  const inner: unknown = JSON.parse(text);
  return typeof inner === "string" && inner.startsWith("{") && isWholeJson(inner) ? inner : text;
}

const CALL_FIELDS = new Set(["id", "index", "function", "type", "name", "arguments"]);
const FUNCTION_FIELDS = new Set(["name", "arguments", "parameters", "input"]);

class Slot {
  name = "";
  readonly extra: Json = {};
  readonly functionExtra: Json = {};
  #text = new GrowingText();

  constructor(
    readonly order: number,
    readonly index: number | undefined,
    public id: string | undefined,
  ) {}

  add(piece: string): void {
    // Some servers repeat what came before with every piece; no JSON object continues with its own beginning.
    const repeats = piece.length > this.length && piece.startsWith("{") && piece.startsWith(this.text());
    if (repeats) this.#text = new GrowingText(piece);
    else this.#text.add(piece);
  }

  get length(): number {
    return this.#text.length;
  }

  /** Nothing more belongs to these arguments. */
  get whole(): boolean {
    const text = this.text();
    return text.endsWith("}") && isWholeJson(text);
  }

  text(): string {
    return this.#text.toString();
  }
}

// A field that arrives in pieces: strings grow, objects merge, list items are matched by their `index`.

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
