/** A lock between processes that the kernel releases when its holder dies, however it dies. */
import { closeSync, fchmodSync, lstatSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Database } from "bun:sqlite";
import { hasEnded, processMark } from "./processes.ts";
import { requirePlainFiles } from "./files.ts";

export interface KernelLock {
  release(): void;
}

/**
 * Tries once; undefined when another process holds the lock. SQLite's exclusive transaction is an fcntl lock on every
 * platform buddy runs on; with a pid in a lock file we would have to guess whether its writer still runs. The file
 * stays empty and is never removed: another process may just have opened it, and then two would hold the lock.
 */
export async function tryLock(path: string): Promise<KernelLock | undefined> {
  requireOwnFiles(path);
  const held = await tryDatabase(path);
  if (held !== undefined || (await locksWork(path))) return held;
  return tryLockFile(path);
}

/** A lock that is taken many times: its file stays open, because opening it is most of the work. */
export class StandingLock {
  readonly #path: string;
  #open: { readonly database: Database; readonly inode: number | undefined; held: boolean } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Waits until it is free; `ms`: not longer. */
  async take(ms?: number): Promise<KernelLock> {
    const held = await this.#try();
    return held ?? untilHeld(() => this.#try(), ms === undefined ? undefined : AbortSignal.timeout(ms));
  }

  close(): void {
    this.#open?.database.close();
    this.#open = undefined;
  }

  async #try(): Promise<KernelLock | undefined> {
    const open = (this.#open ??= await openStanding(this.#path));
    const { database, inode } = open;
    if (!begin(database, open.held)) return (await locksWork(this.#path)) ? undefined : tryLockFile(this.#path);
    open.held = true;
    if (inode === inodeOf(this.#path)) return { release: () => database.run("ROLLBACK") };
    // A lock on a removed file excludes no other process.
    this.close();
    return undefined;
  }
}

async function openStanding(path: string) {
  requireOwnFiles(path);
  const database = await openDatabase(path);
  return { database, inode: inodeOf(path), held: false };
}

function inodeOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}

function requireOwnFiles(path: string): void {
  requirePlainFiles(path, `${path}-journal`, `${path}-wal`, `${path}-shm`);
}

async function tryDatabase(path: string): Promise<KernelLock | undefined> {
  const database = await openDatabase(path);
  const release = () => database.close();
  try {
    if (begin(database)) return { release };
  } catch (error) {
    release();
    throw error;
  }
  release();
  return undefined;
}

async function openDatabase(path: string): Promise<Database> {
  const { Database } = await import("bun:sqlite");
  createEmpty(path);
  const database = new Database(path, { create: true });
  try {
    database.run("PRAGMA busy_timeout = 0");
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/** For its owner alone. One that exists is left as it is: with a hard link, the mode is that of another file, too. */
function createEmpty(path: string): void {
  if (inodeOf(path) !== undefined) return;
  try {
    const file = openSync(path, "wx");
    fchmodSync(file, 0o600); // whatever the umask is
    closeSync(file);
  } catch {
    // Another process was faster, or SQLite, which opens it next, reports the same.
  }
}

/** False: another process has the lock, or the file system has no locks. `before`: this connection has held it. */
function begin(database: Database, before = false): boolean {
  try {
    // Nothing is written, so a journal file would only be created and removed each time.
    if (!before) database.run("PRAGMA journal_mode = MEMORY");
    database.run("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    // File systems without locks differ: SQLite reports ENOLCK as busy, ENOSYS (Lustre) and others as I/O errors.
    if (/^SQLITE_(?:BUSY|IOERR_\w*LOCK)$/.test((error as { code?: string }).code ?? "")) return false;
    throw error;
  }
}

const working = new Map<string, boolean>();

/** Locking a file that no other process uses shows whether the file system has locks at all. */
async function locksWork(path: string): Promise<boolean> {
  const directory = path.slice(0, path.lastIndexOf("/"));
  const known = working.get(directory);
  if (known !== undefined) return known;
  const probe = `${path}.${process.pid}`;
  try {
    const lock = await tryDatabase(probe);
    lock?.release();
    const said = [...working.values()].includes(false);
    working.set(directory, lock !== undefined);
    if (lock === undefined && !said) {
      const { log } = await import("./log.ts");
      log.warn(`${directory} has no file locks (NFS without lockd?); buddy uses files with process ids instead`);
    }
    return lock !== undefined;
  } finally {
    for (const end of ["", "-journal"]) rmSync(`${probe}${end}`, { force: true });
  }
}

/** The fallback: a file that only one process can create. A killed process leaves it, so its owner is checked. */
function tryLockFile(path: string): KernelLock | undefined {
  const file = `${path}.pid`;
  const release = () => rmSync(file, { force: true });
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      writeFileSync(file, `${processMark()} ${hostName()} ${boot()}\n`, { flag: "wx", mode: 0o600 });
      return { release };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const [mark = "", host, bootOf] = readHolder(file);
    // It may run on another machine, where we cannot check it. An empty file is from one that was killed at once.
    if (mark === "" ? !isOld(file) : host !== hostName() || (bootOf === boot() && !hasEnded(mark))) return undefined;
    release();
  }
  return undefined;
}

function isOld(file: string): boolean {
  const modified = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return modified !== undefined && Date.now() - modified > 10_000;
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

/** Changes with each boot, after which a pid means nothing. */
function boot(): string {
  return readHolder("/proc/sys/kernel/random/boot_id")[0] || "0";
}

/** Waits until the lock is free. */
export function lock(path: string, signal?: AbortSignal): Promise<KernelLock> {
  return untilHeld(() => tryLock(path), signal);
}

async function untilHeld(
  attempt: () => Promise<KernelLock | undefined>,
  signal: AbortSignal | undefined,
): Promise<KernelLock> {
  for (;;) {
    signal?.throwIfAborted();
    const held = await attempt();
    if (held !== undefined) return held;
    await Bun.sleep(3 + Math.random() * 12);
  }
}
