/** A change of one file: where, by what, the file before and after it, and what differs. */
import { octal } from "../lib/text.ts";
import { decodeText, decodeUtf16 } from "../lib/text-encoding.ts";

export interface Change {
  /** Counted from 1 in each session. */
  readonly number: number;
  /** ISO 8601. */
  readonly time: string;
  /** Identity of the machine that the path is on. */
  readonly machine: string;
  /** user@host, for people. */
  readonly where: string;
  /** Absolute; its directories are not links. */
  readonly path: string;
  /** The call that made it: one call may change several files, on several machines. */
  readonly call: string;
  /** The tool, and the command where there was one. */
  readonly tool: string;
  readonly command?: string;
  /** Made as root, through sudo. */
  readonly sudo?: boolean;
  /** The number of the change that this one undid. */
  readonly undoes?: number;
  readonly before: KeptState;
  /** Undefined while the command runs, or when buddy ended before it did. */
  readonly after?: KeptState | UnreadState;
}

/** A stored file; its content is in the store under its digest. */
export type KeptState =
  | { readonly kind: "missing" }
  | { readonly kind: "link"; readonly to: string }
  | {
      readonly kind: "file";
      /** SHA-256 of the content, in hex. */
      readonly digest: string;
      readonly size: number;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
      readonly owner: string;
      readonly acl?: string;
    };

/** Too large, or no longer readable. */
export interface UnreadState {
  readonly kind: "unread";
}

/** The same content under the same name, mode and owner. */
export function sameState(a: KeptState | UnreadState, b: KeptState | UnreadState): boolean {
  if (a.kind === "file" && b.kind === "file")
    return a.digest === b.digest && a.mode === b.mode && a.uid === b.uid && a.gid === b.gid && a.acl === b.acl;
  if (a.kind === "link" && b.kind === "link") return a.to === b.to;
  return a.kind === "missing" && b.kind === "missing";
}

function describeState(state: KeptState | UnreadState): string {
  switch (state.kind) {
    case "missing":
      return "no file";
    case "link":
      return `a link to ${state.to}`;
    case "unread":
      return "a file that could not be read";
    case "file":
      return `mode ${octal(state.mode)}, owner ${state.owner}, ${state.size} bytes`;
  }
}

export interface SeenState {
  readonly state: KeptState | UnreadState;
  /** Undefined when the content is no longer stored. */
  readonly bytes: Uint8Array | undefined;
}

/** What differs, for people: text line by line, the rest in brackets. `compare` makes a unified diff of two texts. */
export function stateDiff(from: SeenState, to: SeenState, compare: (before: string, after: string) => string): string {
  const lines: string[] = [];
  const [a, b] = [from.state, to.state];
  if (a.kind === "file" && b.kind === "file") {
    if (a.mode !== b.mode) lines.push(`[mode ${octal(a.mode)} → ${octal(b.mode)}]`);
    if (a.uid !== b.uid || a.gid !== b.gid) lines.push(`[owner ${a.owner} → ${b.owner}]`);
    if (a.acl !== b.acl) lines.push("[access control list differs]");
  } else if (a.kind === "link" || b.kind === "link" || a.kind === "unread" || b.kind === "unread" || isOnlyName(a, b)) {
    lines.push(`[${describeState(a)} → ${describeState(b)}]`);
  }
  lines.push(...contents(from, to, compare));
  return lines.filter((line) => line !== "").join("\n");
}

/** An empty file comes or goes: no line of its content tells. */
function isOnlyName(a: SeenState["state"], b: SeenState["state"]): boolean {
  return a.kind !== b.kind && sizeOf(a) + sizeOf(b) === 0;
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
  if (bytes.length > MOST_COMPARED) return undefined;
  return (decodeUtf16(bytes) ?? (bytes.includes(0) ? undefined : decodeText(bytes)))?.text;
}

function sizeOf(state: SeenState["state"]): number {
  return state.kind === "file" ? state.size : 0;
}

const MOST_COMPARED = 8 * 1024 * 1024;
