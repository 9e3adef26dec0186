/** A line of the record for the log of the machine it is about: `logger -t buddy`. */
import type { AuditEntry } from "./entry.ts";
import { shorten } from "../lib/text.ts";

/** Started and left alone: a system log that hangs holds up nothing. */
export const JOURNAL_SCRIPT = `command -v logger >/dev/null 2>&1 || exit 127
( logger -t buddy -- "$1" </dev/null >/dev/null 2>&1 & ) </dev/null >/dev/null 2>&1`;

/** One line of printable text, short enough for system logs. */
export function journalLine(entry: AuditEntry): string {
  if (entry.kind === "note") return `note=${entry.note} ${quoted(entry.detail)}`;
  const { session, user, login_user: login, tool, action } = entry;
  const about = [
    `session=${session}`,
    `user=${quoted(login === undefined ? user : `${user} (${login})`)}`,
    `tool=${tool}`,
  ];
  const fact =
    entry.kind === "decision"
      ? [entry.decision, `by=${entry.by}`]
      : [entry.outcome, ...(entry.exit_code === undefined ? [] : [`exit=${entry.exit_code}`])];
  return [fact[0], ...about, ...fact.slice(1), `action=${quoted(action)}`].join(" ");
}

function quoted(text: string): string {
  return JSON.stringify(
    shorten(text, MOST_TEXT).replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "?"),
  );
}

const MOST_TEXT = 700;
