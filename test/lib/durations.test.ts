import { expect, test } from "bun:test";
import { formatDuration, parseDuration } from "../../src/lib/durations.ts";

test.each([
  ["90s", 90_000],
  ["10m", 600_000],
  ["1h30m", 5_400_000],
  ["1h 30m", 5_400_000],
  ["500ms", 500],
  ["1.5s", 1500],
  ["30", 30_000],
  ["2d", 172_800_000],
  ["0", 0],
])("%s is %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

test.each(["", "s", "10 apples", "-5s", "1e9", "10m!", "9999999999999999d", "ask"])("%p is not a duration", (text) =>
  expect(parseDuration(text)).toBeUndefined(),
);

test.each([
  [120_000, "2m"],
  [90_500, "1m31s"],
  [800, "800ms"],
  [86_400_000, "1d"],
  [5_400_000, "1h30m"],
])("%d ms reads %s", (ms, text) => expect(formatDuration(ms)).toBe(text));
