/** What is kept of an output: head and tail in memory, all of it on disk, bounded. */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processMark } from "../../../src/lib/processes.ts";
import { HeadTail, Recording } from "../../../src/targets/output/recording.ts";
import { OutputStore } from "../../../src/targets/output/output-store.ts";
import { until } from "../../support/until.ts";
import { buddyError } from "../../support/errors.ts";

describe("head and tail", () => {
  test("all of a small text", () => {
    const kept = new HeadTail(100);
    kept.add("one\n");
    kept.add("two\n");
    expect(kept.captured("three")).toEqual({ head: "one\ntwo\nthree", tail: "", omittedBytes: 0, totalBytes: 13 });
  });

  test("of a large one, with the exact number of bytes left out", () => {
    const kept = new HeadTail(20);
    for (let i = 0; i < 1000; i++) kept.add(`${i}\n`);
    const captured = kept.captured();
    expect(captured.head).toBe("0\n1\n2\n3\n4\n");
    expect(captured.tail).toBe("\n998\n999\n".padStart(10, "7"));
    expect(captured.totalBytes).toBe(3890);
    expect(captured.omittedBytes).toBe(3890 - 20);
  });

  test("no character is cut in two", () => {
    const kept = new HeadTail(5);
    kept.add("a😀😀😀😀😀b");
    const { head, tail, omittedBytes, totalBytes } = kept.captured();
    expect(head + tail).not.toContain("�");
    expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + omittedBytes).toBe(totalBytes);
  });

  test("text that may still change counts too", () => {
    const kept = new HeadTail(10);
    kept.add("12345678");
    expect(kept.captured("abcdefgh")).toEqual({ head: "12345", tail: "defgh", omittedBytes: 6, totalBytes: 16 });
  });
});

describe("the output store", () => {
  let outputStore = new OutputStore();
  afterEach(() => {
    outputStore[Symbol.dispose]();
    outputStore = new OutputStore();
  });

  test("reads by offset, never splitting a character", () => {
    const text = outputStore.open();
    text.add("é".repeat(10));
    const first = text.read({ limit: 5 });
    expect(first).toEqual({ text: "éé", nextOffset: 4, totalBytes: 20, done: false });
    text.end();
    expect(text.read({ offset: 4 })).toEqual({ text: "é".repeat(8), nextOffset: 20, totalBytes: 20, done: true });
    expect(text.read({ offset: 99 })).toEqual({ text: "", nextOffset: 20, totalBytes: 20, done: true });
  });

  test("filters lines, page by page", async () => {
    const text = outputStore.open();
    for (let i = 0; i < 100_000; i++) text.add(`line ${i}\n`);
    const found: string[] = [];
    let offset = 0;
    for (
      let page = await text.search("7777", { limit: 30 });
      ;
      page = await text.search("7777", { limit: 30, offset })
    ) {
      found.push(...page.text.split("\n").filter((line) => line !== ""));
      offset = page.nextOffset;
      if (offset >= page.totalBytes) break;
    }
    expect(found).toEqual(
      Array.from({ length: 100_000 }, (_, i) => `line ${i}`).filter((line) => line.includes("7777")),
    );
  });

  test("a pending end is part of it", async () => {
    const text = outputStore.open();
    text.add("done\n");
    text.pending = () => "partial";
    expect(text.read()).toMatchObject({ text: "done\npartial", totalBytes: 12 });
    expect(text.read({ offset: 7 })).toMatchObject({ text: "rtial" });
    expect(await text.search("art")).toMatchObject({ text: "partial\n" });
  });

  test("a line of 64 MB is searched in its beginning, found, and cut; the rest is found behind it", async () => {
    const text = outputStore.open();
    text.add(`start of it ${"x".repeat(64 * 1024 * 1024)} end of it\nof it too\n`);
    text.end();
    const page = await text.search("of it", { limit: 1000 });
    expect(page.text.length).toBeLessThan(1200);
    expect(page.text).toStartWith("start of it xxx");
    expect(page.done).toBe(false);
    const rest = await text.search("of it", { limit: 1000, offset: page.nextOffset });
    expect(rest.text).toBe("of it too\n");
    expect((await text.search("end of it")).note).toEqual(expect.any(String));
  });

  test("a hostile filter is given up within bounds, says so, and names where to continue", async () => {
    const text = outputStore.open();
    text.add(`aaa\n${`${"a".repeat(40)}b\n`.repeat(100)}`);
    text.end();
    const page = await text.search("^(a+)+$");
    expect(page.text).toBe("aaa\n");
    expect(page.done).toBe(false);
    expect(page.note).toEqual(expect.any(String));
    expect(page.nextOffset).toBeGreaterThan(4);
  });

  test("a bad filter is reported", async () => {
    await expect(outputStore.open().search("(")).rejects.toThrow(buddyError("tool", "filter"));
    expect(() => outputStore.find("out-99")).toThrow(buddyError("tool", "out-99"));
  });

  test("past the bound the middle goes, start and end stay", async () => {
    outputStore = new OutputStore({ segmentBytes: 100_000, maxBytes: 500_000 });
    const text = outputStore.open();
    for (let i = 0; i < 200_000; i++) text.add(`${String(i).padStart(9, "0")}\n`);
    text.end();
    expect(text.keptBytes).toBeLessThanOrEqual(600_000);
    expect(text.totalBytes).toBe(2_000_000);
    expect(text.read({ limit: 10 }).text).toBe("000000000\n");
    expect(text.read({ offset: 1_999_990 }).text).toBe("000199999\n");
    const gap = text.read({ offset: 300_000, limit: 10 });
    expect(gap.text).toMatch(/^\[\d+ bytes .*\]\n/);
    expect(gap.nextOffset).toBeGreaterThan(300_010);
    expect((await text.search("^000199999$")).text).toMatch(/^\[\d+ bytes .*\]\n000199999\n$/);
  });

  test("is private, and removed at the end; what a dead buddy left goes too", () => {
    const left = join(tmpdir(), `buddy-output-${processMark().replace(/^\d+/, "999999")}-left`);
    mkdirSync(left, { recursive: true });
    const text = outputStore.open();
    text.add("x".repeat(100_000));
    const mine = readdirSync(tmpdir()).filter((name) => name.startsWith(`buddy-output-${process.pid}-`));
    expect(mine.length).toBeGreaterThan(0);
    for (const name of mine) expect(statSync(join(tmpdir(), name)).mode & 0o777).toBe(0o700);
    expect(existsSync(left)).toBe(false);
    outputStore[Symbol.dispose]();
    for (const name of mine) expect(existsSync(join(tmpdir(), name))).toBe(false);
  });
});

describe("a recording", () => {
  const record = (onOutput?: (text: string) => void) => {
    const outputStore = new OutputStore();
    const listener = onOutput === undefined ? {} : { onOutput: (chunk: { text: string }) => onOutput(chunk.text) };
    return { outputStore, recording: new Recording(outputStore.open(), listener, "stdout") };
  };

  test("streams whole lines at once and parts of lines after a moment", async () => {
    let shown = "";
    const { outputStore, recording } = record((text) => (shown += text));
    recording.write(Buffer.from("one\r\nPassw"));
    expect(shown).toBe("one\n");
    recording.write(Buffer.from("ord:"));
    await until(() => shown === "one\nPassword:", "the prompt is shown");
    expect(recording.lastLine).toBe("Password:");
    recording.write(Buffer.from(" ok\r\ntwo"));
    recording.end();
    expect(shown).toBe("one\nPassword: ok\ntwo");
    outputStore[Symbol.dispose]();
  });

  test("a line that changed after it was shown is shown again", async () => {
    let shown = "";
    const { outputStore, recording } = record((text) => (shown += text));
    recording.write(Buffer.from("10%"));
    await until(() => shown === "10%", "shown");
    recording.write(Buffer.from("\r100%\r\nend\r\n"));
    recording.end();
    expect(shown).toBe("10%0%\nend\n".replace("10%0%", "10%\n100%"));
    expect(recording.captured().head).toBe("100%\nend\n");
    outputStore[Symbol.dispose]();
  });

  test("can be listened to later, and filled in", () => {
    let shown = "";
    const { outputStore, recording } = record();
    expect(recording.empty).toBe(true);
    recording.write(Buffer.from("a\r\n"));
    recording.listen((chunk) => (shown += chunk.text));
    recording.insert("b\nc");
    expect(recording.lastLines).toEqual(["a", "b", "c"]);
    recording.end();
    expect(recording.captured().head).toBe("a\nb\nc");
    expect(shown).toContain("b\nc");
    expect(outputStore.find(recording.id).read({ offset: 2 }).text).toBe("b\nc");
    outputStore[Symbol.dispose]();
  });
});
