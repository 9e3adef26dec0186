/** Replaces a file as a whole: a reader sees the old text or the new one, and a failure leaves nothing behind. */
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Directories that are missing are made for the owner alone. */
export function writeFileAtomic(path: string, data: string | Uint8Array, mode = 0o600): void {
  const directory = dirname(path);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const temporary = join(directory, `.${basename(path)}.${process.pid}.${Math.random().toString(36).slice(2, 10)}`);
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  const file = openSync(temporary, "wx", mode);
  try {
    chmodSync(temporary, mode); // the umask may have taken bits away
    for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written);
    fsyncSync(file);
    closeSync(file);
    renameSync(temporary, path);
  } catch (error) {
    try {
      closeSync(file);
    } catch {
      // already closed
    }
    rmSync(temporary, { force: true });
    throw error;
  }
}
