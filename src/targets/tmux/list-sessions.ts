/** All tmux sessions of buddy on a machine: what runs in them, who uses them, and how to end them. */
import { BuddyError } from "../../lib/errors.ts";
import { openTransport, type TransportOptions } from "../connection/open-transport.ts";
import type { TargetOptions, Transport } from "../target.ts";
import { isHeld } from "./session-info.ts";
import { tmuxSocket } from "../attach-command.ts";
import { OWN_DIRECTORY } from "../script-line.ts";

export interface ListedSession {
  readonly name: string;
  /** tmux's session id. */
  readonly id: string;
  /** Of its shared pane. */
  readonly directory: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly lastUsed: number;
  /** Why it must not be ended: a buddy works in it, a client is attached, or a program runs in it. */
  readonly inUse: "buddy" | "attached" | "program" | undefined;
  /** What runs in it, except its shells. */
  readonly programs: readonly string[];
}

export interface Sessions extends AsyncDisposable {
  readonly label: string;
  list(): Promise<readonly ListedSession[]>;
  /** Ends those that are still not in use; returns their names. */
  end(sessions: readonly ListedSession[]): Promise<readonly string[]>;
}

const ANSWER_MS = 10_000;
const FORMATS = {
  session: "#{session_id}|#{session_created}|#{session_activity}|#{@buddy_client}|#{session_name}",
  client: "#{session_id}|#{client_control_mode}|#{client_pid}",
  pane: "#{pane_pid}|#{session_id}|#{pane_tty}|#{pane_current_command}|#{@buddy_pane}|#{pane_current_path}",
};

/**
 * $1 tmux, $2 socket name. Prints a line for each session, client and pane, with the number of processes on the
 * terminal of the pane. A container may have terminals with the same names: if ps knows sessions, only processes of the
 * pane's session count. The clean bash for commands without approval and zombies do not count.
 */
const LIST = `
tmux() { if [ -n "$s" ]; then "$t" -u -L "$s" "$@"; else "$t" -u "$@"; fi; }
t=$1 s=$2
tmux list-sessions -f '#{@buddy_managed}' -F 'session|${FORMATS.session}' 2>/dev/null
tmux list-clients -F 'client|${FORMATS.client}' 2>/dev/null
tmux list-panes -a -f '#{@buddy_managed}' -F '${FORMATS.pane}' 2>/dev/null | while IFS= read -r l; do
  pid=\${l%%|*} l=\${l#*|}; p=\${l#*|}; p=\${p%%|*}; p=\${p#/dev/}
  if n=$(ps -t "$p" -o sid= -o stat= -o args= 2>/dev/null); then n=$(echo "$n" | grep "^ *$pid  *[^ Z]" | grep -vc __buddy_line)
  else n=$(ps -t "$p" -o pid= 2>/dev/null | wc -l | tr -d ' '); fi
  echo "pane|$n|$l"
done
:
`;

/** $1 tmux, $2 socket name, $3 user id, $4 id and $5 name of a session. */
const END = `
tmux() { if [ -n "$s" ]; then "$t" -u -L "$s" "$@" 9>&-; else "$t" -u "$@" 9>&-; fi; }
t=$1 s=$2 name=\${2:-default}.$5
${OWN_DIRECTORY}
if __buddy_own "/tmp/buddy-$3"; then __buddy_lock "/tmp/buddy-$3"; fi
tmux kill-session -t "$4" || exit
for d in "/tmp/buddy-$3" "$HOME/.cache/buddy" "/dev/shm/buddy-$3"; do
  if __buddy_own "$d" && __buddy_own "$d/$name"; then rm -rf "$d/$name"; fi
done
`;

export async function openSessions(options: TransportOptions & Pick<TargetOptions, "tmuxSocket">): Promise<Sessions> {
  const transport = await openTransport(options);
  const { facts, label } = transport;
  const tmux = facts.programs["tmux"];
  const args = [tmux ?? "tmux", tmuxSocket(options, transport)];
  const list = () => (tmux === undefined ? Promise.resolve([]) : listOn(transport, args));
  return {
    label,
    list,
    async end(sessions) {
      const ended: string[] = [];
      const now = new Map((await list()).map((session) => [session.id, session]));
      for (const { id, name } of sessions) {
        const session = now.get(id);
        if (session === undefined || session.name !== name || session.inUse !== undefined) continue;
        const { code } = await transport.run(END, { args: [...args, String(facts.uid), id, name] });
        if (code === 0) ended.push(name);
      }
      return ended;
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

async function listOn(transport: Transport, args: readonly string[]): Promise<readonly ListedSession[]> {
  const answer = await transport.run(LIST, { args, timeoutMs: ANSWER_MS, slow: true }).catch((error: unknown) => {
    throw new BuddyError("target", `the tmux server ${args[1]} on ${transport.label} does not answer`, {
      hint: "It may be stopped (SIGSTOP), or a different version.",
      cause: error,
    });
  });
  return readSessions(answer.stdout.toString());
}

const SHELLS = /^-?(?:ba|z|fi|da|a|mk|k)?sh$|^busybox$/;

/** From the output of LIST. */
function readSessions(text: string): ListedSession[] {
  const rows = (kind: string) =>
    text
      .split("\n")
      .filter((line) => line.startsWith(`${kind}|`))
      .map((line) => line.split("|").slice(1));
  const clients = rows("client");
  const attached = new Set(clients.map(([, , pid]) => pid ?? ""));
  const panes = rows("pane");
  return rows("session").map(([id = "", created, activity, owner = "", ...name]) => {
    const own = panes.filter(([, session]) => session === id);
    const programs = own.map(([, , , command]) => command ?? "").filter((command) => !SHELLS.test(command));
    // The supervisor and its shell; a third process is work in the background.
    const works = programs.length > 0 || own.some(([count]) => Number(count) > 2);
    const watched = clients.some(([session, control]) => session === id && control === "0");
    const shared = own.find(([, , , , pane]) => pane === "shared") ?? own[0];
    const inUse = isHeld({ value: owner }, attached) ? "buddy" : watched ? "attached" : works ? "program" : undefined;
    return {
      id,
      name: name.join("|"),
      directory: shared?.slice(5).join("|") ?? "",
      created: Number(created),
      lastUsed: Number(activity),
      inUse,
      programs,
    };
  });
}
