/** `buddy audit`: show or verify the record of decisions and effects. */
import type { AuditEntry, StoredEntry } from "../../../audit/entry.ts";
import type { Machine } from "../../../audit/record-files.ts";
import { DURATION_FORMAT, localTime, parseDuration } from "../../../lib/durations.ts";
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import { fileError } from "../../../lib/files.ts";
import { matchNames } from "../../../lib/names.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { alignColumns, clip, plural, printable } from "../../../lib/text.ts";
import { stateDirectory } from "../../../lib/user-directories.ts";
import { showLine } from "../../../policy/screen/terminal-text.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "audit",
  args: {
    action: {
      type: "positional",
      required: false,
      choices: ["list", "verify"],
      description: "list (default), or verify that nothing was changed, removed or reordered",
    },
    on: {
      type: "string",
      valueHint: "WHAT",
      description: "only these machines: names, groups, hosts, labels, with * and ?, a list with commas",
    },
    since: {
      type: "string",
      valueHint: "7d|DATE",
      check: readSince,
      description: "only entries since then: a duration, or a date such as 2026-03-01",
    },
    session: { type: "string", valueHint: "ID", description: "only this session, by its id or the beginning of it" },
    json: { type: "boolean", description: "one JSON object per line; verify: one object" },
  },
  examples: [
    ["buddy audit --since 7d", "what was decided and done this week"],
    ["buddy audit --on 'web*' --json | jq -r 'select(.by == \"operator\").action'", "what you approved on them"],
    ["buddy audit verify", "exit code 1 and the bad line if the record is not intact"],
  ],
  notes: `
One line for each decision and each effect. After approved or denied comes what
decided: auto (it only reads), rule (your configuration), you, always, prefix
(an earlier always), mode (--approve), policy, hook, dry-run, timeout,
cancelled, or no-terminal (there was none to ask on).`,
  async run({ args: { action = "list", on, since, session, json } }) {
    const directory = stateDirectory();
    if (directory === undefined)
      throw new BuddyError("config", "HOME is not set, so there is no record to read", {
        hint: "Set HOME, or XDG_STATE_HOME to an absolute path.",
      });
    if (action === "verify") {
      const given = Object.entries({ on, since, session }).find(([, value]) => value !== undefined)?.[0];
      if (given !== undefined) throw new BuddyError("usage", `--${given} cannot be combined with verify`);
      return await reading(directory, () => verify(directory, json === true));
    }
    const from = since === undefined ? {} : { since: readSince(since, "--since") };
    const filter = { ...from, ...(session === undefined ? {} : { session }) };
    return await reading(directory, () => list(directory, on, filter, json === true));
  },
});

async function list(
  directory: string,
  on: string | undefined,
  filter: { readonly since?: number; readonly session?: string },
  json: boolean,
): Promise<ExitCode> {
  const { readRecord } = await import("../../../audit/record-files.ts");
  const wanted = { ...filter, ...(on === undefined ? {} : { machine: machineMatcher(on) }) };
  const found = readRecord(directory, wanted);
  const filtered = Object.keys(wanted).length > 0;
  await print(json ? found.map((entry) => jsonText(entry)) : recordRows([...found], filtered));
  return EXIT.ok;
}

async function verify(directory: string, json: boolean): Promise<ExitCode> {
  const { verifyRecord } = await import("../../../audit/record-files.ts");
  const found = verifyRecord(directory);
  const { lines, files, from, to, findings, unfinished } = found;
  if (json) await print([jsonText({ whole: findings.length === 0, ...found })]);
  else {
    const span =
      lines === 0
        ? "the record is empty"
        : `${plural(lines, "line")} in ${plural(files, "file")}, ${from ?? "?"} to ${to ?? "?"}`;
    const rows = findings
      .slice(0, MOST_FINDINGS)
      .map(({ file, line, text }) => `${file}${line === undefined ? "" : ` line ${line}`}: ${text}`);
    if (findings.length > MOST_FINDINGS) rows.push(`… and ${findings.length - MOST_FINDINGS} more`);
    const verdict = findings.length === 0 ? `intact: ${span}` : `NOT INTACT: ${span}`;
    const torn = unfinished ? ["the last line is not finished: a write was interrupted; the next one repairs it"] : [];
    await print([...rows, ...torn, verdict].map((row) => `${printable(row)}\n`));
  }
  return findings.length === 0 ? EXIT.ok : EXIT.failure;
}

async function reading(directory: string, work: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BuddyError || (error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new BuddyError("session", `the record in ${directory} cannot be read: ${fileError(error)}`, { cause: error });
  }
}

/** Milliseconds since the epoch. A day begins where the operator is, as in the list. */
function readSince(value: string, flag: string): number {
  const span = parseDuration(value);
  const day = /^\d{4}-\d\d-\d\d$/.test(value);
  const at = span === undefined ? Date.parse(day ? `${value}T00:00` : value) : Date.now() - span;
  if (Number.isNaN(at))
    throw new BuddyError("usage", `${flag} must be ${DURATION_FORMAT}, or a date such as 2026-03-01, not "${value}"`);
  return at;
}

const MOST_FINDINGS = 20;

// ── Entries of the record as rows of text, and the machines that were asked for.

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
function machineMatcher(what: string): (machine: Machine) => boolean {
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
