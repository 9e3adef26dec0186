/** Replaces a file as a whole: a reader sees the old text or the new one, and a failure leaves nothing behind. */
import {
  chmodSync,
  closeSync,
  fsyncSync,
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
import { isAlive } from "./is-alive.ts";

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
