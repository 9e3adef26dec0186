/** Whether a file descriptor is a terminal, without loading node:tty (2 ms) for a pipe, a file or /dev/null. */
import { fstatSync, statSync } from "node:fs";

export function isTerminal(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    if (!stat.isCharacterDevice() || stat.rdev === statSync("/dev/null", { throwIfNoEntry: false })?.rdev) return false;
    return process.getBuiltinModule("node:tty").isatty(fd);
  } catch {
    return false; // closed
  }
}
