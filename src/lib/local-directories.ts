/** Directories of this machine that need node:os: the user's home and a place for temporary files. */
import os from "node:os";
import { accessSync, constants, statSync } from "node:fs";
import { BuddyError } from "./errors.ts";

/** The user's home; "/" where neither HOME nor the password file names one (a bare chroot, a busybox). */
export function homeDirectory(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (env["HOME"]) return env["HOME"];
  try {
    // Throws without an entry in the password file.
    return os.homedir();
  } catch {
    return "/";
  }
}

// Where temporary files go: $TMPDIR where it can be used, otherwise the usual places.

/**
 * A TMPDIR that a login on another machine, sudo or a package shell left behind often names a directory that is not
 * there.
 */
export function temporaryDirectory(places: readonly string[] = [os.tmpdir(), "/tmp", "/var/tmp", "/dev/shm"]): string {
  const found = places.find(isWritable);
  if (found !== undefined) return found;
  throw new BuddyError("target", "no directory for temporary files is writable on this machine", {
    hint: "Set TMPDIR to a writable directory.",
  });
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
