/** A small sh beside buddy that gives the terminal back when buddy was killed or crashed before it could do so itself. */
import { startChild } from "../../lib/start-child.ts";

export function guardTerminal(modesOff: string): () => void {
  let child: ReturnType<typeof watcher> | undefined;
  // Behind the first frame: a process costs more than a key.
  const timer = setTimeout(() => (child = watcher(modesOff)), START_MS);
  timer.unref();
  return () => {
    clearTimeout(timer);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const { stdin } = child;
    // It may have been killed this very moment; then there is nothing to end.
    void Promise.try(() => stdin.write("\n"))
      .then(() => stdin.end())
      .catch(() => {});
  };
}

/**
 * Its stdin ends with buddy. In a session of its own: no key and no job control reach it, and it may set the terminal.
 * Whoever has taken the terminal meanwhile (the shell, at its prompt) has signals on and is left alone.
 */
const SCRIPT = `trap '' HUP INT QUIT TERM
read -r _ && exit
printf %s "$1"
exec 3<&1
case $(stty -a <&3) in *-isig*) stty sane <&3 ;; esac`;

function watcher(modesOff: string) {
  try {
    const child = startChild(["sh", "-c", SCRIPT, "buddy-terminal", modesOff], {
      stdin: "pipe",
      stdout: "inherit",
      stderr: "ignore",
      cwd: "/",
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
      detached: true,
    });
    child.unref();
    return child;
  } catch {
    // No sh, or no process to be had: everything else works without a guard.
    return undefined;
  }
}

const START_MS = 100;
