/** A lock between processes that the kernel releases when its holder dies, however it dies. */
import { chmodSync, closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import type { Database } from "bun:sqlite";
import { isAlive } from "./is-alive.ts";
import { requirePlainFiles } from "./files.ts";

export interface KernelLock {
  release(): void;
}

/**
 * Tries once; undefined when another process holds it. SQLite's exclusive transaction is an fcntl lock on every
 * platform buddy runs on; a lock file with a pid in it would have to guess whether its writer still lives. The file
 * stays empty, and stays: removing a lock file that another process may just have opened would give two processes the
 * lock.
 */
export async function tryLock(path: string): Promise<KernelLock | undefined> {
  requirePlainFiles(path, `${path}-journal`, `${path}-wal`, `${path}-shm`);
  const held = await tryDatabase(path);
  if (held !== undefined || (await locksWork(path))) return held;
  return tryLockFile(path);
}

async function tryDatabase(path: string): Promise<KernelLock | undefined> {
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

const working = new Map<string, boolean>();

/**
 * SQLite calls a file system without locks (NFS without lockd: ENOLCK) busy, too. A file that only we know shows which
 * it is.
 */
async function locksWork(path: string): Promise<boolean> {
  const directory = path.slice(0, path.lastIndexOf("/"));
  const known = working.get(directory);
  if (known !== undefined) return known;
  const probe = `${path}.${process.pid}`;
  try {
    const lock = await tryDatabase(probe);
    lock?.release();
    working.set(directory, lock !== undefined);
    if (lock === undefined) {
      const { log } = await import("./log.ts");
      log.warn(`${directory} has no file locks (NFS without lockd?); buddy uses files with process ids instead`);
    }
    return lock !== undefined;
  } finally {
    for (const end of ["", "-journal"]) rmSync(`${probe}${end}`, { force: true });
  }
}

/** Second best: a file that only one can create. It stays when its process is killed, so that has to be found out. */
function tryLockFile(path: string): KernelLock | undefined {
  const file = `${path}.pid`;
  const release = () => rmSync(file, { force: true });
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const fd = openSync(file, "wx", 0o600);
      writeSync(fd, `${process.pid} ${hostName()}\n`);
      closeSync(fd);
      return { release };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const [pid = "", host] = readHolder(file);
    // Of another machine nothing is known: its buddy may well be at work.
    if (host !== hostName() || isAlive(Number(pid))) return undefined;
    release();
  }
  return undefined;
}

function readHolder(file: string): string[] {
  try {
    return readFileSync(file, "utf8").trim().split(" ");
  } catch {
    return [];
  }
}

function hostName(): string {
  return readHolder("/proc/sys/kernel/hostname")[0] || process.env["HOSTNAME"] || "this-machine";
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
