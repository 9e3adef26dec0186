/** Entries of the record as rows of text, and the machines that were asked for. */
import type { AuditEntry, StoredEntry } from "../../../audit/entry.ts";
import type { Machine } from "../../../audit/record-files.ts";
import { matchNames } from "../../../lib/names.ts";
import { alignColumns, clip } from "../../../lib/text.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { showLine } from "../../../policy/screen/terminal-text.ts";
import { localTime } from "../../../lib/durations.ts";

/** Time, machine, decision or outcome, who decided, and the action. On a terminal a row is one line. */
export function recordRows(entries: readonly StoredEntry[], filtered: boolean): string[] {
  if (entries.length === 0) return [filtered ? "no line of the record matches\n" : "nothing was recorded\n"];
  const rows = entries.map((entry) => [
    timeText(entry.ts),
    showLine(placeOf(entry)),
    showLine(factOf(entry)),
    showLine(entry.kind === "note" ? `${entry.note}: ${entry.detail}` : entry.action),
  ]);
  const columns = isTerminal(1) ? (process.stdout.columns ?? 80) : Infinity;
  return alignColumns(rows, 28).map((line) => `${clip(line, columns)}\n`);
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

/** A record that was tampered with may have any text as its time. */
function timeText(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : localTime(time);
}
