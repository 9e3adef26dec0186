/** Keeps a session to one process: the second one is told who has it. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { BuddyError } from "../lib/errors.ts";
import { fileError } from "../lib/file-error.ts";
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
    mkdirSync(locks, { recursive: true, mode: 0o700 });
    lock = await tryLock(join(locks, `${id}.lock`));
  } catch (error) {
    throw new BuddyError("session", `cannot lock session ${id}: ${fileError(error)}`, { cause: error });
  }
  if (lock === undefined) throw new SessionHeld(id, lockHolder(holder));
  try {
    writeFileSync(holder, `process ${process.pid} on ${hostname()} since ${new Date().toISOString()}\n`, {
      mode: 0o600,
    });
  } catch {
    // The lock holds also where the disk is too full to say by whom.
  }
  return {
    release() {
      rmSync(holder, { force: true });
      lock.release();
    },
  };
}

export class SessionHeld extends BuddyError {
  readonly id: string;

  constructor(id: string, holder: string) {
    super("session", `session ${id} is in use by ${holder}`, {
      hint: `Leave that buddy first, or go on in a copy: buddy resume ${id} --fork, buddy exec --resume ${id} --fork`,
    });
    this.id = id;
  }
}

function lockHolder(holder: string): string {
  try {
    return readFileSync(holder, "utf8").trim() || "another process";
  } catch {
    return "another process";
  }
}
