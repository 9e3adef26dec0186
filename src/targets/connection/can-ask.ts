/** Whether questions can be asked: a controlling terminal, with buddy in its foreground. */
import { closeSync, openSync, readFileSync } from "node:fs";

export function canAsk(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r+"));
  } catch {
    return false;
  }
  return inForeground();
}

/** A background job that reads the terminal is stopped for good by SIGTTIN. Where this cannot be known, yes. */
function inForeground(): boolean {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return group === foreground;
  } catch {
    return true;
  }
}
