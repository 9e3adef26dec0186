/**
 * Limits of this process (`ulimit`) under which the runtime itself would crash or be killed: said, or caught,
 * beforehand.
 */
import { readFileSync } from "node:fs";
import { BuddyError } from "../lib/errors.ts";

/** Pipes of a shell, its runner and the cleanup, sockets, session and locks: about 30 at once. */
const FEWEST_FILES = 64;
/** Threads count, too: the runtime's own, a shell, tmux and what the command starts. */
const FEWEST_PROCESSES = 64;

export function checkLimits(): void {
  let limits: string;
  try {
    limits = readFileSync("/proc/self/limits", "latin1");
  } catch {
    return;
  }
  const files = Number.parseInt(limitOf(limits, "\nMax open files "), 10);
  if (files < FEWEST_FILES) throw tooFew(`${files} files may be open at once`, "ulimit -n", FEWEST_FILES);
  const processes = Number.parseInt(limitOf(limits, "\nMax processes "), 10);
  // The kernel does not count those of root.
  if (processes < FEWEST_PROCESSES && process.getuid?.() !== 0)
    throw tooFew(`${processes} processes and threads may run at once`, "ulimit -u", FEWEST_PROCESSES);
  // Without a listener a write past the limit kills the process; with one it fails like on a full disk.
  if (!limitOf(limits, "\nMax file size ").startsWith("unlimited")) process.on("SIGXFSZ", () => {});
}

function tooFew(what: string, command: string, fewest: number): BuddyError {
  return new BuddyError("usage", `only ${what} (${command}); buddy needs ${fewest}`, {
    hint: `Raise the limit before you start it: ${command} 1024`,
  });
}

/** The columns behind a name; "" without it. */
function limitOf(limits: string, name: string): string {
  const at = limits.indexOf(name);
  return at < 0 ? "" : limits.slice(at + name.length, at + name.length + 60).trimStart();
}
