import { expect, test } from "bun:test";
import { parseApproveMode } from "../../src/lib/durations.ts";

test.each(["ask", "all", "none"] as const)("%s is a mode", (word) => {
  expect(parseApproveMode(word)).toEqual({ kind: word });
});

test("a duration approves for that long", () => {
  expect(parseApproveMode("90")).toEqual({ kind: "duration", ms: 90_000 });
});

test.each(["x", "", "0", "-5m", "99999d"])("%p is not a mode", (text) => {
  expect(parseApproveMode(text)).toBeUndefined();
});
