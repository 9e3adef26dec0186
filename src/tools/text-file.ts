/** A file as text that can be changed and written back; what is not changed keeps its bytes. */
import { z } from "zod";
import { BOM, encodeText, lineEndsOf } from "../lib/text-encoding.ts";
import { defined, sha256 } from "../lib/values.ts";
import { PermissionDenied } from "../targets/errors.ts";
import type { FileAccess, FileSlice, Target, WriteOptions, Written } from "../targets/target.ts";
import { type RunningContext, whileItRuns } from "./run-shell.ts";
import type { ToolContext, ToolResult } from "./tool.ts";

export const MOST_EDITED = 8 * 1024 * 1024;

export const LINE_END = { crlf: "\r\n", cr: "\r" } as const;

interface EditableText {
  /** The text to search and change. */
  readonly text: string;
  /** A piece of text in the form that `text` has. */
  inFile(piece: string): string;
  /** A part of `text` as a person reads it. */
  shown(text: string): string;
  /** The bytes for the file; undefined: its encoding lacks a character. */
  bytes(text: string): Uint8Array | undefined;
}

/** Undefined if it is binary or was not read to its end. */
export function editableText(slice: FileSlice): EditableText | undefined {
  if (slice.binary || slice.bytes.length !== slice.sizeBytes) return undefined;
  const { text, encoding, bytes } = slice;
  const same = (piece: string) => piece;
  if (encoding !== "mixed") return { text, inFile: same, shown: same, bytes: (all) => encodeText(all, encoding) };
  // One character per byte: invalid bytes stay unchanged.
  const latin1 = (data: Uint8Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("latin1");
  return {
    text: latin1(bytes),
    inFile: (piece) => latin1(Buffer.from(piece)),
    shown: (part) => Buffer.from(part, "latin1").toString(),
    bytes: (all) => Buffer.from(all, "latin1"),
  };
}

export interface NewContent {
  readonly text: string;
  readonly bytes: Uint8Array;
  /** What was kept of the old file, or could not be kept. */
  readonly notes: readonly string[];
}

/** `content` with the encoding, byte order mark and line ends of the file that it replaces. */
export function likeOldFile(content: string, old: FileSlice | undefined): NewContent {
  if (old === undefined || old.sizeBytes === 0) return asGiven(content);
  if (old.binary) return { ...asGiven(content), notes: ["it was a binary file"] };
  const notes: string[] = [];
  let text = content;
  if (lineEndsOf(text) === "lf" && (old.lineEnds === "crlf" || old.lineEnds === "cr")) {
    text = text.replaceAll("\n", LINE_END[old.lineEnds]);
    notes.push(`its ${old.lineEnds.toUpperCase()} line ends were kept`);
  }
  if (lineEndsOf(text) === "lf" && old.lineEnds === "mixed") notes.push("its line ends were mixed and are LF now");
  if (old.text.startsWith(BOM) && !text.startsWith(BOM)) {
    text = BOM + text;
    notes.push("its byte order mark was kept");
  }
  if (old.encoding === "utf-8" || (!old.encoding.startsWith("utf-16") && isAscii(text)))
    return { text, bytes: Buffer.from(text), notes };
  const bytes = encodeText(text, old.encoding);
  if (bytes === undefined) {
    notes.push(`it was ${NAMES[old.encoding]} and is UTF-8 now`);
    return { text, bytes: Buffer.from(text), notes };
  }
  notes.push(`its encoding was kept: ${NAMES[old.encoding]}`);
  return { text, bytes, notes };
}

/** What is unusual about a file besides its text; "" for an ordinary one. */
export function fileNotes(slice: FileSlice): string {
  const { mode, links, owner } = slice.access;
  const notes: string[] = [];
  if (slice.encoding !== "utf-8") notes.push(NAMES[slice.encoding]);
  if (slice.text.startsWith(BOM)) notes.push("byte order mark");
  if (slice.lineEnds === "crlf" || slice.lineEnds === "cr") notes.push(`${slice.lineEnds.toUpperCase()} line ends`);
  if (slice.lineEnds === "mixed") notes.push("LF and CRLF line ends mixed");
  // Most files that everyone may read belong to root.
  const foreign = owner !== undefined && !(owner === "root" && mode[7] === "r");
  if (foreign) notes.push(`owner ${owner}`);
  if (foreign || UNUSUAL_MODE.test(mode)) notes.push(`mode ${mode}`);
  if (links > 1) notes.push(`${links} hard links`);
  return notes.join(", ");
}

/** Writes only to the path that was judged, whatever it leads to now. */
export function writeOptions({ signal, onlyAt }: ToolContext): WriteOptions {
  return { signal, ...defined({ onlyAt }) };
}

/** The result of a program on the target that checked the file. */
export function checkNote({ checked, uncheckable }: Written): string[] {
  if (uncheckable !== undefined)
    return [`it could not be checked: the check fails on the old file with the same message (${uncheckable})`];
  if (checked === undefined) return [];
  const how =
    checked.how === "after" ? "after it was written, as it cannot be checked before" : "before it was written";
  return [`${checked.by} checked it ${how}${checked.said === undefined ? "" : ` and says: ${checked.said}`}`];
}

const NAMES = {
  "utf-8": "UTF-8",
  "utf-16le": "UTF-16 (little endian)",
  "utf-16be": "UTF-16 (big endian)",
  latin1: "latin1 (ISO-8859-1)",
  "windows-1252": "windows-1252",
  mixed: "UTF-8 with invalid bytes",
} as const;

/** Set-id and sticky bits, not writable by its owner, writable by everyone, an ACL. */
const UNUSUAL_MODE = /[sStT+]|^.{2}-|^.{8}w/;

function asGiven(content: string): NewContent {
  return { text: content, bytes: Buffer.from(content), notes: [] };
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

// ── What the operator saw is what is written, or nothing.

/** Of a file when its change was shown; `undefined`: it did not exist. */
export function fingerprint(old: FileSlice | undefined): string {
  return old === undefined ? "missing" : `${old.sizeBytes} ${sha256(old.bytes)}`;
}

export function changedSinceShown(path: string): ToolResult {
  return {
    ok: false,
    outcome: "changed",
    result: `${path} has changed since the operator saw the difference. Nothing was written: read it and decide again.`,
    display: `${path} has changed since you saw the difference; nothing was written`,
  };
}

// ── The files of a target for a tool with `sudo: true`: read as the user if possible, written as root.

export const sudoField = z.boolean().optional().describe("as root; for system files too");

export function filesFor(target: Target, sudo: boolean | undefined, context: RunningContext): FileAccess {
  if (sudo !== true) return target.files;
  const { files } = target;
  const root = files.asRoot(whileItRuns(target, context));
  return {
    asRoot: () => root,
    async resolve(path, options) {
      const seen = await files.resolve(path, options);
      return seen.hidden ? root.resolve(path, options) : seen;
    },
    async read(path, options) {
      try {
        return await files.read(path, options);
      } catch (error) {
        if (!(error instanceof PermissionDenied)) throw error;
        return root.read(path, options);
      }
    },
    write: (path, data, options) => root.write(path, data, options),
    async look(places, options) {
      const seen = await files.look(places, options);
      const hidden = seen.some(({ state }) => state.kind === "unread" && state.why === "unreadable");
      return hidden ? root.look(places, options) : seen;
    },
    restore: (path, state, options) => root.restore(path, state, options),
  };
}

/** Whether only root can read it. */
export async function needsRoot(files: FileAccess, path: string): Promise<boolean> {
  try {
    await files.read(path, { limit: 1, maxBytes: 1 });
    return false;
  } catch (error) {
    return error instanceof PermissionDenied;
  }
}
