/**
 * Where sessions are stored: in the working directory, or in the state directory when that cannot be written; and a
 * list of all directories that have sessions.
 */
import { isByProcess } from "../lib/byte-names.ts";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  statSync,
  writeFileSync,
  appendFileSync,
  readFileSync,
} from "node:fs";
import { dirname, join, isAbsolute } from "node:path";

interface SessionDirectory {
  /** Contains one `<id>.jsonl` per session. */
  readonly directory: string;
  /** Why it is not the usual place. */
  readonly notice?: string;
  /** `directory` cannot be written either. */
  readonly unwritable?: true;
  /** The usual directory, if it has sessions that can be read but not written. */
  readonly readOnly?: string;
}

/** Creates nothing; `prepare` creates the directory when the first line is written. */
export function sessionDirectory(cwd: string, stateDirectory: string | undefined): SessionDirectory {
  const current = join(cwd, ".buddyx");
  const legacy = join(cwd, ".agentx");
  const root = !isDirectory(current) && isDirectory(legacy) ? legacy : current;
  if (isUsable(root, cwd)) return { directory: join(root, "sessions") };
  const why = `${root.slice(join(cwd, "/").length)} cannot be used in ${cwd}`;
  if (stateDirectory === undefined)
    return {
      directory: join(root, "sessions"),
      notice: `${why}, and there is no home directory: sessions are not saved`,
      unwritable: true,
    };
  const directory = join(stateDirectory, "sessions");
  const stored = join(root, "sessions");
  const readOnly = isDirectory(root) && isDirectory(stored) ? { readOnly: stored } : {};
  if (!canBeMade(directory))
    return {
      directory,
      notice: `${why}, and ${directory} cannot be written: sessions are not saved`,
      unwritable: true,
    };
  return { directory, notice: `${why}; sessions are saved in ${directory}`, ...readOnly };
}

/** Creates the directory for its owner alone, with a .gitignore so that no session is ever committed. */
export function prepare(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if ((statSync(directory).mode & 0o077) !== 0) chmodSync(directory, 0o700);
  const ignore = join(directory, "..", ".gitignore");
  // It usually exists, and an exception takes longer than this check.
  if (existsSync(ignore)) return;
  try {
    writeFileSync(ignore, "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Writable and without links, which could lead the log anywhere. */
function isUsable(root: string, cwd: string): boolean {
  try {
    const itself = lstatSync(root, { throwIfNoEntry: false });
    accessSync(itself === undefined ? cwd : root, constants.W_OK);
    const sessions = lstatSync(join(root, "sessions"), { throwIfNoEntry: false });
    return (itself?.isDirectory() ?? true) && (sessions?.isDirectory() ?? true);
  } catch {
    return false;
  }
}

/** Whether it, or the nearest existing directory above it, can be written. */
function canBeMade(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || directory === dirname(directory)) return false;
    return canBeMade(dirname(directory));
  }
}

/** False also where permission is denied. */
function isDirectory(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

// The list of directories that have sessions, for `buddy sessions --all`.

/** Best effort: a session that is not listed still works. */
export function rememberDirectory(stateDirectory: string | undefined, directory: string): void {
  if (stateDirectory === undefined || directory.includes("\n") || isByProcess(directory)) return;
  try {
    if (`\n${listed(stateDirectory)}`.includes(`\n${directory}\n`)) return;
    mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
    appendFileSync(join(stateDirectory, FILE), `${directory}\n`, { mode: 0o600 });
  } catch {
    // The outputs report a state directory that cannot be written.
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
