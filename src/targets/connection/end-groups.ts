/** TERM, then KILL, to whole process groups: the sh for the other side and for the exit cleanup, and the same for ourselves. */
import { readFileSync, readdirSync } from "node:fs";

const TERM_TO_KILL_MS = 1000;

/**
 * Ends the groups named in G at once; those in L are led by clients and helpers that end by themselves when their stdin
 * does, after they have passed that on: killed too early, `docker exec` would never tell the keeper inside. Between the
 * two `before_kill` is run. Dead members that nobody reaped do not count: the first process of many containers never reaps
 * what it inherits, and waiting for it would take the whole time every time.
 */
export const END_GROUPS = `
some() { if [ -r /proc/self/stat ]; then grep -qs "$1" $2; else :; fi; }
member() { kill -0 "-$1" && some ") [^ZX] [0-9]* $1 " '/proc/[0-9]*/stat'; }
leader() { kill -0 "$1" && some ") [^ZX] " "/proc/$1/stat"; }
linger() {
  n=$1 what=$2; shift 2
  while [ $n -gt 0 ]; do
    up=; for g in $*; do if $what "$g"; then up=1; break; fi; done
    [ -n "$up" ] || return
    sleep 0.05 || { sleep 1; n=$((n - 19)); }
    n=$((n - 1))
  done
}
for g in $G; do kill -TERM "-$g" || kill -TERM "$g"; done
linger 20 member $G
for g in $G; do kill -KILL "-$g"; done
linger 60 leader $L
before_kill
for g in $L; do if leader "$g"; then kill -KILL "-$g"; fi; done
`;

export async function endGroups(groups: readonly number[]): Promise<void> {
  const end = Date.now() + TERM_TO_KILL_MS;
  for (const group of groups) signalGroup(group, "SIGTERM");
  let wait = 2;
  while (groups.some(groupLives) && Date.now() < end) {
    await Bun.sleep(wait);
    wait = Math.min(wait * 2, 50);
  }
  for (const group of groups) signalGroup(group, "SIGKILL");
}

export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // EPERM from a whole group means that only members of other users are left (sudo): nothing we could end.
    if (code === "ESRCH" || code === "EPERM") return false;
    throw error;
  }
}

/** Has members that are not just waiting to be reaped. */
function groupLives(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  let entries: string[];
  try {
    entries = readdirSync("/proc");
  } catch {
    return true;
  }
  return !entries.includes("self") || entries.some((name) => /^\d+$/.test(name) && isMember(name, group));
}

function isMember(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, , pgrp] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return pgrp === String(group) && state !== "Z" && state !== "X";
  } catch {
    return false;
  }
}
