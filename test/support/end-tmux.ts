/**
 * Ends tmux servers and removes what stays behind: their sockets, which tmux leaves, and what buddy keeps for their
 * sessions.
 */
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const uid = process.getuid?.() ?? 0;

/**
 * A function of sh, on one line: `end_tmux -L NAME`. What runs in the panes goes first, work in the background too:
 * a hang-up ends not all of it, and what goes on may write into a directory that is just being removed.
 */
export const END_TMUX =
  "end_tmux() { for p in $(tmux \"$@\" list-panes -a -F '#{pane_pid}' </dev/null); do pkill -KILL -s $p; done; " +
  'tmux "$@" kill-server </dev/null; }';

export function endTmux(socket: string, tmpdir = process.env["TMUX_TMPDIR"] ?? "/tmp"): void {
  const path = join(tmpdir, `tmux-${uid}`, socket);
  if (existsSync(path))
    Bun.spawnSync(["sh", "-c", `${END_TMUX}; end_tmux -S "$1"`, "end", path], { stderr: "ignore", stdout: "ignore" });
  rmSync(path, { force: true });
  // No other has a name like that; one that was killed while it opened a session has recorded no server.
  const own = socket.startsWith("buddy-test-") ? `${socket}.` : undefined;
  removeStates(`${path},`, own);
}

/** All servers that were started with this TMUX_TMPDIR. */
export function endTmuxIn(tmpdir: string): void {
  // A buddy in a pane of one may have started another again.
  for (let rounds = 3; rounds > 0; rounds--)
    for (const socket of namesIn(join(tmpdir, `tmux-${uid}`))) endTmux(socket, tmpdir);
  removeStates(`${tmpdir}/`);
}

/** Servers of the same name in other places share a directory: it goes with the last of them. */
function removeStates(prefix: string, own?: string): void {
  const ended = (line: string) => line.startsWith(prefix) || !existsSync(line.slice(0, line.lastIndexOf(",")));
  const [states, memory] = [`/tmp/buddy-${uid}`, `/dev/shm/buddy-${uid}`];
  for (const name of new Set([...namesIn(states), ...namesIn(memory)])) {
    const servers = linesOf(join(states, name, "servers"));
    const isOwn = own !== undefined && name.startsWith(own);
    if ((!isOwn && !servers.some((line) => line.startsWith(prefix))) || !servers.every(ended)) continue;
    for (const directory of [states, memory]) rmSync(join(directory, name), { recursive: true, force: true });
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, "utf8").trimEnd().split("\n");
  } catch {
    return [];
  }
}
