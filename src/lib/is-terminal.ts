/** Whether a file descriptor is a terminal, without loading node:tty (2 ms) for what is plainly a pipe or a file. */
import { fstatSync } from "node:fs";

export function isTerminal(fd: 0 | 1 | 2): boolean {
  try {
    return fstatSync(fd).isCharacterDevice() && process.getBuiltinModule("node:tty").isatty(fd);
  } catch {
    return false; // closed
  }
}
