/** Files: replaced whole, refused where there is a link, and why an operation failed. */
import {
  lstatSync,
  chmodSync,
  closeSync,
  copyFileSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isAlive } from "./processes.ts";

// Why a file operation failed, in words that end a sentence.

export function fileError(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "";
  return WORDS[code] ?? (error instanceof Error ? error.message : String(error));
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "a part of the path is not a directory",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
  EPERM: "the operation is not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ELOOP: "there are too many symbolic links",
  ENAMETOOLONG: "the name is too long",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
  EIO: "the device reports an error",
  ENOMEM: "there is not enough memory",
  SQLITE_CANTOPEN: "the lock beside it cannot be made",
  SQLITE_READONLY: "the lock beside it cannot be written",
  SQLITE_FULL: "the disk is full",
};

// Refuses a path at which something else than a regular file stands: a link would lead elsewhere, a pipe never ends.

/** Throws unless each path is a regular file or nothing. */
export function requirePlainFiles(...paths: readonly string[]): void {
  for (const path of paths) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined || stat.isFile()) continue;
    throw new Error(`${path} is ${stat.isSymbolicLink() ? "a link" : "not a regular file"}`);
  }
}

// Replaces a file as a whole: a reader sees the old text or the new one, and a failure leaves nothing behind.

/** Directories that are missing are made for the owner alone; a link is followed; a device or pipe is written to. */
export function writeFileAtomic(path: string, data: string | Uint8Array, mode = 0o600): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const there = statSync(path, { throwIfNoEntry: false });
  // A rename would put a plain file in the place of /dev/null.
  if (there !== undefined && !there.isFile() && !there.isDirectory()) return writeFileSync(path, data);
  const target = there === undefined ? path : realpathSync(path);
  const random = Math.random().toString(36).slice(2, 10);
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.${random}`);
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  const file = openSync(temporary, "wx", mode);
  try {
    chmodSync(temporary, mode); // the umask may have taken bits away
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

/** Temporary files of writes that were killed. */
function removeLeftovers(target: string): void {
  const start = `.${basename(target)}.`;
  let names: string[] = [];
  try {
    names = readdirSync(dirname(target));
  } catch {
    // A directory that can be written but not listed.
  }
  for (const name of names) {
    const pid = name.startsWith(start) ? /^(\d+)\.[a-z0-9]+$/.exec(name.slice(start.length))?.[1] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(dirname(target), name), { force: true });
  }
}

/** Their names; a directory that does not exist has none. */
export function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** For files that are never changed, only added and removed: the copy may share them. */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
    chmodSync(to, 0o600);
  }
}
