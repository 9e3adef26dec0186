/** Which lines match, in bounded time. */
import { expect, test } from "bun:test";
import { BuddyError } from "../../src/lib/errors.ts";
import { LineFilter } from "../../src/lib/line-filter.ts";

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

test("what is not a regular expression is refused", () => {
  expect(() => new LineFilter("(")).toThrow(BuddyError);
});
