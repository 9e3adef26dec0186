/**
 * Ends what buddy started, however buddy ends: a small sh next to it acts when its stdin ends. With the same steps,
 * TERM then KILL to whole process groups, for buddy itself and for the far side.
 */
import { readFileSync, readdirSync } from "node:fs";
import { startChild } from "../../lib/start-child.ts";
import { LOADER, loaderLine } from "../script-line.ts";

const TERM_TO_KILL_MS = 1000;

/**
 * Ends the groups named in G at once. Those in L are led by clients that end by themselves when their stdin does, after
 * they have passed that on: killed too early, `docker exec` would not pass it on. Between the two `before_kill` runs.
 * Dead members that were never reaped do not count: the first process of many containers never reaps what it inherits,
 * and waiting for it would always take the whole time.
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

/** No process for a line: where many machines are closed at once, each counts. `undo` names a task by its number. */
const SCRIPT = `
trap '' HUP INT QUIT TERM
G= L= n=0
without() { out=; for g in $2; do [ "$g" = "$1" ] || out="$out $g"; done; }
while read -r op a; do
  case $op in
  +) G="$G $a" ;;
  client) L="$L $a" ;;
  -) without "$a" "$G"; G=$out; without "$a" "$L"; L=$out ;;
  do) n=$((n + 1)); eval "task$n=\\$a" ;;
  undo) eval "task$a=:" ;;
  esac
done
before_kill() { i=1; while [ $i -le $tasks ]; do eval "eval \\"\\$task$i\\""; i=$((i + 1)); done; }
tasks=$n
${END_GROUPS}`;

export interface ExitCleanup {
  /** The process group ends when buddy ends, a client after it had time to end by itself; returns how to forget it. */
  watch(group: number, isClient?: boolean): () => void;
  /** Runs the one-line sh command when buddy ends without having taken it back. */
  onDeath(command: string): () => void;
}

let running: ExitCleanup | undefined;

/** One for the whole process, started when first needed. */
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
  for (const group of groups) signalGroup(group, "SIGTERM");
  let wait = 2;
  while (haveMembers(groups) && Date.now() < end) {
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

/** Of one of these groups some are not just waiting to be reaped, which takes a moment where init is slow. */
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
