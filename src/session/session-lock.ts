/** Lets one process at a time use a session; a second one gets an error that names the first. */
import { lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { BuddyError } from "../lib/errors.ts";
import { fileError, readTextStart } from "../lib/files.ts";
import { type KernelLock, tryLock } from "../lib/kernel-lock.ts";

export interface SessionLock {
  release(): void;
}

/** Throws SessionInUse when another process has the session. The kernel releases the lock of a process that died. */
export async function lockSession(directory: string, id: string): Promise<SessionLock> {
  let paths: LockPaths;
  let lock: KernelLock | undefined;
  try {
    paths = lockPaths(directory, id);
    lock = await tryLock(paths.lock);
  } catch (error) {
    throw new BuddyError("session", `cannot lock session ${id}: ${fileError(error)}`, { cause: error });
  }
  const { holder } = paths;
  if (lock === undefined) throw new SessionInUse(id, readHolder(holder));
  writeHolder(holder);
  return {
    release() {
      lock.release();
      try {
        rmSync(holder, { force: true });
      } catch {
        // The directory lost its permissions meanwhile: a holder's name without a lock is ignored.
      }
    },
  };
}

interface LockPaths {
  readonly lock: string;
  /** Names the process that has the lock. */
  readonly holder: string;
}

/** In a directory that is created if it is missing; throws if a link is in its place. */
function lockPaths(directory: string, id: string): LockPaths {
  const locks = join(directory, "..", "locks");
  mkdirSync(locks, { recursive: true, mode: 0o700 });
  if (!lstatSync(locks).isDirectory()) throw new Error(`${locks} is a link`);
  return { lock: join(locks, `${id}.lock`), holder: join(locks, `${id}.holder`) };
}

/** For a session that is removed. */
export function removeLock(directory: string, id: string): void {
  const { lock } = lockPaths(directory, id);
  for (const end of ["", "-journal"]) rmSync(`${lock}${end}`, { force: true });
}

function writeHolder(path: string): void {
  try {
    // A link in its place goes, and what it leads to stays as it is.
    rmSync(path, { force: true });
    writeFileSync(path, `process ${process.pid} on ${hostname()} since ${new Date().toISOString()}\n`, {
      flag: "wx",
      mode: 0o600,
    });
  } catch {
    // A full disk: the lock works without it.
  }
}

export class SessionInUse extends BuddyError {
  readonly id: string;

  constructor(id: string, holder: string) {
    super("session", `session ${id} is in use by ${holder}`, {
      hint: `Quit the other buddy first, or continue in a copy: buddy resume ${id} --fork, buddy exec --resume ${id} --fork`,
    });
    this.id = id;
  }
}

function readHolder(path: string): string {
  try {
    const name = lstatSync(path).isFile() ? readTextStart(path, 200).text.trim() : "";
    return name || "another process";
  } catch {
    return "another process";
  }
}
