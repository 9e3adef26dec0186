/** A text that arrives in pieces. */
import { expect, test } from "bun:test";
import { GrowingText } from "../../src/model/growing-text.ts";
import { Malformed } from "../../src/model/provider-error.ts";

test("it is all of its pieces, whenever it is asked for", () => {
  const text = new GrowingText("start ");
  let expected = "start ";
  for (let at = 0; at < 5_000; at++) {
    const piece = at % 1_000 === 999 ? "z".repeat(100_000) : at % 7 === 0 ? "" : `t${at} `;
    text.add(piece);
    expected += piece;
    if (at % 1_700 === 0) expect(String(text) === expected).toBe(true);
    // Another text of the same length leaves it as it is.
    if (at % 1_300 === 0) text.share(at % 2_600 === 0 ? expected : `${expected.slice(0, -1)}?`);
  }
  expect(text.length).toBe(expected.length);
  expect(String(text) === expected).toBe(true);
});

test("one without an end is refused", () => {
  const text = new GrowingText();
  const endless = () => {
    for (let at = 0; at < 100; at++) text.add("x".repeat(1 << 20));
  };
  expect(endless).toThrow(Malformed);
});
