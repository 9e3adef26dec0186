/** The terminal this process belongs to, wherever stdin and stdout lead. */
import { closeSync, openSync, readFileSync } from "node:fs";

/** A file descriptor to read and write, or undefined where there is no terminal or we are not in its foreground. */
export function openTerminal(): number | undefined {
  if (inBackground()) return undefined;
  try {
    return openSync("/dev/tty", "r+");
  } catch {
    return undefined;
  }
}

/** Whether a question can be asked on the terminal. */
export function canAsk(): boolean {
  const terminal = openTerminal();
  if (terminal === undefined) return false;
  closeSync(terminal);
  return true;
}

/** The kernel stops a background job that reads its terminal. Where this cannot be known, we are in the foreground. */
function inBackground(): boolean {
  try {
    // pid (comm) state ppid pgrp session tty tpgid; comm may contain spaces and brackets.
    const fields = readFileSync("/proc/self/stat", "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const [group, foreground] = [Number(fields[2]), Number(fields[5])];
    return foreground > 0 && group !== foreground;
  } catch {
    return false;
  }
}
