/** Outputs that outlive the process: found again by their ids, bounded, private, and never in the way of a command. */
import { heapStats } from "bun:jsc";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storedOutputs } from "../../../src/app/export-session.ts";
import { copyOutputs, outputsDirectory, prepareOutputs, removeKept } from "../../../src/session/outputs.ts";
import { Recording } from "../../../src/targets/output/recording.ts";
import { OutputStore, type OutputStoreOptions } from "../../../src/targets/output/output-store.ts";
import { buddyError } from "../../support/errors.ts";
import { until } from "../../support/until.ts";
import { CUT } from "../../../src/targets/output/stored-output.ts";

let state = "";
let session = "aaaa-0000-0000-0001";
let told: string[] = [];
const stores: OutputStore[] = [];
const KEY = "operator-key-4711-äöü";
/** Ids that never were, and ids whose text is gone. */
const UNKNOWN = buddyError("tool", "no output");
const NOT_KEPT = buddyError("tool", "no longer");
const directory = () => outputsDirectory(state, session);
const files = () => readdirSync(directory()).sort();

function open(options: Partial<OutputStoreOptions> = {}): OutputStore {
  const hide = (text: string) => text.replaceAll(KEY, "*".repeat(Buffer.byteLength(KEY)));
  const store = { directory, prepare: prepareOutputs, hide: () => hide };
  const outputStore = new OutputStore({ store, tell: (text) => told.push(text), ...options });
  stores.push(outputStore);
  return outputStore;
}

/** As after kill -9: nothing was closed, only the files are there. */
const afterCrash = () => open();
/** A short text gets its file a moment after its end. */
const stored = (id: string) => until(() => existsSync(join(directory(), `${id}@0.end`)), `${id} is stored`);
const numbers = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}\n`).join("");

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "buddy-test-"));
  session = "aaaa-0000-0000-0001";
  told = [];
});
afterEach(() => {
  for (const outputStore of stores.splice(0)) outputStore[Symbol.dispose]();
  chmodSync(state, 0o700);
  rmSync(state, { recursive: true, force: true });
});

test("texts that have ended hold nothing of their commands", () => {
  const store = open();
  const decoders = () => {
    Bun.gc(true);
    return heapStats().objectTypeCounts["TextDecoder"] ?? 0;
  };
  const before = decoders();
  for (let i = 0; i < 100; i++) {
    const recording = new Recording(store.open(), { onOutput: () => {} }, "stdout");
    recording.write(Buffer.from(`line ${i}\n`));
    recording.end();
  }
  expect(decoders() - before).toBeLessThan(20);
});

describe("found again", () => {
  test("exactly, by offset and by filter, and new ids are new", async () => {
    const whole = numbers(50_000);
    const before = open();
    const text = before.open();
    const errors = before.open("err");
    text.add(whole);
    errors.add("only this\n");
    text.end();
    errors.end();
    await stored("err-2");
    const after = afterCrash();
    expect(after.find("out-1").read({ limit: 4_000_000 })).toEqual({
      text: whole,
      nextOffset: whole.length,
      totalBytes: whole.length,
      done: true,
    });
    expect(after.find("out-1").read({ offset: whole.indexOf("line 4321\n"), limit: 10 }).text).toBe("line 4321\n");
    expect((await after.find("out-1").search("^line 4999\\d$")).text).toBe(numbers(50_000).slice(-11 * 10));
    expect(after.find("err-2").read()).toMatchObject({ text: "only this\n", done: true });
    expect(after.open().id).toBe("out-3");
    expect(() => after.find("out-77")).toThrow(UNKNOWN);
    expect(() => after.find("../../etc/passwd")).toThrow(UNKNOWN);
  });

  test("short texts of many machines share a file, and are read, copied, given up and removed one by one", async () => {
    const before = open({ maxBytes: 1000 });
    const texts = Array.from({ length: 20 }, (_, at) => {
      const text = before.open(at % 4 === 3 ? "err" : "out");
      if (at % 2 === 0) text.add(`machine ${at}: ${KEY} äöü\n`);
      return text;
    });
    for (const text of texts) text.end();
    const kept = () => `machine 4: ${"*".repeat(Buffer.byteLength(KEY))} äöü\n`;
    expect(before.find("out-5").read()).toMatchObject({ text: kept(), done: true });
    await until(() => existsSync(directory()) && files().length === 1, "it is on the disk");
    expect(files()).toEqual(["bundle-1-19"]);
    expect(statSync(join(directory(), "bundle-1-19")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(directory(), "bundle-1-19")).includes("machine")).toBe(false);
    for (const store of [before, afterCrash()]) {
      expect(store.find("out-5").read()).toMatchObject({
        text: kept(),
        totalBytes: Buffer.byteLength(kept()),
        done: true,
      });
      expect(store.find("out-5").read({ offset: 8, limit: 2 }).text).toBe("4:");
      expect((await store.find("out-19").search("^machine 1\\d")).text).toStartWith("machine 18:");
    }
    expect([...(await storedOutputs(state, session))].map((line) => line.trim())).toEqual(
      texts.filter((_, at) => at % 2 === 0).map(({ id }) => id),
    );
    expect([...(await storedOutputs(state, session, "out-5"))].join("")).toBe(kept());
    const original = session;
    expect(copyOutputs(state, original, "aaaa-0000-0000-0002")).toBeUndefined();
    session = "aaaa-0000-0000-0002";
    const copy = open();
    expect(copy.find("out-5").read().text).toBe(kept());
    expect(copy.open().id).toBe("out-20");
    for (const id of texts.filter((_, at) => at % 2 === 0).map((text) => text.id)) {
      expect(files()).toEqual(["bundle-1-19"]);
      expect(copy.find(id).drop()).toBeGreaterThan(0);
      expect(() => copy.find(id)).toThrow(NOT_KEPT);
    }
    expect(files()).toEqual([]);
    session = original;
    truncateSync(join(directory(), "bundle-1-19"), 0);
    expect(() => afterCrash().find("out-5")).toThrow(NOT_KEPT);
    expect(afterCrash().open().id).toBe("out-20");
  });

  test("a command that ran when buddy was killed: all but the last moment, and buddy says so", async () => {
    const text = open().open();
    const recording = new Recording(text, {}, "stdout");
    recording.write(Buffer.from("first\r\nsecond\r\nunfinished"));
    await until(() => existsSync(directory()) && files().length === 1, "it is on the disk");
    const killed = afterCrash().find("out-1").read();
    expect(killed.text).toStartWith("first\nsecond\nunfinished");
    expect(killed.text).toEndWith(CUT);
    expect(killed).toMatchObject({ totalBytes: 23, done: true });

    recording.write(Buffer.from("\rfinished  \r\n"));
    recording.end();
    expect(files()).toEqual(["out-1@0.end"]);
    expect(afterCrash().find("out-1").read().text).toBe("first\nsecond\nfinished  \n");
  });

  test("what was saved as it stood is replaced, not added to", async () => {
    const outputStore = open();
    const recording = new Recording(outputStore.open(), {}, "stdout");
    recording.write(Buffer.from("10%"));
    outputStore.find("out-1").save();
    recording.write(Buffer.from("\r\u001b[K5"));
    outputStore.find("out-1").save();
    expect(afterCrash().find("out-1").read().text).toStartWith("5\n[output");
    recording.write(Buffer.from(`\r\n${numbers(20_000).replaceAll("\n", "\r\n")}`));
    recording.end();
    expect(afterCrash().find("out-1").read({ limit: 4_000_000 }).text).toBe(`5\n${numbers(20_000)}`);
  });

  test("several segments; a missing middle is reported", async () => {
    const small = { segmentBytes: 100_000, maxBytes: 500_000 };
    const text = open(small).open();
    for (let i = 0; i < 200_000; i++) text.add(`${String(i).padStart(9, "0")}\n`);
    text.end();
    const again = afterCrash().find("out-1");
    expect(again.totalBytes).toBe(2_000_000);
    expect(again.keptBytes).toBeLessThanOrEqual(600_000);
    expect(again.read({ limit: 10 }).text).toBe("000000000\n");
    expect(again.read({ offset: 300_000, limit: 10 }).text).toMatch(/^\[\d+ bytes /);
    expect((await again.search("^000199999$")).text).toEndWith("\n000199999\n");
  });

  test("past the bound the oldest outputs go, also those of before; the newest stay", () => {
    const small = { segmentBytes: 100_000, maxBytes: 500_000 };
    const fill = (outputStore: OutputStore) => {
      const text = outputStore.open();
      text.add(`${"x".repeat(99)}\n`.repeat(900));
      text.end();
    };
    const before = open(small);
    for (let i = 0; i < 4; i++) fill(before);
    const after = open(small);
    for (let i = 0; i < 6; i++) fill(after);
    expect(() => after.find("out-1")).toThrow(NOT_KEPT);
    expect(after.find("out-10").read({ limit: 5 }).text).toBe("xxxxx");
    expect(files().reduce((sum, name) => sum + statSync(join(directory(), name)).size, 0)).toBeLessThanOrEqual(600_000);
    expect(() => afterCrash().find("out-1")).toThrow(NOT_KEPT);
  });

  test("another session in the same process has its own, with numbers that were not used", async () => {
    const outputStore = open();
    const first = outputStore.open();
    first.add("of the first");
    first.end();
    await stored("out-1");
    session = "aaaa-0000-0000-0002";
    const second = outputStore.open();
    second.add("of the second");
    second.end();
    expect(outputStore.find("out-2").read().text).toBe("of the second");
    await stored("out-2");
    expect(second.id).toBe("out-2");
    expect(files()).toEqual(["out-2@0.end"]);
    expect(outputStore.find("out-2").read().text).toBe("of the second");
    session = "aaaa-0000-0000-0001";
    expect(afterCrash().find("out-1").read().text).toBe("of the first");
    expect(() => afterCrash().find("out-2")).toThrow(UNKNOWN);
  });
});

describe("private", () => {
  test("for the owner alone, and not to be found by a search for what was printed", async () => {
    const text = open().open();
    text.add("a needle in a haystack\n");
    text.end();
    await stored("out-1");
    expect(statSync(directory()).mode & 0o777).toBe(0o700);
    expect(statSync(join(state, "outputs")).mode & 0o777).toBe(0o700);
    const [name = ""] = files();
    expect(statSync(join(directory(), name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(directory(), name)).includes("needle")).toBe(false);
    expect(Bun.spawnSync(["grep", "-r", "needle", state]).stdout.toString()).toBe("");
  });

  test("buddy's own key is not in it, also when it comes in pieces; offsets stay", () => {
    const text = open().open();
    text.add(`x ${KEY.slice(0, 10)}`);
    text.add(`${"y".repeat(0)}${KEY.slice(10)} z\n${"a".repeat(70_000)}`);
    text.add("\nend\n");
    const expected = `x ${"*".repeat(Buffer.byteLength(KEY))} z\n`;
    expect(text.read({ limit: expected.length }).text).toBe(expected);
    text.end();
    expect(afterCrash().find("out-1").read({ limit: expected.length }).text).toBe(expected);
    expect(text.totalBytes).toBe(Buffer.byteLength(`x ${KEY} z\n`) + 70_005);
  });
});

describe("no room", () => {
  test("a state directory that cannot be made: readable as long as this buddy runs, reported once, and only when it matters", () => {
    writeFileSync(join(state, "outputs"), "in the way");
    const outputStore = open();
    const short = outputStore.open();
    short.add("short\n");
    short.end();
    expect(outputStore.find("out-1").read().text).toBe("short\n");
    expect(told).toEqual([]);
    for (let i = 0; i < 3; i++) {
      const text = outputStore.open();
      text.add(numbers(10_000));
      text.end();
      expect(outputStore.find(text.id).read({ limit: 4_000_000 }).text).toBe(numbers(10_000));
    }
    expect(told.length).toBe(1);
  });

  test("a directory that was removed meanwhile is made again", async () => {
    const outputStore = open();
    const first = outputStore.open();
    first.add("first");
    first.end();
    await stored("out-1");
    removeKept(state, session);
    const second = outputStore.open();
    second.add("second");
    second.end();
    expect(outputStore.find("out-2").read().text).toBe("second");
    expect(told).toEqual([]);
    expect(outputStore.find("out-1").read().text).toMatch(/\[\d+ bytes /);
  });

  const full = Bun.which("unshare") !== null && Bun.spawnSync(["unshare", "-rm", "true"]).success;
  test.if(full)(
    "a disk that fills up: the command's text continues elsewhere, and what is stored says that it ends",
    () => {
      const script = `
      import { OutputStore } from ${JSON.stringify(join(import.meta.dir, "../../../src/targets/output/output-store.ts"))};
      import { prepareOutputs } from ${JSON.stringify(join(import.meta.dir, "../../../src/session/outputs.ts"))};
      const told = [];
      const store = { directory: () => process.env.PLACE + "/s", prepare: prepareOutputs, hide: (text) => text };
      const outputStore = new OutputStore({ store, tell: (text) => told.push(text) });
      const whole = Array.from({ length: 400_000 }, (_, i) => i + "\\n").join("");
      const text = outputStore.open();
      for (let at = 0; at < whole.length; at += 10_000) text.add(whole.slice(at, at + 10_000));
      text.end();
      const same = text.read({ limit: 4_000_000 }).text === whole.slice(0, text.read({ limit: 4_000_000 }).nextOffset);
      const again = new OutputStore({ store }).find("out-1");
      const last = again.read({ offset: again.totalBytes - 10 }).text;
      outputStore[Symbol.dispose]();
      console.log(JSON.stringify({ told, same, total: text.totalBytes, size: whole.length, last }));
    `;
      const file = join(state, "fill.ts");
      writeFileSync(file, script);
      mkdirSync(join(state, "full"));
      const mounted = `mount -t tmpfs -o size=1m none "$PLACE" && exec "$0" "$1"`;
      const run = Bun.spawnSync(["unshare", "-rm", "sh", "-c", mounted, process.execPath, file], {
        env: { ...process.env, PLACE: join(state, "full") },
      });
      const said = JSON.parse(run.stdout.toString()) as Record<string, unknown>;
      expect(said).toMatchObject({
        same: true,
        total: said["size"],
        told: [expect.stringContaining("the disk is full")],
      });
      expect(said["last"]).toEndWith(CUT);
    },
  );

  test("no disk at all: memory, bounded", () => {
    writeFileSync(join(state, "outputs"), "in the way");
    const saved = process.env["TMPDIR"];
    const outputStore = open({ segmentBytes: 1_000_000 });
    // A file in place of the process's own directory.
    const home = join(state, "tmp");
    mkdirSync(home);
    process.env["TMPDIR"] = home;
    try {
      const first = outputStore.open();
      first.add(numbers(10_000));
      first.end();
      const own = readdirSync(home)[0] ?? "";
      rmSync(join(home, own), { recursive: true });
      writeFileSync(join(home, own), "in the way");
      const text = outputStore.open();
      text.add(numbers(10_000));
      text.end();
      expect(text.memoryBytes).toBe(text.totalBytes);
      expect(outputStore.find(text.id).read({ limit: 4_000_000 }).text).toBe(numbers(10_000));
      const large = outputStore.open();
      for (let i = 0; i < 60; i++) large.add("z".repeat(1_000_000));
      large.end();
      expect(large.memoryBytes).toBeLessThan(42_000_000);
      expect(large.totalBytes).toBe(60_000_000);
      rmSync(join(home, own));
    } finally {
      if (saved === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = saved;
    }
  });
});

describe("copies and clean-up", () => {
  const put = (words: string) => {
    using outputStore = open();
    const text = outputStore.open();
    text.add(words);
    text.end();
  };

  test("a copy reads what was there, and goes its own way", () => {
    put("before");
    const original = session;
    expect(copyOutputs(state, original, "aaaa-0000-0000-0002")).toBeUndefined();
    put("later in the original");
    session = "aaaa-0000-0000-0002";
    const copy = afterCrash();
    expect(copy.find("out-1").read().text).toBe("before");
    expect(() => copy.find("out-2")).toThrow(UNKNOWN);
    removeKept(state, original);
    expect(existsSync(outputsDirectory(state, original))).toBe(false);
    expect(copy.find("out-1").read().text).toBe("before");
  });

  test("a copy that cannot be made is reported", () => {
    put("before");
    writeFileSync(outputsDirectory(state, "aaaa-0000-0000-0002"), "in the way");
    expect(copyOutputs(state, session, "aaaa-0000-0000-0002")).toContain("cannot be read in the copy");
    expect(copyOutputs(undefined, session, "aaaa-0000-0000-0002")).toBeUndefined();
  });

  test("what was not used for two weeks is given up; its ids are not used again", () => {
    put("old");
    const old = session;
    Bun.spawnSync(["touch", "-d", "15 days ago", directory()]);
    session = "aaaa-0000-0000-0002";
    put("new");
    session = old;
    const again = afterCrash();
    expect(() => again.find("out-1")).toThrow(buddyError("tool", "out-1", "no longer"));
    expect(again.open().id).toBe("out-2");
    session = "aaaa-0000-0000-0002";
    expect(afterCrash().find("out-1").read().text).toBe("new");
  });

  test("a file that was cut from outside is read as far as it goes", () => {
    put("0123456789");
    truncateSync(join(directory(), files()[0] ?? ""), 4);
    expect(afterCrash().find("out-1").read().text).toBe("0123");
  });
});
