/** The journal of changes: written before the change, whole after a crash, bounded, private. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ChangeStore, type GivenState, JOURNAL } from "../../src/changes/change-store.ts";
import { changesDirectory, copyChanges, prepareChanges, removeKept } from "../../src/session/outputs.ts";
import { needs } from "../support/needs.ts";

const root = await needs("root", "linux");

let state: string;
const SESSION = "aaaa-bbbb-cccc-dddd";
beforeEach(() => void (state = mkdtempSync(join(tmpdir(), "buddy-changes-"))));
afterEach(() => rmSync(state, { recursive: true, force: true }));

const storeIn = (session = SESSION, directory = changesDirectory(state, session)) =>
  new ChangeStore({ directory: () => directory, prepare: prepareChanges });
const file = (text: string, mode = 0o644): GivenState => ({
  kind: "file",
  bytes: Buffer.from(text),
  mode,
  uid: 0,
  gid: 0,
  owner: "root:root",
});
const MADE = { machine: "m1", where: "ann@desk", call: "c1", tool: "write_file" };

test("a change is listed by another process as it was kept, with what came of it", () => {
  const [change] = storeIn().keep(MADE, [{ path: "/a", state: file("old") }]);
  const store = storeIn();
  expect(store.list()).toMatchObject([{ number: 1, path: "/a", before: { kind: "file", size: 3 } }]);
  expect(store.settle(change!.number, file("new"))).toBeUndefined();
  const [listed] = storeIn().list();
  expect(Buffer.from(store.content(listed!.before)!).toString()).toBe("old");
  expect(listed?.after).toMatchObject({ kind: "file", size: 3 });
});

test("a change that changed nothing is not listed, and its number is not used again", () => {
  const store = storeIn();
  store.keep(MADE, [{ path: "/a", state: file("same") }]);
  store.settle(1, file("same"));
  expect(store.list()).toEqual([]);
  expect(store.keep(MADE, [{ path: "/b", state: { kind: "missing" } }])[0]?.number).toBe(2);
});

test("a line that a crash cut off is skipped, and the next change is whole", () => {
  storeIn().keep(MADE, [{ path: "/a", state: { kind: "missing" } }]);
  appendFileSync(join(changesDirectory(state, SESSION), JOURNAL), '{"v":1,"number":2,"pa');
  const store = storeIn();
  expect(store.list().map(({ path }) => path)).toEqual(["/a"]);
  store.keep(MADE, [{ path: "/b", state: { kind: "missing" } }]);
  expect(
    storeIn()
      .list()
      .map(({ path }) => path),
  ).toEqual(["/a", "/b"]);
});

test("lines of another form, or version, are skipped; the rest is listed", () => {
  storeIn().keep(MADE, [{ path: "/a", state: { kind: "missing" } }]);
  const whole = { v: 1, time: new Date().toISOString(), ...MADE, path: "/b", before: { kind: "missing" } };
  const lines = [
    { v: 1, number: 1, after: null },
    { v: 1, number: 2, before: null },
    { ...whole, number: 1e308 },
    { ...whole, number: 2, time: "soon" },
    { ...whole, number: 2, v: 2 },
    { ...whole, number: 2, before: { kind: "file", digest: "../x", size: 1, mode: 1, uid: 0, gid: 0, owner: "" } },
    { ...whole, number: 3 },
  ];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  appendFileSync(join(changesDirectory(state, SESSION), JOURNAL), text);
  expect(storeIn().list()).toMatchObject([
    { number: 1, path: "/a" },
    { number: 3, path: "/b" },
  ]);
});

test("directories and files are for their owner alone", () => {
  storeIn().keep(MADE, [{ path: "/a", state: file("x") }]);
  const directory = changesDirectory(state, SESSION);
  for (const path of [join(state, "changes"), directory]) expect(statSync(path).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
});

test("contents are sealed: no search for their text finds it", () => {
  storeIn().keep(MADE, [{ path: "/a", state: file("password=hunter2 ".repeat(50)) }]);
  for (const path of new Bun.Glob("**").scanSync(state))
    expect(readFileSync(join(state, path), "latin1")).not.toContain("hunter2");
});

test("a content that was tampered with, or is gone, is not given out", () => {
  const store = storeIn();
  const { before } = store.keep(MADE, [{ path: "/a", state: file("right") }])[0]!;
  const path = join(changesDirectory(state, SESSION), before.kind === "file" ? before.digest : "");
  writeFileSync(path, "wrong");
  expect(store.content(before)).toBeUndefined();
  rmSync(path);
  expect(store.restorable(before)).toBeUndefined();
});

test("a copy of a session has its changes; removing one leaves the other", () => {
  storeIn().keep(MADE, [{ path: "/a", state: file("x") }]);
  const copy = "eeee-ffff-aaaa-bbbb";
  expect(copyChanges(state, SESSION, copy)).toBeUndefined();
  removeKept(state, SESSION);
  expect(storeIn().list()).toEqual([]);
  const store = storeIn(copy);
  const [change] = store.list();
  expect(Buffer.from(store.content(change!.before)!).toString()).toBe("x");
  store.keep(MADE, [{ path: "/b", state: { kind: "missing" } }]);
  expect(store.list()).toHaveLength(2);
});

test("a place that cannot be written is an error that names it, and nothing counts as kept", () => {
  mkdirSync(join(state, "changes"), { recursive: true });
  writeFileSync(changesDirectory(state, SESSION), "in the way");
  expect(() => storeIn().keep(MADE, [{ path: "/a", state: file("x") }])).toThrow(changesDirectory(state, SESSION));
});

test("kill -9 after a file was kept: another process knows the change, and that its end is unknown", async () => {
  const script = `
    import { ChangeStore } from ${JSON.stringify(join(import.meta.dir, "../../src/changes/change-store.ts"))};
    import { prepareChanges } from ${JSON.stringify(join(import.meta.dir, "../../src/session/outputs.ts"))};
    const store = new ChangeStore({ directory: () => process.argv[1], prepare: prepareChanges });
    store.keep({ machine: "m", where: "w", call: "c", tool: "t" }, [{ path: "/a", state: { kind: "link", to: "b" } }]);
    process.kill(process.pid, "SIGKILL");`;
  const directory = changesDirectory(state, SESSION);
  const child = Bun.spawn([process.execPath, "-e", script, directory], { stderr: "inherit" });
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  const [change] = storeIn().list();
  expect(change).toMatchObject({ path: "/a", before: { kind: "link", to: "b" } });
  expect(change?.after).toBeUndefined();
});

root.test("a full disk: what cannot be kept whole is not kept at all, and the journal stays readable", () => {
  const small = join(state, "small");
  mkdirSync(small);
  expect(Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small]).exitCode).toBe(0);
  try {
    const store = storeIn(SESSION, join(small, "changes", SESSION));
    store.keep(MADE, [{ path: "/a", state: file("fits") }]);
    expect(() => store.keep(MADE, [{ path: "/b", state: file("x".repeat(200_000)) }])).toThrow("disk is full");
    expect(
      storeIn(SESSION, join(small, "changes", SESSION))
        .list()
        .map(({ path }) => path),
    ).toEqual(["/a"]);
    expect(readdirSync(join(small, "changes", SESSION))).toHaveLength(2);
  } finally {
    Bun.spawnSync(["umount", small]);
  }
});

test("a damaged key is named, with what to do; what is kept after its removal can be opened", () => {
  const store = storeIn();
  store.keep(MADE, [{ path: "/a", state: file("old") }]);
  const key = join(changesDirectory(state, SESSION), "../key");
  writeFileSync(key, "short");
  expect(() => storeIn().keep(MADE, [{ path: "/b", state: file("other") }])).toThrow(resolve(key));
  rmSync(key);
  const [change] = storeIn().keep(MADE, [{ path: "/b", state: file("other") }]);
  expect(Buffer.from(storeIn().content(change!.before)!).toString()).toBe("other");
});
