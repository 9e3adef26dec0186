/** Reads the record back: the entries of some machines, since some time, of one session. */
import type { StoredEntry } from "./entry.ts";
import { readLine } from "./chain.ts";
import { linesOf, recordFiles } from "./record-files.ts";

export interface RecordFilter {
  /** Whether an entry is about a machine that was asked for. */
  readonly machine?: (entry: Machine) => boolean;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  /** Id of a session, or its beginning. */
  readonly session?: string;
}

export interface Machine {
  readonly target: string;
  readonly names?: readonly string[];
  readonly host?: string;
  readonly machine?: string;
  readonly label?: string;
}

/** In the order they were written. A line that cannot be read is passed over: `buddy audit verify` names it. */
export function* readRecord(directory: string, filter: RecordFilter = {}): Generator<StoredEntry> {
  for (const file of recordFiles(directory)) {
    for (const { text } of linesOf(file)) {
      const entry = readLine(text, undefined)?.entry;
      if (entry !== undefined && wanted(entry, filter)) yield entry;
    }
  }
}

function wanted(entry: StoredEntry, { machine, since, session }: RecordFilter): boolean {
  if (since !== undefined && Date.parse(entry.ts) < since) return false;
  if (entry.kind === "note") return machine === undefined && session === undefined;
  if (session !== undefined && !entry.session.startsWith(session)) return false;
  return machine === undefined || machine(entry);
}
