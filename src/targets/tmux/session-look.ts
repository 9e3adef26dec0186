/** What tmux knows of a session: its panes and whose it is; its size, and its end when it is idle. */
import { quote } from "../../lib/quote.ts";
import type { PaneShell } from "./bootstrap.ts";
import { type ControlClient, type Reply, tmuxQuote } from "./control.ts";
import { type Claim, lastClaim, LIST_OWNERS } from "./session-claim.ts";

/** What a session is like when a client has attached to it. */
export interface SessionLook {
  /** tmux's own number of the session. */
  readonly id: string;
  readonly clientPid: number;
  readonly managed: boolean;
  /** "" before it was made buddy's. */
  readonly key: string;
  /** Of the files that its shells were started with. */
  readonly stamp: string;
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
    stamp: /^@buddy_stamp "?(\w+)"?$/m.exec(options.join("\n"))?.[1] ?? "",
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
    // A size that was set by hand stays forever: the option goes again, so that the next client gets its own.
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

// The panes of a session as tmux lists them, and the marks by which buddy knows its own.

export interface PaneRow {
  readonly id: string;
  readonly window: string;
  readonly tty: string;
  readonly pid: number;
  readonly dead: boolean;
  readonly width: number;
  /** The name buddy gave the pane; "" when the pane is not buddy's. */
  readonly name: string;
  readonly command: string;
  readonly windowName: string;
  /** The exit code of a shell that ended in its start-up files: the next one runs without them. Or "". */
  readonly skipped: string;
  /** The shell that it was started with: the account may have another one since. Undefined where that is not known. */
  readonly shell: PaneShell | undefined;
}

export const PANE_FORMAT = [
  "pane_id",
  "window_id",
  "pane_tty",
  "pane_pid",
  "pane_dead",
  "pane_width",
  "@buddy_pane",
  "pane_current_command",
  "window_name",
  "@buddy_skipped",
  "pane_start_command",
]
  .map((name) => `#{${name}}`)
  .join("|");

export function parsePanes(lines: readonly string[]): PaneRow[] {
  return lines.map((line) => {
    const [id = "", window = "", tty = "", pid, dead, width, name = "", command = "", ...more] = line.split("|");
    const [windowName = "", skipped = "", ...start] = more;
    const shell = startedShell(start.join("|"));
    const numbers = { pid: Number(pid), width: Number(width) };
    return { id, window, tty, ...numbers, dead: dead === "1", name, command, windowName, skipped, shell };
  });
}

/** From the words of `paneCommand`, as tmux quotes them. */
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
    // What commands print must not reach the terminal of whoever attaches; tmux before 3.3 has no such option.
    `set-option -q -p -t ${pane} allow-passthrough off`,
    `select-pane -t ${pane} -T ${tmuxQuote(name)}`,
  ];
}
