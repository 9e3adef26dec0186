/** Local directories that need node:os: the user's home and the one for temporary files. */
import os from "node:os";
import { accessSync, constants, statSync } from "node:fs";
import { BuddyError } from "./errors.ts";
import type { Environment } from "./values.ts";

/** The user's home; "/" if neither HOME nor the password file has one (a bare chroot, a busybox). */
export function homeDirectory(env: Environment = process.env): string {
  if (env["HOME"]) return env["HOME"];
  try {
    // Throws without an entry in the password file.
    return os.homedir();
  } catch {
    return "/";
  }
}

/** TMPDIR if it is usable: after ssh, sudo or in a package shell it often names a directory that does not exist. */
export function temporaryDirectory(places: readonly string[] = [os.tmpdir(), "/tmp", "/var/tmp", "/dev/shm"]): string {
  const found = places.find(isWritableDirectory);
  if (found !== undefined) return found;
  throw new BuddyError("target", "no directory for temporary files is writable on this machine", {
    hint: "Set TMPDIR to a writable directory.",
  });
}

export function isWritableDirectory(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
