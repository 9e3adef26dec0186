/**
 * The user's home on this machine; `/` where neither HOME nor the password file names one (a bare chroot, a busybox).
 */
import os from "node:os";

export function homeDirectory(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (env["HOME"]) return env["HOME"];
  try {
    // Throws without an entry in the password file.
    return os.homedir();
  } catch {
    return "/";
  }
}
