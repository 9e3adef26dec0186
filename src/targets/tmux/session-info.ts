/** What tmux reports about a session: its panes and which buddy works in it; also its size, and its end when idle. */
import { quote } from "../../lib/quote.ts";
import type { PaneShell } from "./bootstrap.ts";
import { type ControlClient, type Reply, tmuxQuote } from "./control.ts";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isAlive } from "../../lib/processes.ts";
import { STAMP } from "./session-files.ts";

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

/**
 * Claims are numbered: `@buddy_client_3` follows `@buddy_client_2`. tmux does not set an option that exists (`-o`), so
 * if two buddies claim a session after the same predecessor, one fails. The highest number counts.
 */
export interface Claim {
  readonly number: number;
  /** Process of the control client, then who started it; "free" after the owner left. */
  readonly value: string;
}

const FREE = "free";

/** From `show-options -t SESSION`. */
export function lastClaim(options: readonly string[]): Claim {
  let last: Claim = { number: 0, value: FREE };
  for (const line of options) {
    const [, number, value] = /^@buddy_client_(\d{1,9}) "?([\w/]+)"?$/.exec(line) ?? [];
    if (Number(number) > last.number) last = { number: Number(number), value: value ?? "" };
  }
  return last;
}

/** Claims the client's session after `last`; fails if another buddy was faster. */
export function claimCommand(last: Claim, mine: string): string {
  return `set-option -o -F @buddy_client_${last.number + 1} '#{client_pid}/${mine}'`;
}

/** After a successful claim: records the owner for the list of all sessions, and removes the previous claim. */
export function ownCommands(last: Claim, mine: string): string[] {
  return [
    `set-option -F @buddy_client '#{client_pid}/${mine}'`,
    ...(last.number === 0 ? [] : [`set-option -q -u @buddy_client_${last.number}`]),
  ];
}

/** Releases the session. */
export function releaseCommands(number: number): string[] {
  return [`set-option @buddy_client_${number} ${FREE}`, `set-option @buddy_client ${FREE}`];
}

/** Sessions and their owners, for `freeName`. */
export const LIST_OWNERS = "list-sessions -F '#{session_name}|#{@buddy_client}|#{@buddy_stamp}'";

/**
 * NAME_2, NAME_3, …: the first that is free or unused and of this version; a random later one after failed attempts.
 */
export function freeName(base: string, { owners: listed, attached }: SessionInfo, attempt: number) {
  const owners = new Map(listed.map((line) => [line.split("|")[0], line.split("|").slice(1)]));
  const free: string[] = [];
  for (let number = 2; free.length < attempt; number++) {
    const name = `${base}_${number}`;
    const [value = "", stamp] = owners.get(name) ?? [];
    if (!owners.has(name) || (stamp === STAMP && !isHeld({ value }, attached))) free.push(name);
  }
  return free[Math.floor(Math.random() * free.length)] ?? `${base}_2`;
}

/** Whether this claim is held: by a running process of this machine, or by an attached client from another one. */
export function isHeld({ value }: Pick<Claim, "value">, attached: ReadonlySet<string>): boolean {
  const [client = "", host = "", pid = "", start = ""] = value.split("/");
  if (value === FREE || host === "") return false;
  if (host !== thisHost()) return attached.has(client);
  return isAlive(Number(pid)) && startOf(pid) === start;
}

/** Host, process and its start; different for each call, since one process may use several sessions. */
export function ownMark(): string {
  return `${thisHost()}/${process.pid}/${startOf("self")}/${++count}`;
}

let count = 0;

/** A pid is meaningful only within one machine, boot and container. */
function thisHost(): string {
  host ??= Bun.hash(
    [
      hostname(),
      quietly(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")),
      quietly(() => readlinkSync("/proc/self/ns/pid")),
    ].join(" "),
  ).toString(16);
  return host;
}

let host: string | undefined;

/** In clock ticks after boot, since a pid may be reused. "0" without /proc. */
function startOf(pid: string): string {
  const stat = quietly(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "0";
}

function quietly(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
