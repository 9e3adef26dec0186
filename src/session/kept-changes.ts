/** Where the files that a session changed are kept as they were: in the state directory, for their owner alone. */
import { copyFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileError, linkOrCopy, filesIn } from "../lib/files.ts";
import { isSessionId } from "./ids.ts";
import { KEPT_MS, prepareDirectory } from "./outputs.ts";

export function changesDirectory(stateDirectory: string, session: string): string {
  return join(stateDirectory, "changes", session);
}

export function prepareChanges(directory: string): void {
  if (prepareDirectory(directory)) removeOldContents(join(directory, ".."));
}

/** A copy of a session can undo what the original did; says what went wrong. */
export function copyChanges(stateDirectory: string | undefined, from: string, to: string): string | undefined {
  if (stateDirectory === undefined) return undefined;
  const [original, copy] = [changesDirectory(stateDirectory, from), changesDirectory(stateDirectory, to)];
  try {
    const names = filesIn(original);
    if (names.length > 0) prepareChanges(copy);
    for (const name of names) {
      // The journal grows in each on its own; contents never change.
      if (isContent(name)) linkOrCopy(join(original, name), join(copy, name));
      else copyFileSync(join(original, name), join(copy, name));
    }
    return undefined;
  } catch (error) {
    return `earlier changes cannot be undone in the copy: ${fileError(error)}`;
  }
}

export function removeChanges(stateDirectory: string | undefined, session: string): void {
  if (stateDirectory === undefined || !isSessionId(session)) return;
  rmSync(changesDirectory(stateDirectory, session), { recursive: true, force: true });
}

/** The journals stay: what was changed can still be listed. */
function removeOldContents(changes: string): void {
  const before = Date.now() - KEPT_MS;
  for (const session of filesIn(changes)) {
    const directory = join(changes, session);
    try {
      if (!isSessionId(session) || statSync(directory).mtimeMs > before) continue;
      for (const name of filesIn(directory).filter(isContent)) rmSync(join(directory, name));
    } catch {
      // Another process removes it, or it cannot be written: the next new session tries again.
    }
  }
}

/** Contents are named after their SHA-256. */
function isContent(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}
