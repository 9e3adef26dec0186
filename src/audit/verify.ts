/** Checks the record from its first line to the head: what was changed, removed, added or moved. */
import { basename } from "node:path";
import { lineSigner } from "../lib/line-signer.ts";
import { type Head, type Link, readHead, readLine, START } from "./chain.ts";
import { linesOf, recordFiles, recordPaths } from "./record-files.ts";
import { sha256 } from "../lib/values.ts";

export interface Verification {
  readonly lines: number;
  readonly files: number;
  /** When the first and the last line were written. */
  readonly from?: string;
  readonly to?: string;
  readonly findings: readonly Finding[];
  /** The last line is incomplete because a write was interrupted; the next write repairs it. */
  readonly unfinished: boolean;
}

export interface Finding {
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
