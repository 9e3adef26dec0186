/** A lock between processes that the kernel releases when its holder dies, however it dies. */
import { chmodSync } from "node:fs";
import type { Database } from "bun:sqlite";
import { requirePlainFiles } from "./plain-file.ts";

export interface KernelLock {
  release(): void;
}

/**
 * Tries once; undefined when another process holds it. SQLite's exclusive transaction is an fcntl lock on every platform
 * buddy runs on; a lock file with a pid in it would have to guess whether its writer still lives. The file stays empty,
 * and stays: removing a lock file that another process may just have opened would give two processes the lock.
 */
export async function tryLock(path: string): Promise<KernelLock | undefined> {
  requirePlainFiles(path, `${path}-journal`, `${path}-wal`, `${path}-shm`);
  const { Database } = await import("bun:sqlite");
  let database: Database | undefined;
  try {
    database = new Database(path, { create: true });
    chmodSync(path, 0o600);
    database.run("PRAGMA busy_timeout = 0");
    database.run("BEGIN EXCLUSIVE");
  } catch (error) {
    database?.close();
    if ((error as { code?: string }).code === "SQLITE_BUSY") return undefined;
    throw error;
  }
  const held = database;
  return { release: () => held.close() };
}

/** Waits until the lock is free. */
export async function lock(path: string, signal?: AbortSignal): Promise<KernelLock> {
  for (;;) {
    signal?.throwIfAborted();
    const held = await tryLock(path);
    if (held !== undefined) return held;
    await Bun.sleep(3 + Math.random() * 12);
  }
}
