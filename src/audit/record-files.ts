/**
 * The files of the record, and reading its lines back: audit.jsonl is written to; audit.1.jsonl, audit.2.jsonl, … are
 * full, oldest first.
 */
import { existsSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { filesIn, type Line, linesIn } from "../lib/files.ts";
import { lineSigner } from "../lib/line-signer.ts";
import { sha256 } from "../lib/values.ts";
import { type EffectEntry, type Head, type Link, readHead, readLine, START, type StoredEntry } from "./entry.ts";

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
function recordFiles(directory: string): string[] {
  return [...rotatedFiles(directory).map(({ path }) => path), recordPaths(directory).current];
}

/** None for a missing file. */
function* linesOf(path: string): Generator<Line> {
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

// ── Checks the record from its first line to the head: what was changed, removed, added or moved.

interface Verification {
  readonly lines: number;
  readonly files: number;
  /** When the first and the last line were written. */
  readonly from?: string;
  readonly to?: string;
  readonly findings: readonly Finding[];
  /** The last line is incomplete because a write was interrupted; the next write repairs it. */
  readonly unfinished: boolean;
}

interface Finding {
  readonly file: string;
  /** In the file, from 1; absent when the finding is about the end of the record. */
  readonly line?: number;
  readonly problem: "damaged" | "changed" | "missing" | "order" | "replaced" | "head" | "key";
  readonly text: string;
}

export function verifyRecord(directory: string): Verification {
  for (let attempt = 1; ; attempt++) {
    const files = recordFiles(directory);
    const found = verifyFiles(directory, files);
    // The current file may have been renamed, because it was full, while it was read.
    if (attempt === 3 || files.length === recordFiles(directory).length) return found;
  }
}

function verifyFiles(directory: string, files: readonly string[]): Verification {
  const signer = lineSigner(directory, { create: false })?.derived("audit");
  // Read before the lines: lines that are written meanwhile come after it.
  const head = readHead(recordPaths(directory).head, signer);
  const check = new ChainCheck(head);
  let unfinished = false;
  let unsigned = 0;
  for (const file of files) {
    for (const { text, number, whole } of linesOf(file)) {
      if (!whole && file === files.at(-1)) {
        unfinished = true;
        continue;
      }
      const read = readLine(text, signer);
      if (read?.signed === false) unsigned++;
      check.add(basename(file), number, text, read);
    }
  }
  check.end(basename(recordPaths(directory).head));
  const { lines, from, to } = check;
  const times = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  // A head with a valid signature shows that the key is the right one, and that the lines were changed.
  const keyLost = unsigned === lines && lines > 0 && typeof head === "string";
  const findings = keyLost ? [lostKey(), ...check.findings.filter(isAboutOrder)] : check.findings;
  return { lines, files: files.length, ...times, findings, unfinished };
}

function lostKey(): Finding {
  return {
    file: "session.key",
    problem: "key",
    text: "no line is signed with the key in this directory: the key was replaced, or the record belongs to another user",
  };
}

/** Findings that need no key: the hashes alone show them. */
function isAboutOrder({ problem }: Finding): boolean {
  return problem !== "changed" && problem !== "head";
}

class ChainCheck {
  readonly findings: Finding[] = [];
  lines = 0;
  from: string | undefined;
  to: string | undefined;
  readonly #head: Head;
  #link: Link = START;
  /** The line before was changed or unreadable: its hash is not compared with the next line's. */
  #doubtful = false;
  /** Unreadable lines since the last readable one. */
  #unreadable = 0;
  #hashAtHead: string | undefined;

  constructor(head: Head) {
    this.#head = head;
  }

  add(file: string, line: number, text: string, read: ReturnType<typeof readLine>): void {
    this.lines++;
    const find = (problem: Finding["problem"], about: string) =>
      this.findings.push({ file, line, problem, text: about });
    if (read === undefined) {
      this.#unreadable++;
      this.#doubtful = true;
      find("damaged", "this is not a line of the record");
      return;
    }
    const { seq, prev, ts } = read.entry;
    this.from ??= ts;
    this.to = ts;
    if (!read.signed) find("changed", `entry ${seq} was changed after it was written`);
    if (seq <= this.#link.seq) {
      find("order", `entry ${seq} comes after entry ${this.#link.seq}: lines were reordered or repeated`);
      return;
    }
    const missing = seq - this.#link.seq - 1;
    if (missing > this.#unreadable)
      find(
        "missing",
        `${entries(this.#link.seq + 1, seq - 1)} before this line ${missing === 1 ? "is" : "are"} missing`,
      );
    else if (!this.#doubtful && missing === 0 && prev !== this.#link.hash)
      find("replaced", `entry ${seq} does not follow from the line before it`);
    if (read.entry.kind === "note" && read.entry.note === "head-missing")
      find("head", `${read.entry.detail} when this line was written; lines may have been removed before it`);
    this.#link = { seq, hash: sha256(text) };
    this.#doubtful = !read.signed;
    this.#unreadable = 0;
    if (typeof this.#head === "object" && this.#head.seq === seq) this.#hashAtHead = this.#link.hash;
  }

  end(file: string): void {
    const find = (problem: Finding["problem"], text: string) => this.findings.push({ file, problem, text });
    const head = this.#head;
    const last = this.#link.seq;
    if (head === "missing") {
      if (this.lines > 0) find("head", "the file is missing: lines may have been removed at the end");
    } else if (head === "damaged") find("head", "the file was changed: lines may have been removed at the end");
    else if (head.seq > last)
      find("missing", `${entries(last + 1, head.seq)} at the end ${head.seq === last + 1 ? "is" : "are"} missing`);
    else if (head.seq > 0 && this.#hashAtHead !== head.hash && this.findings.length === 0)
      find("replaced", `entry ${head.seq} is not the one that buddy wrote`);
  }
}

function entries(from: number, to: number): string {
  return from === to ? `entry ${from}` : `entries ${from} to ${to}`;
}
