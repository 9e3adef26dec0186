/** Words of buddy's own on screens of any width. */
import { expect, test } from "bun:test";
import { wrapped } from "../../src/ui/words.ts";

test("rows break between words, below their own beginning; a path stays in one piece", () => {
  const path = "/a/very/long/path/that/is/to/be/copied";
  const rows = wrapped(["fits", "  two words and some more of them", `saved ${path}`], 20);
  expect(rows).toEqual(["fits", "  two words and some", "  more of them", "saved", path]);
});
