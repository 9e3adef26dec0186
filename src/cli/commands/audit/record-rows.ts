/** Entries of the record as rows of text, and the machines that were asked for. */
import type { AuditEntry, StoredEntry } from "../../../audit/entry.ts";
import type { Machine } from "../../../audit/record-files.ts";
import { matchNames } from "../../../lib/names.ts";
import { clip } from "../../../lib/text.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { showLine } from "../../../policy/screen/terminal-text.ts";
import { localTime } from "../../../lib/durations.ts";

/** Time, machine, decision or outcome, who decided, and the action. On a terminal a row is one line. */
export function recordRows(entries: readonly StoredEntry[], filtered: boolean): string[] {
  if (entries.length === 0) return [filtered ? "no line of the record matches\n" : "nothing was recorded\n"];
  const rows = entries.map((entry) => ({
    time: timeText(entry.ts),
    machine: showLine(placeOf(entry)),
    fact: showLine(factOf(entry)),
    action: showLine(entry.kind === "note" ? `${entry.note}: ${entry.detail}` : entry.action),
  }));
  const wide = (texts: readonly string[]) => Math.min(28, Math.max(...texts.map((text) => Bun.stringWidth(text))));
  const [machine, fact] = [wide(rows.map((row) => row.machine)), wide(rows.map((row) => row.fact))];
  const columns = isTerminal(1) ? (process.stdout.columns ?? 80) : Infinity;
  return rows.map((row) => {
    const line = `${row.time}  ${padded(row.machine, machine)}  ${padded(row.fact, fact)}  ${row.action}`;
    return `${clip(line, columns)}\n`;
  });
}

function factOf(entry: AuditEntry): string {
  switch (entry.kind) {
    case "decision":
      return `${entry.decision} ${entry.by === "operator" && entry.tool !== "you" ? "you" : entry.by}`;
    case "effect":
      return entry.exit_code === undefined ? entry.outcome : `exit code ${entry.exit_code}`;
    case "note":
      return "note";
  }
}

function placeOf(entry: AuditEntry): string {
  if (entry.kind === "note") return "-";
  const who = entry.host === undefined ? entry.target : `${entry.target_user ?? "?"}@${entry.host}`;
  return entry.label === undefined ? who : `${who} ${entry.label}`;
}

/** A list of patterns; one of them must fit the name, the host, the label or the machine-id. */
export function machineMatcher(what: string): (machine: Machine) => boolean {
  return ({ target, names = [], host, machine, label }) => {
    const words = target.split(/\s+/);
    const bare = words.map((word) => word.replace(/^[^@]*@/, ""));
    const known = [target, ...words, ...bare, ...names, host, machine, label].filter((name) => name !== undefined);
    return matchNames([what], known).length > 0;
  };
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
}

/** A record that was tampered with may have any text as its time. */
function timeText(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : localTime(time);
}
