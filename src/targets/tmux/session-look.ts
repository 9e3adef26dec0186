/**
 * A session that a client has just attached to: what is in it, whose it is; its size and its end when it is not in use.
 */
import { quote } from "../../lib/quote.ts";
import { type ControlClient, type Reply, tmuxQuote } from "./control.ts";
import { type Claim, lastClaim, LIST_OWNERS } from "./owner.ts";
import { PANE_FORMAT, type PaneRow, parsePanes } from "./pane-rows.ts";

/** What a session is like when a client has attached to it. */
export interface SessionLook {
  /** tmux's own number of the session. */
  readonly id: string;
  readonly clientPid: number;
  readonly managed: boolean;
  readonly key: string;
  readonly hasTimer: boolean;
  readonly claim: Claim;
  readonly panes: readonly PaneRow[];
  /** Process numbers of all clients of the server. */
  readonly attached: ReadonlySet<string>;
  /** Sessions of the server and who has them. */
  readonly owners: readonly string[];
}

/** `first` are commands that must run before anything is read. */
export async function lookAtSession(client: ControlClient, first: readonly string[]): Promise<SessionLook> {
  const replies = await client.send([
    ...first,
    "display-message -p '#{session_id}|#{client_pid}'",
    "show-options",
    `list-panes -s -F '${PANE_FORMAT}'`,
    "list-clients -F '#{client_pid}'",
    LIST_OWNERS,
  ]);
  const [ids, options = [], panes = [], clients, owners = []] = replies.slice(-5).map((reply) => reply.lines);
  const [id = "", pid] = ids?.[0]?.split("|") ?? [];
  return {
    id,
    clientPid: Number(pid) || 0,
    managed: options.some((line) => /^@buddy_managed "?1"?$/.test(line)),
    key: /^@buddy_key "?(\w+)"?$/m.exec(options.join("\n"))?.[1] ?? "",
    hasTimer: options.some((line) => line.startsWith("@buddy_timer")),
    claim: lastClaim(options),
    panes: parsePanes(panes),
    attached: new Set(clients),
    owners,
  };
}

/** The commands that start a timer of tmux itself, which is there also when no buddy is; `ms` 0 = never. */
export function endWhenIdle(
  { id, hasTimer }: Pick<SessionLook, "id" | "hasTimer">,
  { ms, directory, tmux }: { readonly ms: number; readonly directory: string; readonly tmux: string },
): string[] {
  const seconds = Math.ceil(ms / 1000);
  const run = `sh ${quote(`${directory}/idle.sh`)} ${quote(tmux)} '#{socket_path}' '${id}'`;
  return [
    `set-option @buddy_idle ${seconds}`,
    "set-option -q -u @buddy_unused",
    ...(hasTimer || seconds === 0
      ? []
      : ["set-option @buddy_timer 1", `run-shell -b -d ${Math.min(seconds, 3600)} ${tmuxQuote(run)}`]),
  ];
}

/** Of windows that no client looks at, as attach.sh makes them. */
const WIDTH = 200;
const HEIGHT = 50;

/** A client of another size has gone, and windows keep its size: they get their own back. */
export function restoreSize(client: ControlClient, id: string): void {
  const taken = (replies: readonly Reply[]) => {
    const [clients, windows] = replies.map((reply) => reply.lines);
    if (clients?.some((line) => line === `${id}|0`) !== false) return;
    const changed = windows?.filter((line) => !line.endsWith(`|${WIDTH}x${HEIGHT}`)) ?? [];
    if (changed.length === 0) return;
    // A size that was set by hand stays for ever: the option goes again, so that the next client gets its own.
    const commands = changed
      .map((line) => line.split("|")[0] ?? "")
      .flatMap((window) => [
        `resize-window -t ${window} -x ${WIDTH} -y ${HEIGHT}`,
        `set-option -w -q -u -t ${window} window-size`,
      ]);
    void client.send(commands).catch(() => {});
  };
  const questions = [
    "list-clients -F '#{session_id}|#{client_control_mode}'",
    `list-windows -t ${tmuxQuote(`${id}:`)} -F '#{window_id}|#{window_width}x#{window_height}'`,
  ];
  void client.send(questions, taken).catch(() => {});
}
