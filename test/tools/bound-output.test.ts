import { describe, expect, test } from "bun:test";
import {
  boundTail,
  boundText,
  cutCaptured,
  joinCaptured,
  wholeText,
  outputBudget,
} from "../../src/tools/bound-output.ts";

const how = (offset: number) => `offset=${offset}`;

describe("cutting in the middle", () => {
  test("text within its budget stays as it is", () => {
    expect(boundText("short", 5, how)).toBe("short");
    expect(boundText("", 0, how)).toBe("");
  });

  test.each([
    "abcdefghij".repeat(1000),
    "é".repeat(5000),
    "日本語".repeat(3000),
    "👩‍👩‍👧‍👦🇩🇪é".repeat(800),
    "\n".repeat(9000),
  ])("head and tail stay, and the bytes left out are counted exactly (%#)", (text) => {
    const cut = boundText(text, 4000, how);
    const [, head, omitted, offset, tail] = /^([\s\S]*)\n\[(\d+) bytes left out here; offset=(\d+)\]\n([\s\S]*)$/.exec(
      cut,
    )!;
    expect(head!.length + tail!.length).toBeLessThanOrEqual(4000);
    expect(head!.length + tail!.length).toBeGreaterThan(3900);
    expect(text.startsWith(head!) && text.endsWith(tail!)).toBe(true);
    expect(Number(omitted)).toBe(Buffer.byteLength(text) - Buffer.byteLength(head!) - Buffer.byteLength(tail!));
    expect(Number(offset)).toBe(Buffer.byteLength(head!));
    expect(cut.isWellFormed()).toBe(true);
  });

  test("no cluster is cut in two", () => {
    const family = "👩‍👩‍👧‍👦";
    const cut = boundText(family.repeat(100), 250, how);
    const [head, tail] = [cut.split("\n")[0]!, cut.split("\n").at(-1)!];
    expect(head.length % family.length).toBe(0);
    expect(tail.length % family.length).toBe(0);
  });

  test("a cluster longer than anything sensible is cut between code points", () => {
    const zalgo = `e${"\u0301".repeat(10_000)}`;
    const cut = boundText(zalgo, 1000, how);
    expect(cut.length).toBeLessThan(1200);
    expect(cut.isWellFormed()).toBe(true);
    expect(boundText("😀".repeat(10), 1, how).isWellFormed()).toBe(true);
  });

  test("what was already cut is cut further with the right count", () => {
    const captured = { head: "a".repeat(3000), tail: "z".repeat(3000), omittedBytes: 94_000, totalBytes: 100_000 };
    const less = cutCaptured(captured, 2000);
    expect(less.head.length + less.tail.length).toBe(2000);
    expect(less.omittedBytes).toBe(98_000);
    expect(joinCaptured(less, how)).toContain("[98000 bytes left out here; offset=1000]");
    expect(cutCaptured(captured, 6000)).toBe(captured);
    expect(cutCaptured({ ...captured, tail: "z".repeat(100) }, 2000).head.length).toBe(1900);
  });

  test("whole text counts bytes, not characters", () => {
    expect(wholeText("é")).toEqual({ head: "é", tail: "", omittedBytes: 0, totalBytes: 2 });
  });
});

test("a screen keeps its newest text", () => {
  const cut = boundTail(`${"old\n".repeat(1000)}newest`, 100, "narrow it");
  expect(cut.endsWith("newest")).toBe(true);
  expect(cut).toMatch(/^\[\d+ bytes left out before this; narrow it\]\n/);
  expect(boundTail("all", 100, "")).toBe("all");
});

describe("budgets", () => {
  test.each([
    ["shell", 8_192, 0, 4_000],
    ["capture", 8_192, 0, 4_000],
    ["file", 8_192, 0, 8_000],
    ["page", 8_192, 0, 8_000],
    ["shell", 128_000, 0, 20_480],
    ["shell", 1_000_000, 0, 30_000],
    ["file", 1_000_000, 0, 30_000],
    ["shell", 8_192, 500, 500],
    ["shell", 8_192, 1_000_000, 131_072],
  ] as const)("%s with a context of %d and [limits] %d: %d characters", (kind, context, limit, budget) => {
    expect(outputBudget(kind, context, limit)).toBe(budget);
  });
});
