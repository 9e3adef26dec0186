import { afterEach, beforeEach, expect, test } from "bun:test";
import { linkSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openForLines } from "../../src/lib/files.ts";
import { StandingLock, tryLock } from "../../src/lib/kernel-lock.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "buddy-lock-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const path = () => join(directory, "lock");
const lockOf = () => {
  const standing = new StandingLock(path());
  return { take: (ms?: number) => standing.take(ms), [Symbol.dispose]: () => standing.close() };
};

test("a standing lock keeps others out while it is taken, each time, and leaves no other file", async () => {
  using one = lockOf();
  for (let round = 0; round < 3; round++) {
    const held = await one.take();
    expect(await tryLock(path())).toBeUndefined();
    expect(readdirSync(directory)).toEqual(["lock"]);
    held.release();
    const other = await tryLock(path());
    expect(other).toBeDefined();
    other?.release();
  }
});

test("a standing lock waits for its holder", async () => {
  using one = lockOf();
  using other = lockOf();
  (await one.take()).release();
  const held = await other.take();
  const order: string[] = [];
  const waiting = one.take().then((lock) => (order.push("taken"), lock));
  // An attempt from its beginning to its end: the first one of the other is over, too.
  expect(await tryLock(path())).toBeUndefined();
  order.push("released");
  held.release();
  (await waiting).release();
  expect(order).toEqual(["released", "taken"]);
});

test("a standing lock whose file was removed is taken on the new one", async () => {
  using one = lockOf();
  (await one.take()).release();
  rmSync(path());
  const other = await tryLock(path());
  await expect(one.take(50)).rejects.toThrow();
  other?.release();
  const held = await one.take();
  expect(await tryLock(path())).toBeUndefined();
  held.release();
});

test("a standing lock does not follow a link", async () => {
  using one = lockOf();
  (await one.take()).release();
  rmSync(path());
  symlinkSync(join(directory, "elsewhere"), path());
  await expect(one.take()).rejects.toThrow("is a link");
  expect(readdirSync(directory)).toEqual(["lock"]);
});

test("a lock with another name changed the mode of that file", async () => {
  const other = join(directory, "other");
  writeFileSync(other, "", { mode: 0o644 });
  linkSync(other, path());
  (await tryLock(path()))?.release();
  expect(statSync(other).mode & 0o777).toBe(0o644);
  rmSync(path());
  const before = process.umask(0o777);
  try {
    (await tryLock(path()))?.release();
  } finally {
    process.umask(before);
  }
  expect(statSync(path()).mode & 0o777).toBe(0o600);
});

test("lines are not added to a file of another name that others can read", () => {
  const other = join(directory, "other");
  writeFileSync(other, "", { mode: 0o644 });
  linkSync(other, path());
  expect(() => openForLines(path())).toThrow("hard link");
  expect(statSync(other).mode & 0o777).toBe(0o644);
});
