/** What differs between two states of a file, for people: text line by line, the rest in a sentence. */
import { decodeText } from "../lib/text-encoding.ts";
import { describeState, type KeptState, type UnreadState } from "./change.ts";

export interface SeenState {
  readonly state: KeptState | UnreadState;
  /** Undefined: its content is not known any more. */
  readonly bytes: Uint8Array | undefined;
}

/** `compare` makes a unified diff of two texts. */
export function stateDiff(from: SeenState, to: SeenState, compare: (before: string, after: string) => string): string {
  const lines: string[] = [];
  const [a, b] = [from.state, to.state];
  if (a.kind === "file" && b.kind === "file") {
    if (a.mode !== b.mode) lines.push(`[mode ${octal(a.mode)} → ${octal(b.mode)}]`);
    if (a.uid !== b.uid || a.gid !== b.gid) lines.push(`[owner ${a.owner} → ${b.owner}]`);
    if (a.acl !== b.acl) lines.push("[access control list differs]");
  } else if (a.kind === "link" || b.kind === "link" || a.kind === "unread" || b.kind === "unread") {
    lines.push(`[${describeState(a)} → ${describeState(b)}]`);
  }
  lines.push(...contents(from, to, compare));
  return lines.filter((line) => line !== "").join("\n");
}

function contents(from: SeenState, to: SeenState, compare: (before: string, after: string) => string): string[] {
  const [a, b] = [from.state, to.state];
  if (a.kind === "file" && b.kind === "file" && a.digest === b.digest) return [];
  if (a.kind === "unread" || b.kind === "unread") return [];
  if (from.bytes === undefined || to.bytes === undefined)
    return [`[${sizeOf(a)} → ${sizeOf(b)} bytes; the content is not stored]`];
  const [before, after] = [textOf(from.bytes), textOf(to.bytes)];
  if (before === undefined || after === undefined) return [`[${sizeOf(a)} → ${sizeOf(b)} bytes of binary content]`];
  return [compare(before, after)];
}

function textOf(bytes: Uint8Array): string | undefined {
  return bytes.includes(0) || bytes.length > MOST_COMPARED ? undefined : decodeText(bytes).text;
}

function sizeOf(state: KeptState): number {
  return state.kind === "file" ? state.size : 0;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

const MOST_COMPARED = 8 * 1024 * 1024;
