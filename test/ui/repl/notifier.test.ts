import { describe, expect, test } from "bun:test";
import { Notifier } from "../../../src/ui/repl/notifier.ts";
import { ago, clock, compactNumber, seconds } from "../../../src/ui/words.ts";

function notifier(how: "auto" | "bell" | "osc9" | "off", env: Record<string, string> = {}) {
  const written: string[] = [];
  return { written, notifier: new Notifier(how, env, (text) => written.push(text)) };
}

describe("notifications", () => {
  test("only long tasks and questions, and only while the terminal has no focus", () => {
    const { written, notifier: it } = notifier("bell");
    it.taskEnded(1, 60_000, "is done");
    it.focus(true);
    it.approvalWaits("x");
    it.focus(false);
    it.taskEnded(1, 19_000, "is done");
    expect(written).toEqual([]);
    it.taskEnded(1, 20_000, "is done");
    it.approvalWaits("x");
    expect(written).toEqual(["\x07", "\x07"]);
    it.key();
    it.approvalWaits("x");
    expect(written).toHaveLength(2);
  });

  test("a notification where the terminal shows them, and nothing smuggled into it", () => {
    const { written, notifier: it } = notifier("auto", { TERM_PROGRAM: "iTerm.app" });
    it.focus(false);
    it.approvalWaits("a\x07b\x1b;c");
    expect(written).toEqual(["\x1b]9;buddy asks: a b  c\x07"]);
    for (const env of [{ TMUX: "x", TERM_PROGRAM: "iTerm.app" }, { TERM: "xterm" }]) {
      const other = notifier("auto", env as Record<string, string>);
      other.notifier.focus(false);
      other.notifier.approvalWaits("x");
      expect(other.written).toEqual(["\x07"]);
    }
    const off = notifier("off");
    off.notifier.focus(false);
    off.notifier.approvalWaits("x");
    expect(off.written).toEqual([]);
  });
});

test("numbers and times", () => {
  expect([5, 1234, 12_345, 1_234_567].map(compactNumber)).toEqual(["5", "1.2k", "12k", "1.2M"]);
  expect([800, 12_400, 75_000, 3_700_000].map(seconds)).toEqual(["0.8s", "12s", "1m15s", "1h01m"]);
  expect([999, 61_000].map(clock)).toEqual(["0s", "1m01s"]);
  const now = Date.parse("2026-01-10T00:00:00Z");
  const times = ["2026-01-10T00:00:00Z", "2026-01-09T23:50:00Z", "2026-01-09T12:00:00Z", "2026-01-01T00:00:00Z", "?"];
  expect(times.map((time) => ago(time, now))).toEqual(["just now", "10 min ago", "12 h ago", "9 days ago", ""]);
});
