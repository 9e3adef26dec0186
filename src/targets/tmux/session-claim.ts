/** Which buddy works in a tmux session: one at a time, recorded in options of the session. */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isAlive } from "../../lib/processes.ts";
import { STAMP } from "./session-files.ts";
import type { SessionInfo } from "./session-info.ts";

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
