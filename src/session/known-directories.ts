/** Directories that hold sessions, so that `buddy sessions --all` finds those of other working directories. */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** Best effort: a session is none the worse for not being listed. */
export function rememberDirectory(stateDirectory: string | undefined, directory: string): void {
  if (stateDirectory === undefined || directory.includes("\n") || directory.includes("\0")) return;
  try {
    if (`\n${listed(stateDirectory)}`.includes(`\n${directory}\n`)) return;
    mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
    appendFileSync(join(stateDirectory, FILE), `${directory}\n`, { mode: 0o600 });
  } catch {
    // A state directory that cannot be written is reported where it matters: with the outputs.
  }
}

export function knownDirectories(stateDirectory: string | undefined): string[] {
  if (stateDirectory === undefined) return [];
  const lines = listed(stateDirectory).split("\n");
  return [...new Set(lines.filter((line) => isAbsolute(line)))];
}

function listed(stateDirectory: string): string {
  try {
    return readFileSync(join(stateDirectory, FILE), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

const FILE = "session-directories";
