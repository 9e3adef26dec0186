/** Local processes: which are alive, signals, and the variables that no child gets. */
import { readFileSync, readlinkSync } from "node:fs";

const NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

/** Whether this process was started with the signal ignored (`nohup`, `trap '' INT`). */
function isIgnored(signal: string): boolean {
  const number = NUMBERS[signal];
  return number !== undefined && ((mask() >> (number - 1)) & 1) === 1;
}

const FIELD = "\nSigIgn:";
let known: number | undefined;

/**
 * The first 32 signals. Read once, before a listener of ours could change it; without /proc none counts as ignored.
 */
function mask(): number {
  if (known !== undefined) return known;
  try {
    const status = readFileSync("/proc/self/status", "latin1");
    const at = status.indexOf(FIELD);
    known = at < 0 ? 0 : Number.parseInt(status.slice(at + FIELD.length, status.indexOf("\n", at + 1)).slice(-8), 16);
  } catch {
    known = 0;
  }
  return known;
}

/** Listens to signals until the returned function is called; those that were ignored at the start stay ignored. */
export function onSignals(handlers: Readonly<Partial<Record<NodeJS.Signals, () => void>>>): () => void {
  const wanted = Object.entries(handlers).filter(([signal]) => !isIgnored(signal));
  for (const [signal, handler] of wanted) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of wanted) process.off(signal, handler);
  };
}

/**
 * Whether a local process of any user runs. A zombie does not: in a container whose first process never waits for its
 * children, it stays for ever.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !"ZX".includes(stat[stat.lastIndexOf(")") + 2] ?? " ");
  } catch {
    // No /proc, or it hides the processes of other users.
    return true;
  }
}

/** Identifies this process in the name of a file, for `hasEnded`. */
export function processMark(): string {
  return `${process.pid}-${pidNamespace()}`;
}

/** Whether the process of this mark is known to be gone. One of another container that shares the file may run. */
export function hasEnded(mark: string): boolean {
  const [pid, namespace] = mark.split("-");
  return namespace === pidNamespace() && !isAlive(Number(pid));
}

/** A pid is meaningful only within one container. "0" without /proc. */
function pidNamespace(): string {
  try {
    return Number(readlinkSync("/proc/self/ns/pid").replace(/\D/g, "")).toString(36);
  } catch {
    return "0";
  }
}

/**
 * Variables of buddy itself; those with the keys of profiles are added when the configuration is read. Not in
 * start-child.ts, which an answer without a tool does not load.
 */
const hidden = new Set(["BUN_OPTIONS", "BUN_BE_BUN", "BUDDY_API_KEY", "AGENT_API_KEY"]);

/** No child started from now on gets these variables. */
export function hideFromChildren(names: Iterable<string>): void {
  for (const name of names) hidden.add(name);
}

export function isHidden(name: string): boolean {
  return hidden.has(name);
}

export function hiddenVariables(): string[] {
  return [...hidden];
}
