import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { History, HISTORY_ENTRIES } from "../../../src/ui/editor/history.ts";
import { sandbox } from "../../support/buddy.ts";

setDefaultTimeout(60_000);

async function add(path: string, ...entries: string[]): Promise<History> {
  const history = new History(path);
  for (const entry of entries) history.add(entry);
  await history.settled();
  return history;
}

describe("the history file", () => {
  test("is private, without doubles, newest last, and survives backslashes and newlines", async () => {
    using box = sandbox();
    const path = join(box.home, "new/dir/history");
    const entries = ["one", "two\nlines", "C:\\new\\", "back\\\nslash", "one"];
    await add(path, ...entries, "  ");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(
      readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line === "one"),
    ).toHaveLength(1);
    expect(new History(path).entries).toEqual(["two\nlines", "C:\\new\\", "back\\\nslash", "one"]);
  });

  test("keeps the lines of buddies that add at the same moment", async () => {
    using box = sandbox();
    const path = join(box.home, "history");
    const worker = `import { History } from ${JSON.stringify(join(import.meta.dir, "../../../src/ui/editor/history.ts"))};
      const h = new History(process.argv[1]); for (let i = 0; i < 15; i++) h.add(process.argv[2] + " " + i); await h.settled();`;
    const children = ["a", "b", "c"].map((name) => Bun.spawn([process.execPath, "-e", worker, path, name]));
    for (const child of children) expect(await child.exited).toBe(0);
    const { entries } = new History(path);
    for (const name of ["a", "b", "c"]) {
      expect(entries.filter((entry) => entry.startsWith(name))).toEqual(
        Array.from({ length: 15 }, (_, i) => `${name} ${i}`),
      );
    }
  });

  test("is bounded, and long pastes stay out of it", async () => {
    using box = sandbox();
    const path = box.write("home/history", Array.from({ length: HISTORY_ENTRIES + 50 }, (_, i) => `e${i}\n`).join(""));
    const history = await add(path, "newest", "x".repeat(100_000));
    expect(history.entries.at(-1)).toHaveLength(100_000);
    const stored = new History(path).entries;
    expect([stored.length, stored.at(-1)]).toEqual([HISTORY_ENTRIES, "newest"]);
  });

  test.each(["a link", "a pipe"])("%s in its place is neither read nor written", async (what) => {
    using box = sandbox();
    const victim = box.write("home/victim", "precious\n");
    const path = join(box.home, "history");
    if (what === "a link") symlinkSync(victim, path);
    else Bun.spawnSync(["mkfifo", path]);
    const history = await add(path, "typed");
    expect(history.entries).toEqual(["typed"]);
    expect(history.takeFailure()).toBeInstanceOf(Error);
    expect(readFileSync(victim, "utf8")).toBe("precious\n");
  });

  test("a damaged or unreadable file does not get in the way; a failure is reported once", async () => {
    using box = sandbox();
    const path = box.write("home/history", "\0\xff\nok\n");
    expect(new History(path).entries.at(-1)).toBe("ok");
    const blocked = join(path, "history");
    const history = await add(blocked, "kept in memory");
    expect(history.entries).toEqual(["kept in memory"]);
    expect(history.takeFailure()).toBeInstanceOf(Error);
    expect(history.takeFailure()).toBeUndefined();
    writeFileSync(path, "");
    chmodSync(path, 0o644);
    await add(path, "x");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("without a path nothing is written", async () => {
    const history = new History(undefined);
    history.add("secret");
    await history.settled();
    expect(history.search("SECRET", 5)).toBeUndefined();
    expect(history.search("ecr", 5)).toBe(0);
  });
});
