/**
 * The files of the record, and reading its lines back: audit.jsonl is written to; audit.1.jsonl, audit.2.jsonl, … are
 * full, oldest first.
 */
import { existsSync, readSync } from "node:fs";
import { join } from "node:path";
import { filesIn, type Line, linesIn } from "../lib/files.ts";
import type { EffectEntry, StoredEntry } from "./entry.ts";
import { readLine } from "./chain.ts";

interface RecordPaths {
  readonly current: string;
  readonly head: string;
  readonly lock: string;
}

export function recordPaths(directory: string): RecordPaths {
  return {
    current: join(directory, "audit.jsonl"),
    head: join(directory, "audit.head"),
    lock: join(directory, "audit.lock"),
  };
}

/** Full files, oldest first. */
export function rotatedFiles(directory: string): { readonly number: number; readonly path: string }[] {
  return filesIn(directory)
    .flatMap((name) => {
      const number = /^audit\.([1-9]\d{0,8})\.jsonl$/.exec(name)?.[1];
      return number === undefined ? [] : [{ number: Number(number), path: join(directory, name) }];
    })
    .sort((a, b) => a.number - b.number);
}

/** All files in the order of their lines. */
export function recordFiles(directory: string): string[] {
  return [...rotatedFiles(directory).map(({ path }) => path), recordPaths(directory).current];
}

/** None for a missing file. */
export function* linesOf(path: string): Generator<Line> {
  if (existsSync(path)) yield* linesIn(path);
}

interface Tail {
  /** The last line that has its newline. */
  readonly line: string | undefined;
  /** Where it ends. */
  readonly end: number;
  /** What follows it: half a line. */
  readonly torn: string;
}

/** Reads from the end: the time it takes does not depend on the size of the record. */
export function readTail(file: number, size: number): Tail {
  let text = Buffer.alloc(0);
  for (let from = size, most = 1 << 12; from > 0; most = 1 << 16) {
    const length = Math.min(from, most);
    const piece = Buffer.alloc(length);
    from -= length;
    readSync(file, piece, 0, length, from);
    text = Buffer.concat([piece, text]);
    const end = text.lastIndexOf(NEWLINE);
    if (end < 0) continue;
    const start = end === 0 ? -1 : text.lastIndexOf(NEWLINE, end - 1);
    if (start < 0 && from > 0) continue;
    return {
      line: text.subarray(start + 1, end).toString(),
      end: from + end + 1,
      torn: text.subarray(end + 1).toString(),
    };
  }
  return { line: undefined, end: 0, torn: text.toString() };
}

const NEWLINE = 10;

interface RecordFilter {
  readonly machine?: (entry: Machine) => boolean;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  /** Id of a session, or its beginning. */
  readonly session?: string;
}

export type Machine = Pick<EffectEntry, "target" | "names" | "host" | "machine" | "label">;

/** In the order they were written. Unreadable lines are skipped: `buddy audit verify` names them. */
export function* readRecord(directory: string, filter: RecordFilter = {}): Generator<StoredEntry> {
  for (const file of recordFiles(directory)) {
    for (const { text } of linesOf(file)) {
      const entry = readLine(text, undefined)?.entry;
      if (entry !== undefined && wanted(entry, filter)) yield entry;
    }
  }
}

function wanted(entry: StoredEntry, { machine, since, session }: RecordFilter): boolean {
  if (since !== undefined && Date.parse(entry.ts) < since) return false;
  if (entry.kind === "note") return machine === undefined && session === undefined;
  if (session !== undefined && !entry.session.startsWith(session)) return false;
  return machine === undefined || machine(entry);
}
