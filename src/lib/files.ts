/** Local files: replaced atomically, links refused, lines read and appended, failures in words. */
import {
  lstatSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { hasEnded, processMark } from "./processes.ts";
import { messageOf } from "./errors.ts";
import { collectAfter } from "./large-texts.ts";
import { wholeCharacters } from "./text.ts";

/** Why a file cannot be written: if it does not exist, neither does its directory. */
export function writeError(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === "ENOENT" ? "its directory does not exist" : fileError(error);
}

/** Why a file operation failed, in words that end a sentence. */
export function fileError(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "";
  return WORDS[code] ?? messageOf(error);
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "another file has that name",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
  EPERM: "the operation is not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would be larger than allowed (ulimit -f)",
  ELOOP: "there are too many symbolic links",
  ENAMETOOLONG: "the name is too long",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
  EIO: "the device reports an error",
  ENOMEM: "there is not enough memory",
  SQLITE_CANTOPEN: "its lock file cannot be created",
  SQLITE_READONLY: "its lock file cannot be written",
  SQLITE_FULL: "the disk is full",
};

/** Throws unless each path is a regular file or does not exist: a link could lead anywhere, a pipe never ends. */
export function requirePlainFiles(...paths: readonly string[]): void {
  for (const path of paths) {
    const what = otherThanFile(path);
    if (what !== undefined) throw new Error(`${path} is ${what}`);
  }
}

function otherThanFile(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.isFile()) return undefined;
  return stat.isSymbolicLink() ? "a link" : "not a regular file";
}

/** The text of a regular file of at most `mostBytes`; throws the reason in words that end a sentence. */
export function readTextFile(path: string, mostBytes: number): string {
  const { text, bytes } = readTextStart(path, mostBytes);
  if (bytes > mostBytes) throw new Error(`it has more than ${mostBytes} bytes`);
  return text;
}

/** The same for a file that may be longer: its beginning and its size. */
export function readTextStart(path: string, mostBytes: number): { readonly text: string; readonly bytes: number } {
  let file: number | undefined;
  try {
    // Opening a pipe must not wait for a writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new Error(stat.isDirectory() ? WORDS["EISDIR"] : "it is not a regular file");
    const bytes = Buffer.alloc(Math.min(stat.size, mostBytes));
    const end = wholeCharacters(bytes, readSync(file, bytes, 0, bytes.length, 0));
    const text = bytes.toString("utf8", 0, end);
    if (text.includes("\0")) throw new Error("it is not a text file");
    return { text, bytes: stat.size };
  } catch (error) {
    throw new Error(fileError(error), { cause: error });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
  /** False for a last line without a newline. */
  readonly whole: boolean;
}

export function* linesIn(path: string): Generator<Line> {
  for (const { bytes, number, whole } of lineBytesIn(path)) yield { text: bytes.toString(), number, whole };
}

interface LineBytes extends Omit<Line, "text"> {
  readonly bytes: Buffer;
  /** Where it is in the file. */
  readonly begin: number;
}

/**
 * Needs only the memory of the longest line. Refuses links, and lines longer than any that buddy writes. The bytes are
 * valid until the next line is read.
 */
export function* lineBytesIn(path: string): Generator<LineBytes> {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const chunk = Buffer.allocUnsafe(1 << 20);
    let rest: Buffer[] = [];
    let length = 0;
    let number = 0;
    let begin = 0;
    for (let count = 0; (count = readSync(file, chunk)) > 0;) {
      let from = 0;
      for (let at = 0; (at = chunk.subarray(0, count).indexOf(NEWLINE, from)) >= 0; from = at + 1) {
        const end = chunk.subarray(from, at);
        const line = rest.length === 0 ? end : Buffer.concat([...rest, end]);
        rest = [];
        collectAfter(length);
        length = 0;
        yield { bytes: line, begin, number: ++number, whole: true };
        begin += line.length + 1;
      }
      if (from < count) rest.push(Buffer.from(chunk.subarray(from, count)));
      length += count - from;
      if (length > LONGEST_LINE) throw new Error(`line ${number + 1} is longer than ${LONGEST_LINE >> 20} MB`);
    }
    if (rest.length > 0) yield { bytes: Buffer.concat(rest), begin, number: ++number, whole: false };
  } finally {
    closeSync(file);
  }
}

/** A part of a file; shorter if the file is. Refuses links. */
export function bytesOf(path: string, begin: number, length: number): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, begin));
  } finally {
    closeSync(file);
  }
}

/** Opens a file to append lines to, readable by its owner only. Refuses links and pipes. */
export function openForLines(path: string): number {
  const what = otherThanFile(path);
  if (what !== undefined) throw new Error(`it is ${what}`);
  const file = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  makePrivate(file);
  return file;
}

/** For its owner alone. Refuses a file that has another name, too: the mode of that one would change with it. */
export function makePrivate(file: number): void {
  const { mode, nlink } = fstatSync(file);
  if ((mode & 0o077) === 0) return;
  if (nlink > 1) throw new Error("other users can read it, and it has another name (a hard link)");
  fchmodSync(file, 0o600);
}

/** Whether a crash cut the last line: the next one must not continue it. */
export function endsInsideLine(file: number): boolean {
  const { size } = fstatSync(file);
  if (size === 0) return false;
  const last = new Uint8Array(1);
  return readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== NEWLINE;
}

/** All or nothing: a part that a full disk left is removed. One write for each piece. */
export function appendWhole(file: number, pieces: Iterable<string>): void {
  // Not Buffer: its first use costs a millisecond.
  const encoder = new TextEncoder();
  let written = 0;
  try {
    for (const piece of pieces) {
      const bytes = encoder.encode(piece);
      // A write that ends early does not say why: the next one does.
      for (let at = 0; at < bytes.length;) {
        const count = writeSync(file, bytes, at);
        if (count === 0) throw Object.assign(new Error("no space left on the device"), { code: "ENOSPC" });
        at += count;
        written += count;
      }
    }
  } catch (error) {
    if (written > 0) ftruncateSync(file, fstatSync(file).size - written);
    throw error;
  }
}

const NEWLINE = 10;
const LONGEST_LINE = 128 << 20;

/**
 * Replaces a file: a reader sees the old content or the new one, and a failure leaves nothing behind. Creates missing
 * directories for the owner only; follows a link; writes into a device or pipe.
 */
export function writeFileAtomic(path: string, data: string | Uint8Array, mode = 0o600): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const existing = statSync(path, { throwIfNoEntry: false });
  // A rename would replace /dev/null with a regular file.
  if (existing !== undefined && !existing.isFile() && !existing.isDirectory()) return writeFileSync(path, data);
  const target = existing === undefined ? path : realpathSync(path);
  const random = Math.random().toString(36).slice(2, 10);
  const temporary = join(dirname(target), `.${basename(target)}.${processMark()}.${random}`);
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  const file = openSync(temporary, "wx", mode);
  try {
    chmodSync(temporary, mode); // the umask may have cleared bits
    for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written);
    fsyncSync(file);
    closeSync(file);
    renameSync(temporary, target);
  } catch (error) {
    try {
      closeSync(file);
    } catch {
      // already closed
    }
    rmSync(temporary, { force: true });
    throw error;
  }
  removeLeftovers(target);
}

/** Removes temporary files of processes that were killed while writing. */
function removeLeftovers(target: string): void {
  const start = `.${basename(target)}.`;
  let names: string[] = [];
  try {
    names = readdirSync(dirname(target));
  } catch {
    // The directory may be writable but not readable.
  }
  for (const name of names) {
    const mark = name.startsWith(start)
      ? /^(\d+-[0-9a-z]+)\.[a-z0-9]+$/.exec(name.slice(start.length))?.[1]
      : undefined;
    if (mark !== undefined && hasEnded(mark)) rmSync(join(dirname(target), name), { force: true });
  }
}

/** Names in a directory; none if it does not exist. */
export function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** For files that are never changed, only added and removed, so that two directories can share them. */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
    chmodSync(to, 0o600);
  }
}

/** A key is random bytes in a file that only its owner can read. Undefined if there is none, or it is not a key. */
export function readKey(path: string): Uint8Array | undefined {
  try {
    // Not a Buffer: the first one in a process takes 0.15 ms.
    const text = readFileSync(path, "latin1");
    if (text.length !== KEY_BYTES) return undefined;
    const key = new Uint8Array(KEY_BYTES);
    for (let at = 0; at < KEY_BYTES; at++) key[at] = text.charCodeAt(at);
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Created atomically; of two processes that create it at the same time, both use the first. */
export function createKey(path: string): Uint8Array | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2, 10)}`;
  try {
    writeFileSync(temporary, crypto.getRandomValues(new Uint8Array(KEY_BYTES)), { flag: "wx", mode: 0o600 });
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return readKey(path);
}

const KEY_BYTES = 32;
