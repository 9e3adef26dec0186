/**
 * Fits text into its budget: keeps head and tail; a notice in place of the middle says how many bytes are missing and
 * how to get them.
 */
import type { CapturedText } from "../targets/target.ts";
import { wholeAt } from "../lib/text.ts";

/** Masks the secrets in a piece of text, also those that are cut at its edges. */
export type Mask = (text: string, cut?: { readonly start?: boolean; readonly end?: boolean }) => string;

/** `how` says how to get the rest; it gets the byte offset of the missing part. */
export function boundText(text: string, budget: number, how: (offset: number) => string, mask: Mask = same): string {
  return joinCaptured(cutCaptured(wholeText(text), budget), how, mask);
}

/** Keeps the end of the text, for screens. */
export function boundTail(text: string, budget: number, how: string, mask: Mask = same): string {
  if (text.length <= budget) return mask(text);
  const tail = text.slice(afterCut(text, text.length - budget));
  return `[${bytes(text) - bytes(tail)} bytes left out before this; ${how}]\n${mask(tail, { start: true })}`;
}

/** Masks at the end: offsets count the bytes of the unmasked text. */
export function joinCaptured(text: CapturedText, how: (offset: number) => string, mask: Mask = same): string {
  if (text.omittedBytes === 0) return mask(text.head + text.tail);
  const [head, tail] = [mask(text.head, { end: true }), mask(text.tail, { start: true })];
  return `${head}\n[${text.omittedBytes} bytes left out here; ${how(bytes(text.head))}]\n${tail}`;
}

/** Cuts further, so that head and tail together have at most `budget` characters. */
export function cutCaptured(text: CapturedText, budget: number): CapturedText {
  const length = text.head.length + text.tail.length;
  if (length <= budget) return text;
  const whole = text.omittedBytes === 0 ? text.head + text.tail : undefined;
  const room = Math.max(0, budget);
  // Equal halves: the end of a failing build matters as much as its beginning.
  const headRoom =
    whole === undefined ? Math.min(text.head.length, Math.max(room - text.tail.length, room >> 1)) : room >> 1;
  const tailRoom = room - headRoom;
  const source = whole ?? text.head;
  const ending = whole ?? text.tail;
  const head = source.slice(0, beforeCut(source, headRoom));
  const tail = ending.slice(afterCut(ending, Math.max(0, ending.length - tailRoom)));
  return { head, tail, omittedBytes: text.totalBytes - bytes(head) - bytes(tail), totalBytes: text.totalBytes };
}

export function boundDiff(diff: string, most = MOST_DIFF_LINES): string {
  const all = diff.split("\n");
  const more = all.length - most;
  return more > 0 ? [...all.slice(0, most), `[${more} more lines of this diff]`].join("\n") : diff;
}

/** Lines a diff adds and removes. */
export function diffSize(diff: string): { readonly added: number; readonly removed: number } {
  let added = 0;
  let removed = 0;
  for (const line of diff.split("\n")) {
    if (line.startsWith("+")) added++;
    else if (line.startsWith("-")) removed++;
  }
  return { added, removed };
}

export function wholeText(text: string): CapturedText {
  return { head: text, tail: "", omittedBytes: 0, totalBytes: bytes(text) };
}

const same: Mask = (text) => text;
const bytes = (text: string) => Buffer.byteLength(text);

let segmenter: Intl.Segmenter | undefined;
const clusters = (text: string) =>
  (segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })).segment(text);
/** How far a cluster is searched for around a cut; longer ones are cut at a code point. */
const CLUSTER = 64;

/** The nearest cluster boundary at or before `at`. */
function beforeCut(text: string, at: number): number {
  if (at >= text.length) return text.length;
  if (at <= 0) return 0;
  const from = wholeAt(text, Math.max(0, at - CLUSTER));
  let boundary = from;
  for (const part of clusters(text.slice(from, at + CLUSTER))) {
    const end = from + part.index + part.segment.length;
    if (end > at) break;
    boundary = end;
  }
  return boundary === from ? wholeAt(text, at) : boundary;
}

/** The nearest cluster boundary at or after `at`. */
function afterCut(text: string, at: number): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  const from = wholeAt(text, Math.max(0, at - CLUSTER));
  for (const part of clusters(text.slice(from, at + CLUSTER))) {
    const start = from + part.index;
    if (start >= at) return start;
  }
  const next = wholeAt(text, at);
  return next < at ? next + 2 : next;
}

// How many characters a tool may put into the conversation: a minimum for small models, more with a larger context, or
// what [limits] says.

export function outputBudget(kind: BudgetKind, contextLimit: number, override = 0): number {
  if (override > 0) return Math.min(override, MOST_CONFIGURED);
  const scaled = Math.floor(contextLimit * CHARS_PER_TOKEN * SHARE_OF_CONTEXT);
  return Math.min(MOST, Math.max(FLOOR[kind], scaled));
}

/** As in [limits]. */
export type BudgetKind = "shell" | "capture" | "file" | "page" | "search" | "mcp";

const FLOOR: Readonly<Record<BudgetKind, number>> = {
  shell: 4_000,
  capture: 4_000,
  file: 8_000,
  page: 8_000,
  search: 8_000,
  mcp: 8_000,
};
const MOST_DIFF_LINES = 200;
const MOST = 30_000;
const MOST_CONFIGURED = 128 * 1024;
const CHARS_PER_TOKEN = 4;
const SHARE_OF_CONTEXT = 0.04;
