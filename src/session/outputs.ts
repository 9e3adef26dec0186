/**
 * What a session keeps in addition to its log: full outputs of commands, and files as they were before a change; in the
 * state directory, for their owner alone.
 */
import { chmodSync, copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileError, filesIn, linkOrCopy } from "../lib/files.ts";
import { isSessionId } from "./ids.ts";

/** Outputs of a session that was not used for so long are removed, and the contents of files that it changed. */
const KEPT_MS = 14 * 24 * 3600 * 1000;

/** Not next to the log: the working directory is what commands search, pack and copy. */
export function outputsDirectory(stateDirectory: string, session: string): string {
  return join(stateDirectory, "outputs", session);
}

/** Where the files that a session changed are kept as they were. */
export function changesDirectory(stateDirectory: string, session: string): string {
  return join(stateDirectory, "changes", session);
}

/** Old outputs are emptied, their names stay: an id that was used once must not come to mean another text. */
export function prepareOutputs(directory: string): void {
  prepare(directory, (file) => {
    if (statSync(file).size === 0) return;
    rmSync(file);
    writeFileSync(file, "", { mode: 0o600 });
  });
}

/** Old contents are removed, the journals stay: what was changed can still be listed. */
export function prepareChanges(directory: string): void {
  prepare(directory, (file) => {
    if (isContent(file)) rmSync(file);
  });
}

/** Makes it, for its owner alone. A new one is the occasion to clean up after sessions that were not used for long. */
function prepare(directory: string, cleanUp: (file: string) => void): void {
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 });
  const all = dirname(directory);
  for (const one of [all, directory]) if ((statSync(one).mode & 0o077) !== 0) chmodSync(one, 0o700);
  if (made === undefined) return;
  const before = Date.now() - KEPT_MS;
  for (const session of filesIn(all)) {
    const old = join(all, session);
    try {
      if (old === directory || !isSessionId(session) || statSync(old).mtimeMs > before) continue;
      for (const name of filesIn(old)) cleanUp(join(old, name));
    } catch {
      // Another process removes it, or it cannot be written: the next new session tries again.
    }
  }
}

/** The same text under another session's id; says what went wrong. */
export function copyOutputs(stateDirectory: string | undefined, from: string, to: string): string | undefined {
  if (stateDirectory === undefined) return undefined;
  const directories = [outputsDirectory(stateDirectory, from), outputsDirectory(stateDirectory, to)] as const;
  return copyFiles(...directories, prepareOutputs, linkOrCopy, "earlier outputs cannot be read in the copy");
}

/** A copy of a session can undo what the original did; says what went wrong. */
export function copyChanges(stateDirectory: string | undefined, from: string, to: string): string | undefined {
  if (stateDirectory === undefined) return undefined;
  const directories = [changesDirectory(stateDirectory, from), changesDirectory(stateDirectory, to)] as const;
  // The journal grows in each on its own; contents never change.
  const copy = (file: string, as: string) => (isContent(file) ? linkOrCopy(file, as) : copyFileSync(file, as));
  return copyFiles(...directories, prepareChanges, copy, "earlier changes cannot be undone in the copy");
}

function copyFiles(
  from: string,
  to: string,
  prepareCopy: (directory: string) => void,
  copy: (file: string, as: string) => void,
  problem: string,
): string | undefined {
  try {
    const names = filesIn(from);
    if (names.length > 0) prepareCopy(to);
    for (const name of names) copy(join(from, name), join(to, name));
    return undefined;
  } catch (error) {
    return `${problem}: ${fileError(error)}`;
  }
}

/** Outputs and changes of a session that is removed. */
export function removeKept(stateDirectory: string | undefined, session: string): void {
  if (stateDirectory === undefined || !isSessionId(session)) return;
  for (const directory of [outputsDirectory(stateDirectory, session), changesDirectory(stateDirectory, session)])
    rmSync(directory, { recursive: true, force: true });
}

/** Contents are named after their SHA-256. */
function isContent(file: string): boolean {
  return /^[0-9a-f]{64}$/.test(basename(file));
}
