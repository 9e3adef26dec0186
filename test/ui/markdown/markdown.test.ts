import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { highlight } from "../../../src/ui/markdown/highlight.ts";
import { inline } from "../../../src/ui/markdown/inline.ts";
import { MarkdownStream } from "../../../src/ui/markdown/markdown-stream.ts";
import { PlainStream } from "../../../src/ui/transcript/text-streams.ts";
import { cases, Seeded } from "../../support/seeded.ts";
import { supportsLinks, theme } from "../../../src/ui/theme.ts";

setDefaultTimeout(60_000);

const color = theme(true);
const plain = theme(false);

/** Renders in one piece and in pieces of several sizes; the rows must be the same, and every tail a possible ending. */
function render(text: string, width = 60, style = plain, links = false): string[] {
  const run = (size: number): string[] => {
    const stream = new MarkdownStream(style, links, () => width);
    const rows: string[] = [];
    let widest = 0;
    for (let at = 0; at < text.length; at += size) {
      stream.push(text.slice(at, at + size));
      rows.push(...stream.take());
      for (const row of stream.tail()) widest = Math.max(widest, Bun.stringWidth(row));
    }
    stream.end();
    // Code is never wrapped.
    if (!/```|~~~|\t| {4}/.test(text)) expect(widest).toBeLessThanOrEqual(width);
    return [...rows, ...stream.take()];
  };
  const whole = run(Math.max(1, text.length));
  // A long text in single characters would only take long.
  for (const size of text.length > 5000 ? [97, 4001] : [1, 2, 5, 13]) expect(run(size)).toEqual(whole);
  return whole;
}

describe("blocks", () => {
  test("headings, paragraphs and rules stand apart", () => {
    expect(render("# One\ntext\nmore\n\n\n\nnext\n***\nTwo\n===\nx")).toEqual([
      "# One",
      "",
      "text more",
      "",
      "next",
      "",
      "─".repeat(40),
      "",
      "Two",
      "",
      "x",
    ]);
  });

  test("lists keep their numbers and depth, and wrap below their text", () => {
    expect(
      render("- one two three four\n  - five\n    1. six\n- [x] done\n- [ ] open\n\n  below\n\nafter", 14),
    ).toEqual([
      "- one two",
      "  three four",
      "  - five",
      "    1. six",
      "- [x] done",
      "- [ ] open",
      "",
      "  below",
      "",
      "after",
    ]);
    expect(render("3) three\n4) four")).toEqual(["3) three", "4) four"]);
  });

  test("quotes have a bar on every row", () => {
    expect(render("> one two three\n> four\n\nfive", 12)).toEqual(["│ one two", "│ three four", "", "five"]);
  });

  test("code is left as it is, whatever stands in it", () => {
    expect(render("```sh\n# no *heading*\n\n  a | b\n```\nafter", 10)).toEqual([
      "─── sh",
      "# no *heading*",
      "",
      "  a | b",
      "───",
      "",
      "after",
    ]);
    expect(render("~~~\n```\n~~~")).toEqual(["───", "```", "───"]);
    expect(render("- item\n  ```\n  code\n    in\n  ```")).toEqual(["- item", "  ───", "  code", "    in", "  ───"]);
    expect(render("text\n\n    indented code")).toEqual(["text", "", "    indented code"]);
    expect(render("```\nunclosed")).toEqual(["───", "unclosed"]);
  });

  test("hard breaks stay, soft ones do not", () => {
    expect(render("one  \ntwo\\\nthree\nfour")).toEqual(["one", "two", "three four"]);
  });

  test("CRLF and a lone carriage return end lines", () => {
    expect(render("a\r\n\r\nb")).toEqual(["a", "", "b"]);
  });

  test("a long paragraph is given out row by row while it grows", () => {
    const stream = new MarkdownStream(plain, false, () => 20);
    stream.push("word ".repeat(100));
    expect(stream.take().length).toBeGreaterThan(20);
    expect(stream.tail().length).toBeLessThan(5);
  });

  test("nothing jumps: what is open is shown as closed", () => {
    const stream = new MarkdownStream(color, false, () => 40);
    stream.push("now **bold te");
    expect(stream.tail()).toEqual([`now ${color.bold("bold te")}`]);
    stream.push("xt** and `co");
    expect(stream.tail()).toEqual([`now ${color.bold("bold text")} and ${color.code("co")}`]);
    stream.push("de` [a link](http://e");
    expect(stream.tail()[0]).toContain(color.link("a link"));
    for (const unclear of ["\n\n", "``", "`"]) stream.push(unclear);
    stream.take();
    expect(stream.tail()).toEqual([]);
  });
});

test("any text, cut anywhere, gives the same rows", () => {
  const seeded = new Seeded(11);
  for (let i = 0; i < cases(300); i++) render(seeded.text(ATOMS, 30), seeded.of([20, 40, 79]), color);
});

const ATOMS = [
  ..."** * _ ` ``` ~~~ ~~ # - 1. > | --- === \\ [ ] ! < + 漢字 👨‍👩‍👧 e\u0301".split(" "),
  "word ",
  "\n",
  "\n\n",
  "# ",
  "- ",
  "> ",
  "| a | b |",
  "|---|---|",
  "](http://x.y)",
  "http://a.b/c ",
  "    ",
  "\t",
  "longwordlongwordlongword ",
  "[ ] ",
  "some more text here ",
];

test("what has no end is given out in parts", () => {
  const words = Array.from({ length: 4000 }, (_, i) => `word${i}`);
  expect(render(words.join(" "), 79).join(" ").split(" ")).toEqual(words);
  expect(render("x".repeat(20_000), 79).join("")).toBe("x".repeat(20_000));
  const rows = render(
    `| n | square |\n|--:|--:|\n${Array.from({ length: 450 }, (_, i) => `| ${i} | ${i * i} |\n`).join("")}`,
  );
  expect(rows.filter((row) => row.endsWith("square"))).toHaveLength(3);
  expect(rows.filter((row) => /\d │/.test(row))).toHaveLength(450);
});

describe("tables", () => {
  const table = "| name | value |\n|:--|--:|\n| a | 1 |\n| longer `x|y` | 22 |\n";

  test("columns are aligned, and wide characters count twice", () => {
    expect(render(`${table}| 漢字 | 3 |\n\nafter`)).toEqual([
      "name         │ value",
      "─────────────┼──────",
      "a            │     1",
      "longer `x|y` │    22",
      "漢字         │     3",
      "",
      "after",
    ]);
  });

  test("cells wrap where the table is too wide", () => {
    const rows = render("| a | b |\n|---|---|\n| one two three four five | six seven eight nine ten |", 30);
    expect(rows.every((row) => Bun.stringWidth(row) <= 30)).toBe(true);
    expect(rows.join(" ")).toContain("three");
  });

  test("too many columns become lists", () => {
    const head = Array.from({ length: 12 }, (_, i) => `h${i}`).join("|");
    const body = Array.from({ length: 12 }, (_, i) => `value${i}`).join("|");
    const rows = render(`|${head}|\n|${"-|".repeat(12)}\n|${body}|\n|${body}|`, 30);
    expect(rows.slice(0, 2)).toEqual(["h0: value0", "h1: value1"]);
    expect(rows).toContain("");
  });

  test("centred cells, escaped bars, rows that are short", () => {
    expect(render("| h | middle |\n|---|:-:|\n| a\\|b | x |\n| c |")).toEqual([
      "h   │ middle",
      "────┼───────",
      "a|b │   x",
      "c   │",
    ]);
  });
});

describe("inline", () => {
  const show = (text: string): string => inline(text, { style: color, links: false, growing: false });

  test("marks that are marks", () => {
    expect(show("**b** __b__ *i* _i_ ***bi*** ~~s~~ `c` ``a`b``")).toBe(
      [
        color.bold("b"),
        color.bold("b"),
        color.italic("i"),
        color.italic("i"),
        color.bold(color.italic("bi")),
        color.strike("s"),
        color.code("c"),
        color.code("a`b"),
      ].join(" "),
    );
  });

  test("marks that are not", () => {
    for (const text of ["2 * 3 * 4", "snake_case_name", "a ** b", "~/path ~", "**open", "`open", "[no link]", "\\*"]) {
      expect(show(text)).toBe(text.replace("\\", ""));
    }
    expect(inline("**x ".repeat(8000), { style: color, links: false, growing: false })).toContain("**x");
  });

  test("links are clickable where the terminal can, and readable where it cannot", () => {
    const linked = inline("[text](https://e.com/a_(b)) <https://x.y> http://z.w/q.", {
      style: plain,
      links: true,
      growing: false,
    });
    expect(linked).toContain("\x1b]8;;https://e.com/a_(b)\x1b\\text\x1b]8;;\x1b\\");
    expect(linked).toContain("\x1b]8;;http://z.w/q\x1b\\");
    expect(inline("[text](https://e.com)", { style: plain, links: false, growing: false })).toBe(
      "text (https://e.com)",
    );
    const links = (text: string) => inline(text, { style: plain, links: true, growing: false });
    expect(links("[https://e.com](https://evil.example/x)")).toEndWith(" (https://evil.example/x)");
    expect(links("[see e.com](https://evil.example/)")).toEndWith(" (https://evil.example/)");
    expect(links("[e.com/a](https://e.com/a)")).not.toContain("(");
    expect(links("[the page](https://e.com/a)")).not.toContain("(");
    expect(inline("[x](javascript:alert)", { style: plain, links: true, growing: false })).toBe("x (javascript:alert)");
    expect(supportsLinks({ TERM_PROGRAM: "WezTerm" }, true)).toBe(true);
    expect(supportsLinks({ VTE_VERSION: "7200" }, true)).toBe(true);
    expect(supportsLinks({ TERM: "foot" }, true)).toBe(true);
    for (const env of [{ TERM: "dumb" }, { TMUX: "x", TERM_PROGRAM: "WezTerm" }, { TERM: "xterm" }]) {
      expect(supportsLinks(env, true)).toBe(false);
    }
  });
});

describe("code colours", () => {
  const show = (line: string, language: string, state = ""): string => highlight(line, language, state, color).text;

  test("shell", () => {
    expect(show('if [ "$x" ]; then echo $HOME # why', "bash")).toBe(
      `${color.keyword("if")} [ ${color.string('"$x"')} ]; ${color.keyword("then")} ${color.keyword("echo")} ${color.name("$HOME")} ${color.comment("# why")}`,
    );
  });

  test("what spans lines is carried over", () => {
    const first = highlight("x = '''a", "python", "", color);
    expect(first.state).toBe("'''");
    expect(highlight("b", "python", first.state, color)).toEqual({ text: color.string("b"), state: "'''" });
    expect(highlight("c''' # d", "python", first.state, color).text).toContain(color.comment("# d"));
    expect(show("/* a */ 1", "ts")).toBe(`${color.comment("/* a */")} ${color.number("1")}`);
  });

  test("settings, JSON, diffs; unknown languages and no colour stay plain", () => {
    expect(show("key = true", "toml")).toBe(`${color.name("key")} = ${color.keyword("true")}`);
    expect(show('"a": "b"', "json")).toBe(`${color.name('"a"')}: ${color.string('"b"')}`);
    expect(["+a", "-b", "@@ 1", "--- x", " c"].map((line) => show(line, "diff"))).toEqual([
      color.added("+a"),
      color.removed("-b"),
      color.number("@@ 1"),
      color.bold("--- x"),
      " c",
    ]);
    expect(show("if x", "brainfuck")).toBe("if x");
    expect(highlight("if x", "bash", "", plain).text).toBe("if x");
  });
});

test("markdown = false shows the text as it is", () => {
  const stream = new PlainStream(() => 10);
  stream.push("# one\n**tw");
  expect([stream.take(), stream.tail()]).toEqual([["# one"], ["**tw"]]);
  stream.push("o**");
  stream.end();
  expect([stream.take(), stream.tail()]).toEqual([["**two**"], []]);
});

describe("code in lists", () => {
  const rendered = (text: string): string[] => {
    const stream = new MarkdownStream(theme(false), false, () => 60);
    for (const character of text) stream.push(character);
    stream.end();
    return stream.take();
  };

  test("a fence below an item stays below it", () => {
    expect(rendered("1. first\n\n   ```sh\n   ls -l\n     more\n   ```\n2. second\n")).toEqual([
      "1. first",
      "",
      "   ─── sh",
      "   ls -l",
      "     more",
      "   ───",
      "",
      "2. second",
    ]);
  });

  test("lines set in by four keep their lines and blanks", () => {
    expect(rendered("- a\n\n      one\n        two\n\n- b\n")).toEqual([
      "- a",
      "",
      "      one",
      "        two",
      "",
      "- b",
    ]);
  });

  test("a blank line behind a fence is kept", () => {
    expect(rendered("- a\n  ```\n  x\n  ```\n\n- b\n")).toEqual(["- a", "  ───", "  x", "  ───", "", "- b"]);
  });
});
