/** A small sh beside buddy that cleans up when buddy is gone, however it went: its stdin ends, so it acts. */
import { END_GROUPS } from "./end-groups.ts";

const SCRIPT = `
trap '' HUP INT QUIT TERM
G= L= n=0
without() { for g in $2; do [ "$g" = "$1" ] || printf ' %s' "$g"; done; }
while read -r op a; do
  case $op in
  +) G="$G $a" ;;
  client) L="$L $a" ;;
  -) G=$(without "$a" "$G") L=$(without "$a" "$L") ;;
  do) n=$((n + 1)); eval "task$n=\\$a" ;;
  undo) i=1; while [ $i -le $n ]; do eval "[ \\"\\$task$i\\" = \\"\\$a\\" ] && task$i=:"; i=$((i + 1)); done ;;
  esac
done
before_kill() { i=1; while [ $i -le $tasks ]; do eval "eval \\"\\$task$i\\""; i=$((i + 1)); done; }
tasks=$n
${END_GROUPS}`;

export interface ExitCleanup {
  /** The process group ends when buddy ends, a client only after it had time to end by itself; returns how to let go of it. */
  watch(group: number, isClient?: boolean): () => void;
  /** The one-line sh command is run when buddy ends without having taken it back. */
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
  const child = Bun.spawn(["sh", "-c", SCRIPT, "buddy-exitCleanup"], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    cwd: "/",
    env,
    detached: true,
  });
  child.unref();
  void child.exited.then(() => (running = undefined));
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
      say(`do ${command}`);
      return () => say(`undo ${command}`);
    },
  };
}
