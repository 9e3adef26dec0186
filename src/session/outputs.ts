/**
 * What a session keeps in addition to its log: full outputs of commands, and files as they were before a change; in the
 * state directory, for their owner alone.
 */
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync, copyFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileError, linkOrCopy, filesIn } from "../lib/files.ts";
import { isSessionId } from "./ids.ts";

/** Outputs of a session that was not used for so long are removed, and the contents of files that it changed. */
const KEPT_MS = 14 * 24 * 3600 * 1000;

/** Not next to the log: the working directory is what commands search, pack and copy. */
export function outputsDirectory(stateDirectory: string, session: string): string {
  return join(stateDirectory, "outputs", session);
}

export function prepareOutputs(directory: string): void {
  if (prepareDirectory(directory)) giveUpOld(dirname(directory), basename(directory));
}

/** Makes it, for its owner alone; true when it is new. */
function prepareDirectory(directory: string): boolean {
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
      // It is being removed, or it cannot be written: the next new session comes by again.
    }
  }
}

/** Where the files that a session changed are kept as they were: in the state directory, for their owner alone. */
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
