/** What tmux reports about a session: its panes and its owner; also its size, and its end when idle. */
import { quote } from "../../lib/quote.ts";
import type { PaneShell } from "./bootstrap.ts";
import { type ControlClient, type Reply, tmuxQuote } from "./control.ts";
import { type Claim, lastClaim, LIST_OWNERS } from "./session-claim.ts";

/** The state of a session when a client attaches. */
export interface SessionInfo {
  /** tmux's session id. */
  readonly id: string;
  readonly clientPid: number;
  readonly managed: boolean;
  /** "" for a new session. */
  readonly key: string;
  /** Version of the files that its shells were started with. */
  readonly stamp: string;
  readonly hasTimer: boolean;
  readonly claim: Claim;
  readonly panes: readonly PaneRow[];
  /** Pids of all clients of the server. */
  readonly attached: ReadonlySet<string>;
  /** Sessions of the server and their owners. */
  readonly owners: readonly string[];
}

/** `first`: commands that must run before anything is read. */
export async function readSession(client: ControlClient, first: readonly string[]): Promise<SessionInfo> {
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
    stamp: /^@buddy_stamp "?(\w+)"?$/m.exec(options.join("\n"))?.[1] ?? "",
    hasTimer: options.some((line) => line.startsWith("@buddy_timer")),
    claim: lastClaim(options),
    panes: parsePanes(panes),
    attached: new Set(clients),
    owners,
  };
}

/** Commands that start a timer in tmux itself, which runs without buddy, too; `ms` 0: never. */
export function endWhenIdle(
  { id, hasTimer }: Pick<SessionInfo, "id" | "hasTimer">,
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

/** Of windows without a client, as attach.sh creates them. */
const WIDTH = 200;
const HEIGHT = 50;

/** After a client of another size has detached, windows keep its size: restores their own. */
export function restoreSize(client: ControlClient, id: string): void {
  const taken = (replies: readonly Reply[]) => {
    const [clients, windows] = replies.map((reply) => reply.lines);
    if (clients?.some((line) => line === `${id}|0`) !== false) return;
    const changed = windows?.filter((line) => !line.endsWith(`|${WIDTH}x${HEIGHT}`)) ?? [];
    if (changed.length === 0) return;
    // resize-window sets a fixed size: unset the option, so that the next client gets its own.
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

/** A pane as tmux lists it. */
export interface PaneRow {
  readonly id: string;
  readonly tty: string;
  readonly pid: number;
  readonly dead: boolean;
  readonly width: number;
  /** The name that buddy gave the pane; "" if buddy does not manage it. */
  readonly name: string;
  readonly command: string;
  /** The exit code of a shell that ended in its start-up files: the next one runs without them. Or "". */
  readonly skipped: string;
  /** The shell that it was started with, which may not be the current login shell. Undefined if unknown. */
  readonly shell: PaneShell | undefined;
}

export const PANE_FORMAT = [
  "pane_id",
  "pane_tty",
  "pane_pid",
  "pane_dead",
  "pane_width",
  "@buddy_pane",
  "pane_current_command",
  "@buddy_skipped",
  "pane_start_command",
]
  .map((name) => `#{${name}}`)
  .join("|");

export function parsePanes(lines: readonly string[]): PaneRow[] {
  return lines.map((line) => {
    const [id = "", tty = "", pid, dead, width, name = "", command = "", skipped = "", ...start] = line.split("|");
    const shell = startedShell(start.join("|"));
    const numbers = { pid: Number(pid), width: Number(width) };
    return { id, tty, ...numbers, dead: dead === "1", name, command, skipped, shell };
  });
}

/** From the command of `paneCommand`, as tmux quotes it. */
function startedShell(command: string): PaneShell | undefined {
  const [, kind, program = ""] = /\/supervisor\.sh"? (bash|zsh|fish|sh) .* (\/[\w./+-]+)$/.exec(command) ?? [];
  if (kind === undefined) return undefined;
  return { kind: kind as PaneShell["kind"], name: program.split("/").at(-1) ?? kind, argv: [program] };
}

export function markPane(pane: string, name: string, owner: string): string[] {
  return [
    `set-option -p -t ${pane} @buddy_managed 1`,
    `set-option -p -t ${pane} @buddy_owner ${tmuxQuote(owner)}`,
    `set-option -p -t ${pane} @buddy_pane ${tmuxQuote(name)}`,
    `set-option -w -t ${pane} automatic-rename off`,
    `set-option -w -t ${pane} allow-rename off`,
    `set-option -w -t ${pane} remain-on-exit off`,
    // Commands must not send sequences to the terminal of an attached operator; tmux before 3.3 lacks the option.
    `set-option -q -p -t ${pane} allow-passthrough off`,
    `select-pane -t ${pane} -T ${tmuxQuote(name)}`,
  ];
}
