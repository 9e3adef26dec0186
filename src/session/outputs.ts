/**
 * What a session stores besides its log: full outputs of commands, and files as they were before a change; in the state
 * directory, readable only by the owner.
 */
import { chmodSync, copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileError, filesIn, linkOrCopy } from "../lib/files.ts";

/** Outputs, and contents of changed files, of a session that was unused for this long are removed. */
const KEPT_MS = 14 * 24 * 3600 * 1000;

/** Not next to the log: commands search, pack and copy the working directory. */
export function outputsDirectory(stateDirectory: string, session: string): string {
  return join(stateDirectory, "outputs", session);
}

/** Where files that a session changed are stored as they were before. */
export function changesDirectory(stateDirectory: string, session: string): string {
  return join(stateDirectory, "changes", session);
}

/** Old outputs are emptied, not removed: an id must never be used for another text. */
export function prepareOutputs(directory: string): void {
  prepare(directory, (file) => {
    if (statSync(file).size === 0) return;
    rmSync(file);
    writeFileSync(file, "", { mode: 0o600 });
  });
}

/** Old contents are removed, journals are not: the changes can still be listed. */
export function prepareChanges(directory: string): void {
  prepare(directory, (file) => {
    if (isContent(file)) rmSync(file);
  });
}

/** Creates it for the owner alone. A new one also triggers the clean-up of long unused sessions. */
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
      // Another process is removing it, or it cannot be written: the next new session tries again.
    }
  }
}

/** For a copy of a session; returns what went wrong. */
export function copyOutputs(stateDirectory: string | undefined, from: string, to: string): string | undefined {
  if (stateDirectory === undefined) return undefined;
  const directories = [outputsDirectory(stateDirectory, from), outputsDirectory(stateDirectory, to)] as const;
  return copyFiles(...directories, prepareOutputs, linkOrCopy, "earlier outputs cannot be read in the copy");
}

/** For a copy of a session, which can undo what the original did; returns what went wrong. */
export function copyChanges(stateDirectory: string | undefined, from: string, to: string): string | undefined {
  if (stateDirectory === undefined) return undefined;
  const directories = [changesDirectory(stateDirectory, from), changesDirectory(stateDirectory, to)] as const;
  // Each session appends to its own journal; contents never change.
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

/** For a session that is removed. */
export function removeKept(stateDirectory: string | undefined, session: string): void {
  if (stateDirectory === undefined || !isSessionId(session)) return;
  for (const directory of [outputsDirectory(stateDirectory, session), changesDirectory(stateDirectory, session)])
    rmSync(directory, { recursive: true, force: true });
}

/** Contents have their SHA-256 as their name. */
function isContent(file: string): boolean {
  return /^[0-9a-f]{64}$/.test(basename(file));
}

/** Session ids: four groups of four random hex digits. */
export function newSessionId(): string {
  // Not all digits in the middle of a UUID are random.
  const id = crypto.randomUUID();
  return [id.slice(0, 4), id.slice(4, 8), id.slice(-8, -4), id.slice(-4)].join("-");
}

export function isSessionId(text: string): boolean {
  return /^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/.test(text);
}
