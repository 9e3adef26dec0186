import { describe, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { LiveArea, terminalReflows } from "../../../src/ui/terminal/live-area.ts";
import { sandbox } from "../../support/buddy.ts";
import { Emulator } from "../../support/emulator.ts";
import { needs } from "../../support/needs.ts";
import { until } from "../../support/until.ts";
import { quote } from "../../../src/lib/quote.ts";

const { test: tmuxTest } = await needs("tmux");

class Rig {
  readonly area = new LiveArea();
  readonly emulator: Emulator;

  constructor(columns: number, rows: number) {
    this.emulator = new Emulator(columns, rows);
  }

  async show(lines: readonly string[], rows: readonly string[], col = 0, row = rows.length - 1): Promise<string> {
    this.emulator.write(this.area.frame(lines, rows, { row, col }));
    await this.emulator.settle();
    return this.emulator.screen();
  }
}

describe("the live area", () => {
  test("lines are printed once above it and scroll away whole", async () => {
    const rig = new Rig(20, 5);
    for (let i = 0; i < 20; i++) await rig.show([`line ${i}`], [`live ${i}`, "> input"], 7);
    expect(rig.emulator.screen()).toBe("line 17\nline 18\nline 19\nlive 19\n> input");
    expect(rig.emulator.history().split("\n").slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, i) => `line ${i}`));
    expect(rig.emulator.cursor()).toEqual({ row: 4, col: 7 });
  });

  test("it grows, shrinks and changes in any order", async () => {
    const rig = new Rig(20, 8);
    const views = [["> "], ["a", "b", "> "], ["a", "> "], ["a", "x", "y", "z", "> "], ["> "], [], ["one", "> "]];
    for (const [index, rows] of views.entries()) {
      const screen = await rig.show(index === 3 ? ["said"] : [], rows, 0, Math.max(0, rows.length - 1));
      const said = index >= 3 ? ["said"] : [];
      expect(screen).toBe([...said, ...rows].join("\n").trimEnd());
    }
  });

  test("an unchanged row costs nothing", async () => {
    const rig = new Rig(40, 10);
    await rig.show(["x".repeat(30)], ["status", "> a"], 3);
    const bytes = rig.area.frame([], ["status", "> ab"], { row: 1, col: 4 });
    expect(bytes).not.toContain("status");
    expect(bytes.length).toBeLessThan(80);
    expect(rig.area.frame([], ["status", "> ab"], { row: 1, col: 3 })).toBe("\x1b[4G");
    // Not even the column: the window may have another width by now.
    expect(rig.area.frame([], ["status", "> ab"], { row: 1, col: 3 })).toBe("");
  });

  test("lines longer than the terminal wrap and stay whole", async () => {
    const rig = new Rig(10, 6);
    await rig.show(["x".repeat(25), "y".repeat(10), "z"], ["> "], 2);
    expect(rig.emulator.screen().split("\n").slice(-4)).toEqual(["x".repeat(5), "y".repeat(10), "z", ">"]);
  });

  test("clusters that terminals measure differently do not move what stands behind them", async () => {
    const rig = new Rig(40, 4);
    await rig.show([], ["> 👨‍👩‍👧 e\u0301 ❤️ 🇩🇪 xy"], 16);
    expect(rig.emulator.screen()).toContain("xy");
    const row = rig.emulator.screen();
    expect(row.endsWith("xy")).toBe(true);
    expect(rig.emulator.cursor().col).toBe(16);
  });

  test.each(["\t", "\u3248", "\u0980", "\u{1f100}"])(
    "%j, wider on terminals than it is measured, pushes nothing behind the edge",
    async (character) => {
      const rig = new Rig(40, 4);
      await rig.show([], [`> ${character.repeat(25)}; rm x`], 2);
      expect(rig.emulator.screen()).toContain("rm x");
    },
  );

  for (const [from, to] of [
    [40, 20],
    [40, 11],
    [20, 60],
  ] as const) {
    test(`a change of width from ${from} to ${to} leaves no rubbish`, async () => {
      const rig = new Rig(from, 12);
      await rig.show(["said"], ["s".repeat(from - 1), "t".repeat(from - 5), "> typed"], 7);
      rig.emulator.resize(to, 12);
      rig.emulator.write(rig.area.eraseAfterResize(to, true, undefined));
      expect(await rig.show([], ["status", "> typed"], 7)).toBe("said\nstatus\n> typed");
    });
  }

  test("the cursor's own row: left alone by this terminal, wrapped by others", async () => {
    const rig = new Rig(40, 12);
    await rig.show(["said"], [`> ${"a".repeat(33)}`], 35);
    rig.emulator.resize(20, 12);
    await rig.emulator.settle();
    rig.emulator.write(rig.area.eraseAfterResize(20, true, rig.emulator.cursor()));
    expect(await rig.show([], ["> ok"], 4)).toBe("said\n> ok");
    // A terminal that wrapped it says so by the column: the row above goes, too.
    const other = new LiveArea();
    other.frame([], [`> ${"a".repeat(33)}`], { row: 0, col: 35 });
    expect(other.eraseAfterResize(20, true, { row: 1, col: 15 })).toStartWith("\r\x1b[1A\x1b[K");
  });

  for (const between of [[], ["printed meanwhile"], ["a", "b".repeat(30)]]) {
    test(`rows that a smaller window pushed off are gone in the larger one, with ${between.length} lines between`, async () => {
      const rig = new Rig(40, 16);
      const tall = Array.from({ length: 8 }, (_, at) => `${at} ${"live ".repeat(6)}`);
      const low = ["small", "a", "b", "c", "d", "e", "> "];
      await rig.show(["one", "two", "three"], [...tall, "> "], 2);
      const resize = async (columns: number, rows: number): Promise<void> => {
        await rig.emulator.settle();
        rig.emulator.resize(columns, rows);
        await rig.emulator.settle();
        rig.emulator.write(rig.area.eraseAfterResize(columns, true, rig.emulator.cursor()));
      };
      await resize(20, 8);
      // xterm.js gives rows back to a screen that is full.
      await rig.show(between, low, 2);
      await resize(40, 16);
      await rig.show([], ["large", "> "], 2);
      const shown = rig.emulator.history().split("\n");
      expect(shown.filter((row) => row.includes("live"))).toEqual([]);
      expect(shown.join("\n")).toBe(["one", "two", "three", ...between, "large", ">"].join("\n"));
    });
  }

  tmuxTest("tmux in a narrower window: a row that was wider once takes no room", async () => {
    using box = sandbox();
    const tmux = (...args: string[]): string =>
      Bun.spawnSync(["tmux", "-L", "area", "-f", "/dev/null", ...args], { env: box.env }).stdout.toString();
    const area = new LiveArea();
    const rows = (middle: string): string[] => ["first", middle, middle, "> "];
    const frames = [
      area.frame(["said"], rows("x".repeat(70)), { row: 3, col: 2 }),
      area.frame([], rows("short"), { row: 3, col: 2 }),
    ];
    const painted = box.write("painted", `\x1b[8H${frames.join("")}`);
    tmux("new-session", "-d", "-s", "a", "-x", "80", "-y", "24", `exec tail -n +1 -f ${quote(painted)}`);
    const shows = (wanted: RegExp): Promise<boolean> =>
      until(() => wanted.test(tmux("capture-pane", "-pt", "a")), String(wanted));
    await shows(/^short\nshort\n>/m);
    tmux("resize-window", "-t", "a", "-x", "40");
    appendFileSync(painted, `${area.eraseAfterResize(40, true, undefined)}end`);
    await shows(/\nsaid\nend\n/);
  });

  test("terminals that cut instead of wrapping are known", () => {
    expect(terminalReflows({ TERM: "xterm-256color" })).toBe(true);
    expect(terminalReflows({ TERM: "linux" })).toBe(false);
    expect(terminalReflows({ XTERM_VERSION: "XTerm(390)" })).toBe(false);
    expect(terminalReflows({ STY: "1", TMUX: "x" })).toBe(true);
    const area = new LiveArea();
    area.frame([], ["x".repeat(39), "> "], { row: 1, col: 2 });
    expect(area.eraseAfterResize(10, false, undefined)).toStartWith("\r\x1b[1A\x1b[K");
  });
});
