/** Directories that hold sessions, so that `buddy sessions --all` finds those of other working directories. */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** Best effort: a session is none the worse for not being listed. */
export function rememberDirectory(stateDirectory: string | undefined, directory: string): void {
  if (stateDirectory === undefined || /[\n\0]/.test(directory)) return;
  try {
    if (knownDirectories(stateDirectory).includes(directory)) return;
    mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
    appendFileSync(join(stateDirectory, FILE), `${directory}\n`, { mode: 0o600 });
  } catch {
    // A state directory that cannot be written is reported where it matters: with the outputs.
  }
}

export function knownDirectories(stateDirectory: string | undefined): string[] {
  if (stateDirectory === undefined) return [];
  try {
    const lines = readFileSync(join(stateDirectory, FILE), "utf8").split("\n");
    return [...new Set(lines.filter((line) => isAbsolute(line)))];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

const FILE = "session-directories";
