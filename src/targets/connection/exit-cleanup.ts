/**
 * Ends what buddy started, even if buddy is killed: a small sh acts when its stdin ends. Process groups get TERM, then
 * KILL; buddy itself and the guard on a remote machine do the same.
 */
import { readFileSync, readdirSync } from "node:fs";
import { startChild } from "../../lib/start-child.ts";
import { LOADER, loaderLine } from "../script-line.ts";

const TERM_TO_KILL_MS = 1000;

/**
 * Ends the groups in G at once. Those in L are led by clients (`docker exec`), which end by themselves after they have
 * passed the end of stdin on, so they get time for that; then `before_kill` runs. Zombies do not count: the first
 * process of many containers never reaps them, and waiting for them would always take the whole time.
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

/**
 * Starts no process for a line, since many machines may be closed at once. `undo` takes the number of a task. A task
 * that ends its shell, as one with an error of syntax does, ends no other.
 */
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
before_kill() { i=1; while [ $i -le $tasks ]; do eval "a=\\$task$i"; [ "$a" = : ] || (eval "$a"); i=$((i + 1)); done; }
tasks=$n
${END_GROUPS}`;

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
