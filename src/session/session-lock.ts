/** Keeps a session to one process: a second one is informed who has it. */
import { closeSync, constants, lstatSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { BuddyError } from "../lib/errors.ts";
import { fileError } from "../lib/files.ts";
import { type KernelLock, tryLock } from "../lib/kernel-lock.ts";

export interface SessionLock {
  release(): void;
}

/** Throws SessionHeld when another process has the session. A lock whose process died is free by itself. */
export async function lockSession(directory: string, id: string): Promise<SessionLock> {
  const locks = join(directory, "..", "locks");
  const holder = join(locks, `${id}.holder`);
  let lock: KernelLock | undefined;
  try {
    lock = await tryLock(lockFile(directory, id));
  } catch (error) {
    throw new BuddyError("session", `cannot lock session ${id}: ${fileError(error)}`, { cause: error });
  }
  if (lock === undefined) throw new SessionHeld(id, lockHolder(holder));
  nameHolder(holder);
  return {
    release() {
      lock.release();
      try {
        rmSync(holder, { force: true });
      } catch {
        // The directory lost its permissions meanwhile: the name of a holder without a lock means nothing.
      }
    },
  };
}

/**
 * The lock file of a session, in a directory that is made when it is missing. Throws where there is a link in the way.
 */
function lockFile(directory: string, id: string): string {
  const locks = join(directory, "..", "locks");
  mkdirSync(locks, { recursive: true, mode: 0o700 });
  if (!lstatSync(locks).isDirectory()) throw new Error(`${locks} is a link`);
  return join(locks, `${id}.lock`);
}

/** Removes what a lock left; of a session that is itself removed. */
export function removeLock(directory: string, id: string): void {
  const path = lockFile(directory, id);
  for (const end of ["", "-journal"]) rmSync(`${path}${end}`, { force: true });
}

const NEW_TEXT = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

function nameHolder(path: string): void {
  try {
    const file = openSync(path, NEW_TEXT, 0o600);
    try {
      writeSync(file, `process ${process.pid} on ${hostname()} since ${new Date().toISOString()}\n`);
    } finally {
      closeSync(file);
    }
  } catch {
    // A full disk, or a link in its place: the lock holds all the same.
  }
}

export class SessionHeld extends BuddyError {
  readonly id: string;

  constructor(id: string, holder: string) {
    super("session", `session ${id} is in use by ${holder}`, {
      hint: `Quit the other buddy first, or continue in a copy: buddy resume ${id} --fork, buddy exec --resume ${id} --fork`,
    });
    this.id = id;
  }
}

function lockHolder(holder: string): string {
  try {
    if (!lstatSync(holder).isFile()) return "another process";
    return readFileSync(holder, "utf8").slice(0, 200).trim() || "another process";
  } catch {
    return "another process";
  }
}
