/**
 * The chain: each line has its number, the hash of the line before and a MAC; a small file, the head, has the number
 * and hash of the last line, so that lines missing at the end are found, too.
 */
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { makePrivate } from "../lib/files.ts";
import { type LineSigner, splitLine } from "../lib/line-signer.ts";
import { jsonObject } from "../lib/values.ts";
import type { AuditEntry, StoredEntry } from "./entry.ts";

/** Number and hash of a line. */
export interface Link {
  readonly seq: number;
  readonly hash: string;
}

/** Before the first line. */
export const START: Link = { seq: 0, hash: "0".repeat(64) };

/** The next line, without its newline. `redact` removes secrets from the stored text. */
export function chainLine(
  entry: AuditEntry,
  before: Link,
  signer: LineSigner,
  redact: (text: string) => string,
  now: Date,
): string {
  const stored = { v: 1, seq: before.seq + 1, ts: now.toISOString(), ...entry };
  // The hash is added after `redact`, which would take it for a key.
  const text = redact(JSON.stringify(stored));
  return signer.sign(`${text.slice(0, -1)},"prev":"${before.hash}"}`);
}

export interface ReadLine {
  readonly entry: StoredEntry;
  /** Its MAC is valid: the line is unchanged. */
  readonly signed: boolean;
}

/** Undefined if `line` is not a line of the record. */
export function readLine(line: string, signer: LineSigner | undefined): ReadLine | undefined {
  const split = splitLine(line);
  const value = jsonObject(split.json);
  if (!Number.isSafeInteger(value?.seq) || typeof value?.prev !== "string") return undefined;
  if (typeof value.ts !== "string" || typeof value.kind !== "string") return undefined;
  return { entry: value as unknown as StoredEntry, signed: signer?.verify(split) === true };
}

export type Head = Link | "missing" | "damaged";

export function readHead(path: string, signer: LineSigner | undefined): Head {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "missing";
    throw error;
  }
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const text = bytes
      .subarray(0, readSync(file, bytes, 0, HEAD_BYTES, 0))
      .toString()
      .trim();
    const split = splitLine(text);
    const value = signer?.verify(split) === true ? jsonObject(split.json) : undefined;
    if (typeof value?.seq !== "number" || typeof value.hash !== "string") return "damaged";
    return { seq: value.seq, hash: value.hash };
  } finally {
    closeSync(file);
  }
}

/** Overwrites in place with the same size: this works on a full disk, too. */
export function writeHead(path: string, { seq, hash }: Link, signer: LineSigner): void {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
  const file = openSync(path, flags, 0o600);
  try {
    makePrivate(file);
    const text = signer.sign(JSON.stringify({ seq, hash })).padEnd(HEAD_BYTES - 1);
    if (writeSync(file, `${text}\n`, 0) !== HEAD_BYTES) throw new Error("no space left on the device");
  } finally {
    closeSync(file);
  }
}

const HEAD_BYTES = 256;
