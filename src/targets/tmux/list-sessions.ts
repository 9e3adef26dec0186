/** All tmux sessions of buddy on a machine: what runs in them, who uses them, and how to end them. */
import tmuxList from "../../../templates/target/tmux-list.sh" with { type: "text" };
import tmuxEndSession from "../../../templates/target/tmux-end-session.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
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

const LIST = script(tmuxList, FORMATS);

const END = script(tmuxEndSession, { ownDirectory: OWN_DIRECTORY });

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
