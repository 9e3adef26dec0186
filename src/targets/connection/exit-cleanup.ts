/**
 * Ends what buddy started, even if buddy is killed: a small sh acts when its stdin ends. Process groups get TERM, then
 * KILL; buddy itself and the guard on a remote machine do the same.
 */
import groupsText from "../../../templates/target/end-groups.sh" with { type: "text" };
import cleanupText from "../../../templates/target/exit-cleanup.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { readFileSync, readdirSync } from "node:fs";
import { startChild } from "../../lib/start-child.ts";
import { LOADER, loaderLine } from "../script-line.ts";

const TERM_TO_KILL_MS = 1000;

export const END_GROUPS = script(groupsText);

const SCRIPT = script(cleanupText, { endGroups: END_GROUPS });

export interface ExitCleanup {
  /** Ends the process group when buddy ends, a client after a grace period; returns how to unregister it. */
  watch(group: number, isClient?: boolean): () => void;
  /** Runs the one-line sh command when buddy ends; returns how to withdraw it. */
  onDeath(command: string): () => void;
}

let running: ExitCleanup | undefined;

/** One for the whole process, started on first use. */
export function exitCleanup(): ExitCleanup {
  running ??= start();
  return running;
}

function start(): ExitCleanup {
  const env: Record<string, string> = {};
  for (const name of ["PATH", "HOME", "SSH_AUTH_SOCK"]) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  const child = startChild(["sh", "-c", LOADER, "buddy-exit-cleanup"], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    cwd: "/",
    env,
    detached: true,
  });
  child.unref();
  void child.stdin.write(loaderLine(SCRIPT));
  void child.exited.then(() => (running = undefined));
  let tasks = 0;
  const say = (line: string) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    void child.stdin.write(`${line}\n`);
    void child.stdin.flush();
  };
  return {
    watch(group, isClient = false) {
      say(`${isClient ? "client" : "+"} ${group}`);
      return () => say(`- ${group}`);
    },
    onDeath(command) {
      if (command.includes("\n")) throw new TypeError("one line only");
      const task = ++tasks;
      say(`do ${command}`);
      return () => say(`undo ${task}`);
    },
  };
}

export async function endGroups(groups: readonly number[]): Promise<void> {
  const end = Date.now() + TERM_TO_KILL_MS;
  const asked = groups.filter((group) => signalGroup(group, "SIGTERM"));
  if (asked.length === 0) return;
  // Most end at once: then there is no need to read about all processes of the machine.
  let wait = 1;
  do {
    await Bun.sleep(wait);
    wait = Math.min(wait * 2, 50);
  } while (haveMembers(asked) && Date.now() < end);
  for (const group of asked) signalGroup(group, "SIGKILL");
}

export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // EPERM for a whole group: only processes of other users are left (sudo), which we cannot end.
    if (code === "ESRCH" || code === "EPERM") return false;
    throw error;
  }
}

/** Whether one of these groups has a member that is not a zombie. */
function haveMembers(groups: readonly number[]): boolean {
  const left = new Set(groups.filter((group) => signalGroup(group, 0)).map(String));
  if (left.size === 0) return false;
  let entries: string[];
  try {
    entries = readdirSync("/proc");
  } catch {
    return true;
  }
  return !entries.includes("self") || entries.some((name) => /^\d+$/.test(name) && isMember(name, left));
}

function isMember(pid: string, groups: ReadonlySet<string>): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, , pgrp = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return groups.has(pgrp) && state !== "Z" && state !== "X";
  } catch {
    return false;
  }
}
