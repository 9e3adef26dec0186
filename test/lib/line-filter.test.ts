/** Which lines match, in bounded time. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { BuddyError } from "../../src/lib/errors.ts";
import { LineFilter, LONGEST_SEARCHED } from "../../src/lib/line-filter.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/until.ts";

const { test } = await needs("linux");

test.each(["b", "^b", "b+", "(?:b|c)$"])("%s finds the lines that match", async (pattern) => {
  using filter = new LineFilter(pattern);
  expect(await filter.test(["abc", "b", "none"])).toEqual({
    matches: ["abc", "b", "none"].map((line) => new RegExp(pattern).test(line)),
    gaveUp: false,
  });
  expect((await filter.test([])).matches).toEqual([]);
  expect((await filter.test(["x", "b"])).matches).toEqual([false, true]);
});

test("a hostile expression is given up, and nothing waits for it meanwhile", async () => {
  using filter = new LineFilter("^(a+)+$");
  let turns = 0;
  const clock = setInterval(() => turns++, 20);
  const tested = await filter.test(["aaa", ...Array.from({ length: 50 }, () => `${"a".repeat(40)}b`)]);
  clearInterval(clock);
  expect(tested.gaveUp).toBe(true);
  expect(turns).toBeGreaterThan(10);
  expect((await filter.test(["aaa"])).gaveUp).toBe(true);
});

test("a line that would take hours costs nothing any more once it was given up", async () => {
  const children = () => readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean);
  const before = new Set(children());
  using filter = new LineFilter("[^]*[^]*[^]*x");
  expect(await filter.test(["ax", "a".repeat(LONGEST_SEARCHED)])).toEqual({ matches: [true], gaveUp: true });
  await until(() => children().every((pid) => before.has(pid)), "no process is left");
});

test("a deeply nested expression is tested as any other", async () => {
  using filter = new LineFilter(`${"(".repeat(5000)}a${")".repeat(5000)}`);
  expect((await filter.test(["b", "a"])).matches).toEqual([false, true]);
});

test("what is not a regular expression is refused", () => {
  expect(() => new LineFilter("(")).toThrow(BuddyError);
});
