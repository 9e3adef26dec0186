/** The page of benchmarks is made of figures: rows, spread, goals met and missed. */
import { expect, test } from "bun:test";
import { figure } from "../../bench/support/figures.ts";
import { benchmarksPage } from "../../bench/support/page.ts";
import { ratioOf, ratioRow } from "../../bench/support/ratio.ts";

test("samples give their median and spread, and a goal is met or missed", () => {
  expect(figure("a", [5, 1, 2, 3, 4], "ms", "≤ 3")).toEqual({
    name: "a",
    value: 3,
    unit: "ms",
    spread: [1, 5],
    goal: "≤ 3",
    met: true,
  });
  expect(figure("b", 7, "×", "≥ 8").met).toBe(false);
  expect(() => figure("c", 7, "×", "about 8")).toThrow("not a goal");
});

test("the page has a table for each bench, and says how many goals are met", () => {
  const figures = {
    startup: [figure("a start", [4, 5, 6], "ms", "≤ 9"), figure("… slow", 12.34, "ms", "≤ 9")],
    other: [],
  };
  const page = benchmarksPage({ machine: "2 × a core", date: "2026-01-05", load: "0.1", figures });
  expect(page).toContain("2026-01-05, 2 × a core, load average 0.1");
  expect(page).toContain("| a start | 5.00 ms | 4.00–6.00 | ≤ 9 |");
  expect(page).toContain("| … slow | 12.3 ms |  | ≤ 9, missed |");
  expect(page).toContain("1 of 2 goals are met");
  expect(page).not.toContain("other");
});

test("two binaries differ only where the interval of their ratio leaves 1 out", () => {
  const pairs = (ratios: readonly number[]) => ratios.map((ratio) => [10 * ratio, 10] as const);
  const slower = ratioOf("a", "ms", pairs([1.2, 1.1, 1.3, 1.2, 1.2, 1.4, 1.2, 1.1]));
  expect(slower).toMatchObject({ ratio: 1.2, other: 10, interval: [1.1, 1.3] });
  expect(ratioRow(slower)).toEndWith("more");
  expect(ratioRow(ratioOf("a", "ms", pairs([1.2, 0.9, 1.1, 0.8, 1, 1.3, 0.9, 1.1])))).toEndWith("same");
  expect(ratioOf("a", "ms", pairs([1.2, 1.1, 1.3])).interval).toBeUndefined();
});
