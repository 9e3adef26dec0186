import { describe, expect, test } from "bun:test";
import type { Completer } from "../../../src/ui/editor/completion.ts";
import { Editor, type EditorAction } from "../../../src/ui/editor/editor.ts";
import { History } from "../../../src/ui/editor/history.ts";
import { layout } from "../../../src/ui/editor/line-buffer.ts";
import { KeyDecoder } from "../../../src/ui/terminal/keys.ts";
import { theme } from "../../../src/ui/theme.ts";
import { encode } from "../../support/pty.ts";
import { cases, Seeded } from "../../support/seeded.ts";

class Rig {
  readonly history = new History(undefined);
  readonly editor: Editor;
  last: EditorAction = { kind: "none" };
  changes = 0;

  constructor(complete: Completer = () => undefined, entries: readonly string[] = []) {
    for (const entry of entries) this.history.add(entry);
    this.editor = new Editor(this.history, complete, () => this.changes++);
  }

  /** Types text; keys in brackets by name: "abc[left]d". */
  type(text: string): this {
    for (const part of text.split(/(\[[a-z][a-z_<>-]*\])/)) {
      const bytes = /^\[.+\]$/.test(part) ? encode(part.slice(1, -1)) : part;
      const decoder = new KeyDecoder();
      for (const input of [...decoder.push(bytes), ...decoder.flush()]) this.last = this.editor.handle(input);
    }
    return this;
  }

  /** The text with a bar where the cursor is. */
  get shown(): string {
    const { text, before } = this.editor.buffer;
    return `${before}|${text.slice(before.length)}`;
  }
}

describe("editing", () => {
  const cases: Record<string, string> = {
    "abc[left]d": "abd|c",
    "abc[ctrl-a]x": "x|abc",
    "abc[home]x[end]y": "xabcy|",
    "abc[ctrl-a][ctrl-f]x[ctrl-e]": "axbc|",
    "abc[ctrl-b][ctrl-b]x": "ax|bc",
    "abc[backspace][ctrl-h]": "a|",
    "abc[ctrl-a][delete][ctrl-d]": "|c",
    "one two[ctrl-a][ctrl-k]": "|",
    "one two[ctrl-a][ctrl-k]x[ctrl-y]": "xone two|",
    "one two[ctrl-u]x[ctrl-y]": "xone two|",
    "one two-three[ctrl-w]": "one |",
    "one two-three[alt-backspace]": "one two-|",
    "one two three[alt-b][alt-b]x": "one x|two three",
    "one two three[ctrl-a][alt-f]x": "onex| two three",
    "one two three[ctrl-left]x[ctrl-right]": "one two xthree|",
    "one two[ctrl-a][alt-d]": "| two",
    "one two[ctrl-w][ctrl-w]x[ctrl-y]": "xone two|",
    "ab[ctrl-t]": "ba|",
    "one[alt-enter]two": "one\ntwo|",
    "one[alt-enter]two[ctrl-a]x[up][ctrl-e]y": "oney|\nxtwo",
    "one[alt-enter]two[ctrl-a][backspace]": "one|two",
    "one[alt-enter]two[up][ctrl-e][ctrl-k]": "one|two",
    "abc[ctrl-_]x": "x|",
    "abc[ctrl-w][ctrl-_]": "abc|",
    // Clusters go as one: a letter with its accent, a family, a flag.
    "e\u0301x[left][left]y": "y|e\u0301x",
    "a👨‍👩‍👧b[left][backspace]": "a|b",
    "🇩🇪🇫🇷[backspace]": "🇩🇪|",
    "שלום[left]x": "שלוx|ם",
    "漢字[left]x": "漢x|字",
  };
  for (const [keys, shown] of Object.entries(cases)) {
    test(keys, () => expect(new Rig().type(keys).shown).toBe(shown));
  }

  test("Enter sends, an empty line sends nothing", () => {
    const rig = new Rig().type("hello[enter]");
    expect(rig.last).toEqual({ kind: "submit", text: "hello", shown: "hello" });
    expect(rig.type("  [enter]").last).toEqual({ kind: "none" });
  });

  test("keys that belong to the REPL are passed on", () => {
    const kinds = ["ctrl-c", "ctrl-d", "ctrl-l", "ctrl-z", "ctrl-o"].map(
      (name) => new Rig().type(`[${name}]`).last.kind,
    );
    expect(kinds).toEqual(["interrupt", "end", "clear-screen", "suspend", "toggle-reasoning"]);
    expect(new Rig().type("x[ctrl-d]").last.kind).toBe("none");
  });
});

describe("pastes", () => {
  const paste = (rig: Rig, text: string): void => void rig.editor.handle({ kind: "paste", text, cut: false });

  test("a short one stands in the line as it is, without control characters", () => {
    const rig = new Rig().type("a ");
    paste(rig, "b\r\nc\x1b[31m\td\n");
    expect(rig.shown).toBe("a b\nc[31m\td|");
  });

  test("10 000 lines are folded, sent whole, and deleted as one", () => {
    const rig = new Rig().type("see ");
    const text = Array.from({ length: 10_000 }, (_, i) => `line ${i}`).join("\n");
    paste(rig, text);
    const rows = layout(rig.editor.buffer.cells, rig.editor.buffer.cursor, 2, 79).rows;
    expect(rows.map((row) => row.text)).toEqual(["see [pasted 10000 lines]"]);
    rig.type("[backspace]");
    expect(rig.shown).toBe("see |");
    paste(rig, text);
    rig.type(" please[enter]");
    expect(rig.last).toEqual({ kind: "submit", text: `see ${text} please`, shown: "see [pasted 10000 lines] please" });
  });

  test("one very long line is folded, too", () => {
    const rig = new Rig();
    paste(rig, "x".repeat(5000));
    expect(layout(rig.editor.buffer.cells, 1, 2, 79).rows[0]?.text).toBe("[pasted 5000 characters]");
  });
});

describe("history", () => {
  test("a prompt of thousands of lines came back unfolded, and every key waited for it", () => {
    const long = `see 👩‍👩‍👧 ${Array.from({ length: 10_000 }, (_, i) => `line ${i}`).join("\n")}`;
    const rig = new Rig(undefined, [long, "x".repeat(30_000)]).type("[up][up]");
    const shown = () => rig.editor.buffer.cells.map((cell) => (typeof cell === "string" ? cell : cell.shown)).join("");
    expect(shown()).toBe("see 👩‍👩‍👧 line 0[9999 lines]");
    expect(rig.editor.buffer.text).toBe(long);
    rig.type("[down]");
    expect(shown()).toBe(`${"x".repeat(40)}[29960 characters]`);
    rig.type(" more[enter]");
    expect(rig.last).toMatchObject({ kind: "submit", text: `${"x".repeat(30_000)} more` });
  });

  const entries = ["first", "second one", "third\nline"];

  test("Up and Down walk through it and come back to what was typed", () => {
    const rig = new Rig(undefined, entries).type("draft[up]");
    expect(rig.shown).toBe("third\nline|");
    expect(rig.type("[up][up]").shown).toBe("second one|");
    expect(rig.type("[ctrl-p][up][up]").shown).toBe("first|");
    expect(rig.type("[ctrl-n][ctrl-n][ctrl-n]").shown).toBe("draft|");
    expect(rig.type("[down]").shown).toBe("draft|");
    expect(rig.type("[alt-<]").shown).toBe("first|");
    expect(rig.type("[alt->]").shown).toBe("draft|");
  });

  test("Ctrl-R finds what contains the letters, again finds older ones", () => {
    const rig = new Rig(undefined, ["deploy web1", "status", "deploy web2"]).type("x[ctrl-r]dep");
    expect(rig.editor.search?.match).toBe("deploy web2");
    expect(rig.type("[ctrl-r]").editor.search?.match).toBe("deploy web1");
    expect(rig.type("[ctrl-r]").editor.search?.failed).toBe(true);
    expect(rig.type("[ctrl-s]").editor.search?.match).toBe("deploy web2");
    expect(rig.type("[ctrl-e]!").shown).toBe("deploy web2!|");
  });

  test("Ctrl-R: Enter runs it, Ctrl-G gives the line back, Escape edits it", () => {
    expect(new Rig(undefined, entries).type("[ctrl-r]sec[enter]").last).toMatchObject({
      kind: "submit",
      text: "second one",
    });
    expect(new Rig(undefined, entries).type("kept[ctrl-r]sec[ctrl-g]").shown).toBe("kept|");
    expect(new Rig(undefined, entries).type("kept[ctrl-r]sec[escape]").shown).toBe("second one|");
    expect(new Rig(undefined, entries).type("kept[ctrl-r]zzz[backspace][backspace][backspace]fir[tab]").shown).toBe(
      "first|",
    );
  });
});

describe("completion", () => {
  const complete: Completer = (before) => {
    const items = ["/status", "/session ", "/model "].filter((name) => name.startsWith(before));
    if (!before.startsWith("/")) return undefined;
    return {
      replaces: before.length,
      items: items.map((value) => ({ value, label: value, hint: "", complete: !value.endsWith(" ") })),
    };
  };

  test("the drop-down opens while typing, Tab takes the selection", () => {
    const rig = new Rig(complete).type("/s");
    expect(rig.editor.dropDown?.items.map(({ value }) => value)).toEqual(["/status", "/session "]);
    expect(rig.type("[tab]").shown).toBe("/status|");
    expect(rig.editor.dropDown).toBeUndefined();
  });

  test("arrows choose; Enter then runs what is complete and fills in what is not", () => {
    expect(new Rig(complete).type("/s[down][up][enter]").last).toMatchObject({ kind: "submit", text: "/status" });
    const rig = new Rig(complete).type("/s[down][enter]");
    expect([rig.last.kind, rig.shown]).toEqual(["none", "/session |"]);
    expect(new Rig(complete).type("/s[enter]").last).toMatchObject({ kind: "submit", text: "/s" });
  });

  test("Escape closes it, a recalled line does not open it", () => {
    const rig = new Rig(complete, ["/status x"]).type("/s[escape]");
    expect(rig.editor.dropDown).toBeUndefined();
    expect(new Rig(complete, ["/m"]).type("[up]").editor.dropDown).toBeUndefined();
  });

  test("a late answer shows up only if the text is still the same", async () => {
    const gate = Promise.withResolvers<void>();
    const late: Completer = async (before) => {
      await gate.promise;
      return {
        replaces: 1,
        items: [
          { value: before, label: `for ${before}`, hint: "", complete: true },
          { value: "x", label: "x", hint: "", complete: true },
        ],
      };
    };
    const rig = new Rig(late).type("ab");
    gate.resolve();
    await gate.promise;
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
    expect(rig.editor.dropDown?.items[0]?.label).toBe("for ab");
    expect(rig.changes).toBe(1);
  });

  test("a long list shows eight rows around the selection, and how many more there are", () => {
    const many: Completer = () => ({
      replaces: 0,
      items: Array.from({ length: 30 }, (_, i) => ({
        value: `v${i}`,
        label: `v${i}`,
        hint: "what it is",
        complete: true,
      })),
    });
    const rig = new Rig(many).type("x");
    expect(rig.editor.dropDown?.rows(40, 20, theme(false))).toHaveLength(8);
    expect(rig.editor.dropDown?.rows(40, 20, theme(false)).at(-1)).toContain("(22 more)");
    rig.type("[up]");
    expect(rig.editor.dropDown?.rows(40, 3, theme(false)).at(-1)).toBe("› v29  what it is");
  });
});

test("no keys in any order break the line or put the cursor outside", () => {
  const seeded = new Seeded(5);
  const rig = new Rig(
    (before) => ({ replaces: before.length, items: [{ value: "/x", label: "/x", hint: "", complete: true }] }),
    ["one", "two\nlines", "/status"],
  );
  for (let i = 0; i < cases(3000); i++) {
    const columns = 4 + seeded.below(80);
    rig.editor.view = { promptWidth: seeded.below(12), columns };
    rig.type(seeded.of(ANY_KEY));
    const { cells, cursor } = rig.editor.buffer;
    if (cells.length > 300) rig.editor.clear();
    const view = layout(cells, cursor, rig.editor.view.promptWidth, columns);
    expect(view.cursor.row).toBeLessThan(view.rows.length);
    expect(view.cursor.col).toBeLessThanOrEqual(columns);
    for (const row of view.rows) expect(row.indent + Bun.stringWidth(row.text)).toBeLessThanOrEqual(columns);
  }
});

const ANY_KEY = [
  ..."a b 漢 👨‍👩‍👧 e\u0301 \u0301 ש / @".split(" "),
  ..."left right up down home end tab escape enter delete backspace".split(" ").map((name) => `[${name}]`),
  ..."aekuwytdrsgpnbf_".split("").map((letter) => `[ctrl-${letter}]`),
  "[alt-b]",
  "[alt-f]",
  "[alt-d]",
  "[alt-enter]",
  "[alt-<]",
  "[alt->]",
  " ",
  "\t",
  "\x1b[200~one\ntwo\x1b[201~",
  `\x1b[200~${"line\n".repeat(30)}\x1b[201~`,
];

describe("layout", () => {
  const place = (text: string, columns: number, prompt = 2): string => {
    const rig = new Rig().type(text.replaceAll("\n", "[alt-enter]"));
    const view = layout(rig.editor.buffer.cells, rig.editor.buffer.cursor, prompt, columns);
    return `${view.rows.map((row) => row.text).join("/")} ${view.cursor.row}:${view.cursor.col}`;
  };

  test("long lines wrap, the cursor has a column of its own", () => {
    expect(place("abcdefgh", 10)).toBe("abcdefgh/ 1:2");
    expect(place("abcdefg", 10)).toBe("abcdefg 0:9");
    expect(place("abcdefghij", 10)).toBe("abcdefgh/ij 1:4");
  });

  test("a wide character never stands half outside", () => {
    expect(place("abcdefg漢", 10)).toBe("abcdefg/漢 1:4");
    expect(place("漢字漢字", 10)).toBe("漢字漢字/ 1:2");
  });

  test("lines, tabs and a prompt wider than the terminal", () => {
    expect(place("a\nb\n", 10)).toBe("a/b/ 2:2");
    expect(layout(["\t", "x"], 2, 2, 20).rows[0]?.text).toBe("    x");
    expect(layout(["x", "y"], 2, 50, 10).cursor).toEqual({ row: 1, col: 2 });
  });

  test("Up and Down keep the column over short and wrapped rows", () => {
    const rig = new Rig();
    rig.editor.view = { promptWidth: 2, columns: 12 };
    rig.type("abcdefgh[alt-enter]x[alt-enter]abcdefghijkl");
    expect(rig.type("[up]").shown).toBe("abcdefgh\nx\nab|cdefghijkl");
    expect(rig.type("[up]").shown).toBe("abcdefgh\nx|\nabcdefghijkl");
    expect(rig.type("[up]").shown).toBe("ab|cdefgh\nx\nabcdefghijkl");
    expect(rig.type("[down][down]").shown).toBe("abcdefgh\nx\nab|cdefghijkl");
  });
});
