/** Numbers, times, labels and a few sentences as every screen shows them. */
import type { MachineFinishedEvent, NoticeEvent, RetryEvent, ToolOutputEvent } from "../agent/events.ts";
import { localTime } from "../lib/durations.ts";
import { foldNames } from "../lib/names.ts";
import { collapseSpaces, plural } from "../lib/text.ts";
import { showLine, showText } from "../policy/screen/terminal-text.ts";
import type { Locks } from "../targets/target.ts";
import type { StatusRow } from "./repl/host.ts";

/** Made safe for the screen, on one line. */
export function oneLine(text: string): string {
  return collapseSpaces(showText(text));
}

/** A command or the name of a file on one line: nothing of it is dropped, and where a line ends is seen. */
export function commandLine(text: string): string {
  return collapseSpaces(showText(text.trim(), { mode: "command" }).replaceAll(/\s*\n\s*/g, " ⏎ "));
}

/** What one of several machines says, with its name. */
export function withMachine({ machine, text }: { readonly machine?: string; readonly text: string }): string {
  return machine === undefined ? text : `${machine}: ${text}`;
}

export type MachineNotice = NoticeEvent | ToolOutputEvent;

/** What many machines say is shown once, with all their names: the first waits a moment for the others. */
export class MachineNotices {
  readonly #show: (notice: MachineNotice) => unknown;
  readonly #held = new Map<string, { readonly notice: MachineNotice; readonly machines: Set<string> }>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #paused = false;

  constructor(show: (notice: MachineNotice) => unknown) {
    this.#show = show;
  }

  /** False: it is not about one of several machines, and is to be shown now. */
  add(notice: MachineNotice): boolean {
    const { machine } = notice;
    if (machine === undefined && !this.#paused) return false;
    const { type, call, message, text, kind } = notice as Partial<NoticeEvent & ToolOutputEvent>;
    const key = JSON.stringify([type, call, kind, message, text]);
    const held = this.#held.get(key) ?? { notice, machines: new Set() };
    this.#held.set(key, held);
    if (machine !== undefined) held.machines.add(machine);
    if (!this.#paused) this.#timer ??= setTimeout(() => void this.flush(), GATHERED_MS);
    return true;
  }

  /** A question has the terminal: what is said meanwhile comes after it. */
  pause(): Promise<unknown> {
    const shown = this.flush();
    this.#paused = true;
    return shown;
  }

  resume(): Promise<unknown> {
    this.#paused = false;
    return this.flush();
  }

  /** What comes after them is about to be shown. */
  flush(): Promise<unknown> {
    if (this.#paused) return Promise.resolve();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const held = [...this.#held.values()];
    this.#held.clear();
    const shown = held.map(({ notice, machines }) => {
      const names = foldNames([...machines]);
      const machine = machines.size < 2 ? names : `${names} (${plural(machines.size, "machine")})`;
      return this.#show({ ...notice, ...(machine === "" ? {} : { machine }) });
    });
    return Promise.all(shown);
  }
}

const GATHERED_MS = 250;

/** `7 of 12 done · web05, web07`. */
export function progressWords({ done, of, waiting }: MachineFinishedEvent): string {
  return [`${done} of ${of} done`, ...(waiting.length === 0 ? [] : [oneLine(waiting.join(", "))])].join(" · ");
}

export function compactNumber(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 10_000) return `${(value / 1000).toFixed(1)}k`;
  if (value < 1_000_000) return `${Math.round(value / 1000)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** What does not fit into a row continues in the next, with the same indent; a long word stays in one piece. */
export function wrapped(lines: readonly string[], columns: number): string[] {
  return lines.flatMap((line) => {
    if (Bun.stringWidth(line) <= columns) return [line];
    const [indent = ""] = /^ */.exec(line) ?? [];
    return Bun.wrapAnsi(line.slice(indent.length), Math.max(10, columns - indent.length))
      .split("\n")
      .map((row) => indent + row);
  });
}

/** 800 → "0.8s", 12400 → "12s", 75000 → "1m15s". */
export function seconds(ms: number): string {
  if (ms < 9950) return `${(ms / 1000).toFixed(1)}s`;
  const total = Math.round(ms / 1000);
  if (total < 60) return `${total}s`;
  if (total < 3600) return `${Math.floor(total / 60)}m${String(total % 60).padStart(2, "0")}s`;
  return `${Math.floor(total / 3600)}h${String(Math.floor((total % 3600) / 60)).padStart(2, "0")}m`;
}

/** Whole seconds only: what a running clock shows. */
export function clock(ms: number): string {
  return ms < 60_000 ? `${Math.floor(ms / 1000)}s` : seconds(Math.floor(ms / 1000) * 1000);
}

/** "just now", "5 min ago", "yesterday": for lists of sessions. */
export function ago(iso: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000);
  if (!Number.isFinite(minutes)) return "";
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${Math.floor(minutes / 1440)} days ago`;
}

/** "Lost connection to api.example.com. Retrying in 0.4s (1/4)". */
export function retryWords({ reason, host, wait_ms, attempt, of }: RetryEvent): string {
  const where = showLine(host);
  const what = showLine(reason).replace(/[.;]$/, "");
  const why = what === "connection broken" ? `Lost connection to ${where}.` : `${where}: ${what}.`;
  return `${why} Retrying in ${seconds(wait_ms)} (${attempt}/${of})`;
}

/** The time of day where the operator is. */
export function timeOfDay(ms: number): string {
  return localTime(new Date(ms)).slice(11);
}

/** Labels with what they mean beside them, or below them where the terminal is too narrow for that. */
export function labelled(rows: readonly StatusRow[], columns: number, label: (text: string) => string): string[] {
  const wide = Math.max(0, ...rows.map((row) => Bun.stringWidth(row.label)));
  const beside = wide + 2 + NARROWEST <= columns;
  const indent = beside ? wide + 2 : 2;
  return rows.flatMap((row) => {
    const lines = row.value
      .split("\n")
      .flatMap((line) => Bun.wrapAnsi(line, Math.max(10, columns - indent), { hard: true }).split("\n"));
    if (!beside) return [label(row.label), ...lines.filter((line) => line !== "").map((line) => `  ${line}`)];
    return lines.map((line, i) => {
      const padding = " ".repeat(i === 0 ? indent - Bun.stringWidth(row.label) : indent);
      return `${i === 0 ? label(row.label) : ""}${padding}${line}`.trimEnd();
    });
  });
}

/** Columns that a meaning needs to be readable beside its label. */
const NARROWEST = 22;

/** The sign that turns while something runs. */
export function spinnerFrame(now: number): string {
  return FRAMES[Math.floor(now / SPINNER_MS) % FRAMES.length]!;
}

const FRAMES = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"];
export const SPINNER_MS = 250;

/** How a target confines the read-only commands that run automatically. */
export function lockWords({ shell, namespace }: Pick<Locks, "shell" | "namespace">): string {
  const first = shell === "bash" ? "in a clean bash" : "in a clean sh (without bash, more commands need approval)";
  switch (namespace.kind) {
    case "making":
      return `${first}; the read-only namespace is being prepared`;
    case "none":
      return `${first}; no read-only namespace: ${namespace.why}`;
    case "ready":
      return `${first}, with every file system read-only${namespace.sealed ? "" : " (root could undo it: no setpriv or capsh)"}`;
  }
}

/** Lines of a command or a difference that are printed above the panel; `v` shows the others. */
export const PRINTED_LINES = 200;
