/** Where the full outputs of a session's commands are kept: in the state directory, for their owner alone. */
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileError, linkOrCopy, filesIn } from "../lib/files.ts";
import { isSessionId } from "./ids.ts";

/** Outputs of a session that was not used for so long are removed, and the contents of files that it changed. */
export const KEPT_MS = 14 * 24 * 3600 * 1000;

/** Not beside the log: the working directory is what commands search, pack and copy. */
export function outputsDirectory(stateDirectory: string, session: string): string {
  return join(stateDirectory, "outputs", session);
}

export function prepareOutputs(directory: string): void {
  if (prepareDirectory(directory)) giveUpOld(dirname(directory), basename(directory));
}

/** Makes it, for its owner alone; true when it is new. */
export function prepareDirectory(directory: string): boolean {
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const one of [dirname(directory), directory]) if ((statSync(one).mode & 0o077) !== 0) chmodSync(one, 0o700);
  return made !== undefined;
}

/** The same text under another session's id; says what went wrong. */
export function copyOutputs(stateDirectory: string | undefined, from: string, to: string): string | undefined {
  if (stateDirectory === undefined) return undefined;
  const original = outputsDirectory(stateDirectory, from);
  const copy = outputsDirectory(stateDirectory, to);
  try {
    const names = filesIn(original);
    if (names.length > 0) prepareOutputs(copy);
    for (const name of names) linkOrCopy(join(original, name), join(copy, name));
    return undefined;
  } catch (error) {
    return `earlier outputs cannot be read in the copy: ${fileError(error)}`;
  }
}

export function removeOutputs(stateDirectory: string | undefined, session: string): void {
  if (stateDirectory === undefined || !isSessionId(session)) return;
  rmSync(outputsDirectory(stateDirectory, session), { recursive: true, force: true });
}

/** The names stay, empty: an id that was used once must not come to mean another text. */
function giveUpOld(outputs: string, except: string): void {
  const before = Date.now() - KEPT_MS;
  for (const session of filesIn(outputs)) {
    const directory = join(outputs, session);
    try {
      if (session === except || !isSessionId(session) || statSync(directory).mtimeMs > before) continue;
      for (const file of filesIn(directory).map((name) => join(directory, name))) {
        if (statSync(file).size === 0) continue;
        rmSync(file);
        writeFileSync(file, "", { mode: 0o600 });
      }
    } catch {
      // Somebody removes it, or it cannot be written: the next new session comes by again.
    }
  }
}
