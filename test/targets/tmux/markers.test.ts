/** Marks in a pane's stream, and visible prompts on a captured screen. */
import { describe, expect, test } from "bun:test";
import { unfinishedEnd, linesAfter, sincePrompt, untilPrompt } from "../../../src/targets/tmux/recover.ts";
import {
  commandAfterPrompt,
  type Mark,
  MarkScanner,
  parseMark,
  parseRemembered,
  visiblePrompts,
} from "../../../src/targets/tmux/markers.ts";

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

  test("lines of buddy's own that `set -v` prints are text only where no mark follows", () => {
    const own = '{ __buddy_check "$?"; } 8>&1 9>&2 >/dev/null 2>/dev/null\r\n';
    const raw = `${own}{ __buddy_x${own}\u001b]7771;${KEY};E;1;17\u0007`;
    // Shells write such a line whole: only the mark behind it may be cut off.
    for (const size of [raw.indexOf("\u001b") + 1, raw.length - 1, 1000])
      expect(scan(raw, size)).toEqual({ text: `${own}{ __buddy_x`, marks: [{ kind: "ended", code: 1, tag: 17 }] });
    expect(scan(`${own}next`, own.length)).toEqual({ text: `${own}next`, marks: [] });
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
    expect(parseMark("X;137")).toEqual({ kind: "shell-ended", code: 137, cwd: "" });
    expect(parseMark("X;1;/srv;x")).toEqual({ kind: "shell-ended", code: 1, cwd: "/srv;x" });
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
  const screen = "tick 1\ntick 2\ntick 3\ntick 4\n";

  test("is filled behind the last lines seen", () => {
    expect(linesAfter(["tick 1", "tick 2", ""], screen)).toBe("tick 3\ntick 4\n");
    expect(linesAfter(["tick 1", "tic"], screen)).toBe("k 2\ntick 3\ntick 4\n");
    expect(linesAfter(["tick 3", "tick 4", ""], screen)).toBe("");
    expect(linesAfter(["tick 3", "tick 4"], screen)).toBe("\n");
  });

  test("blank lines count, also at the end", () => {
    expect(linesAfter(["a", "", ""], "a\n\n\n\nb")).toBe("\n\nb");
    expect(linesAfter(["a", ""], "a\n\n")).toBe("\n");
  });

  test("lines that repeat themselves are distinguished by their number", () => {
    expect(linesAfter(["same", "same", ""], "same\n".repeat(5), 2)).toBe("same\nsame\nsame\n");
    expect(linesAfter(["same", "same", ""], "same\n".repeat(5))).toBe("");
    expect(linesAfter(["tick 1", "tick 2", ""], screen, 99)).toBe("tick 3\ntick 4\n");
  });

  test("tabs are on the screen as columns, and blanks at the end are not", () => {
    expect(linesAfter(["a\tb  ", "é\tc\t", ""], "a       b\né       c\nd\n")).toBe("d\n");
    expect(linesAfter(["x", "a\t"], "x\na       b\n")).toBe("b\n");
  });

  test("ends at the prompt", () => {
    expect(untilPrompt(["tick 1", "tick 2", "rest[buddy 2: 0] $ "], 1)).toBe("tick 1\ntick 2\nrest");
    expect(untilPrompt(["tick 1", "[buddy 2: 0] $ other", "x", ""], 1)).toBe("tick 1\n");
    expect(untilPrompt(["tick 1", ""], 1)).toBe("tick 1\n");
  });

  test("that reaches beyond the scrollback is reported", () => {
    expect(linesAfter(["far", "away", ""], "tick 8\ntick 9\n")).toBeUndefined();
    expect(linesAfter([""], "tick 8\ntick 9\n")).toBeUndefined();
  });

  test("before the first output begins at the prompt", () => {
    expect(sincePrompt(["[buddy 1: 0] $ x", "a", "b", ""], 1)).toBe("a\nb\n");
    expect(sincePrompt(["[buddy 1: 0] $ x", "a", "[buddy 2: 0] $ "], 1)).toBe("a\n");
    expect(sincePrompt(["[buddy 1: 0] $ x"], 1)).toBe("");
    expect(sincePrompt(["nothing"], 1)).toBeUndefined();
  });
});

describe("text cut in two by a look at the screen", () => {
  const end = (text: string | number[]) => unfinishedEnd(Buffer.from(text as string)).toString("latin1");

  test("is kept from where a sequence or a character begins", () => {
    for (const open of ["\u001b", "\u001b[", "\u001b[31", "\u001b]0;title", "\u001bP1$r", "\u001b("])
      expect(end(`text${open}`)).toBe(open);
    expect(end([65, 0xc3])).toBe("\u00c3");
    expect(end([65, 0xf0, 0x9f, 0x98])).toBe("\u00f0\u009f\u0098");
  });

  test("nothing, when it is whole", () => {
    for (const whole of [
      "",
      "text",
      "é",
      "😀",
      "\u001b[31m",
      "\u001b[0mtext",
      "\u001b]0;t\u0007",
      "\u001b]0;t\u001b\\",
      "\u001b(B",
      "\u001b7",
      "\u001b=",
    ])
      expect(end(whole)).toBe("");
  });
});
