/** Marks in a pane's stream, and visible prompts on a captured screen. */
import { describe, expect, test } from "bun:test";
import { linesAfter, sincePrompt } from "../../../src/targets/shells/tmux/gap.ts";
import {
  commandAfterPrompt,
  type Mark,
  MarkScanner,
  parseMark,
  parseRemembered,
  visiblePrompts,
} from "../../../src/targets/shells/tmux/markers.ts";

const KEY = "0123456789abcdef";

function scan(raw: string, size: number): { text: string; marks: Mark[] } {
  let text = "";
  const marks: Mark[] = [];
  const scanner = new MarkScanner(
    KEY,
    (bytes) => (text += bytes.toString()),
    (mark) => marks.push(mark),
  );
  const bytes = Buffer.from(raw);
  for (let at = 0; at < bytes.length; at += size) scanner.feed(bytes.subarray(at, at + size));
  return { text, marks };
}

describe("marks", () => {
  test("are taken out wherever the stream is cut", () => {
    const raw = `a\u001b]7771;${KEY};C;17\u0007out\r\n\u001b]7771;${KEY};P;3;0;17;/home/é x\u0007$ \u001b]7771;${KEY};B\u0007`;
    for (const size of [1, 2, 3, 5, 11, 29, 1000]) {
      expect(scan(raw, size)).toEqual({
        text: "aout\r\n$ ",
        marks: [
          { kind: "started", tag: 17 },
          { kind: "prompt", id: 3, code: 0, tag: 17, cwd: "/home/é x" },
          { kind: "ready" },
        ],
      });
    }
  });

  test("without the key are only text", () => {
    const raw = "\u001b]7771;;P;3;0;17;/\u0007\u001b]7771;fedcba9876543210;X;1\u0007[buddy 8: 0]";
    expect(scan(raw, 4)).toEqual({ text: raw, marks: [] });
  });

  test("that do not end are let go", () => {
    const raw = `\u001b]7771;${KEY};P;${"x".repeat(70_000)}`;
    expect(scan(raw, 9000).text.length).toBeGreaterThan(60_000);
  });

  test("of every kind", () => {
    expect(parseMark("T;17;rm -rf ; x")).toEqual({ kind: "taken", tag: 17, aside: "rm -rf ; x" });
    expect(parseMark("T;;half")).toEqual({ kind: "taken", tag: 0, aside: "half" });
    expect(parseMark("S;5")).toEqual({ kind: "shown", tag: 5 });
    expect(parseMark("E;2;5")).toEqual({ kind: "ended", code: 2, tag: 5 });
    expect(parseMark("I")).toEqual({ kind: "incomplete" });
    expect(parseMark("X;137")).toEqual({ kind: "shell-ended", code: 137 });
    expect(parseMark("P;x;0;0;/")).toBeUndefined();
    expect(parseMark("Z")).toBeUndefined();
    expect(parseMark("")).toBeUndefined();
  });

  test("that tmux remembers need the key too", () => {
    expect(parseRemembered(`buddy;${KEY};C;4`, KEY)).toEqual({ kind: "started", tag: 4 });
    expect(parseRemembered("buddy;other;C;4", KEY)).toBeUndefined();
    expect(parseRemembered("file://host/home", KEY)).toBeUndefined();
  });
});

describe("visible prompts", () => {
  test("anywhere in a line, old and new, with spaces; malformed ones are skipped", () => {
    const lines = [
      "[buddy 7: 0] $ ls",
      "abc[agent 8: 130] > ",
      "x [ buddy  9 :  1 ] y",
      "[buddy x: 0]",
      "[buddy 9]",
      "[body 1: 0]",
    ];
    expect(visiblePrompts(lines).map(({ id, code, line }) => [id, code, line])).toEqual([
      [7, 0, 0],
      [8, 130, 1],
      [9, 1, 2],
    ]);
  });

  test("give output and exit code", () => {
    expect(commandAfterPrompt("[buddy 7: 0] $ ls\na\nb\n[buddy 8: 2] $ ", 7)).toEqual({
      kind: "ended",
      code: 2,
      output: "a\nb\n",
    });
    expect(commandAfterPrompt("[agent 7: 0] $ printf abc\nabc[agent 8: 0] $ ", 7)).toEqual({
      kind: "ended",
      code: 0,
      output: "abc",
    });
    expect(commandAfterPrompt("[buddy 7: 0] $ sleep\nworking", 7)).toEqual({ kind: "running", output: "working" });
  });

  test("that were lost or jump are errors", () => {
    expect(commandAfterPrompt("a\nb\n[buddy 8: 0] $ ", 7)).toMatchObject({ kind: "unclear" });
    expect(commandAfterPrompt("[buddy 7: 0] $ ls\na\n[buddy 9: 0] $ ", 7)).toMatchObject({ kind: "unclear" });
    expect(commandAfterPrompt("[buddy 7: 0] $ ls\n[buddy 12: 0]\n[buddy 8: 0] $ ", 7)).toMatchObject({
      kind: "unclear",
    });
  });
});

describe("a gap", () => {
  test("is filled behind the last lines seen", () => {
    const screen = ["[buddy 1: 0] $ x", "tick 1", "tick 2", "tick 3", "tick 4", ""];
    expect(linesAfter(["tick 1", "tick 2", ""], screen, true)).toEqual({ found: true, text: "tick 3\ntick 4\n" });
    expect(linesAfter(["tick 1", "tic"], screen, false)).toEqual({ found: true, text: "k 2\ntick 3\ntick 4" });
    expect(linesAfter(["tick 3", "tick 4", ""], screen, true)).toEqual({ found: true, text: "" });
  });

  test("ends at the prompt", () => {
    const screen = ["tick 1", "tick 2", "rest[buddy 2: 0] $ "];
    expect(linesAfter(["tick 1", ""], screen, false)).toEqual({ found: true, text: "tick 2\nrest" });
  });

  test("that reaches beyond the scrollback is told", () => {
    expect(linesAfter(["far", "away", ""], ["tick 8", "tick 9"], true)).toEqual({
      found: false,
      text: "tick 8\ntick 9\n",
    });
  });

  test("before the first output begins at the prompt", () => {
    expect(sincePrompt(["[buddy 1: 0] $ x", "a", "b", ""], 1, true)).toEqual({ found: true, text: "a\nb\n" });
    expect(sincePrompt(["[buddy 1: 0] $ x", "a", "[buddy 2: 0] $ "], 1, false)).toEqual({ found: true, text: "a\n" });
    expect(sincePrompt(["[buddy 1: 0] $ x"], 1, true)).toEqual({ found: true, text: "" });
    expect(sincePrompt(["nothing"], 1, true)).toEqual({ found: false, text: "" });
  });
});
