import { expect, test } from "bun:test";
import { nameFrom, nameFromMark, shownName, withBytes } from "../../src/lib/byte-names.ts";

const bytes = (...values: number[]) => Buffer.from(values);

test("any bytes come back the same, and UTF-8 is the text it is", () => {
  expect(nameFrom(Buffer.from("/srv/é🙂\ufffd"))).toBe("/srv/é🙂\ufffd");
  const awkward = [
    bytes(0x2f, 0xe9),
    bytes(0xff, 0xfe, 0x2f),
    bytes(0xed, 0xb3, 0xa9),
    bytes(0xc3),
    bytes(0xf0, 0x9f, 0x99, 0x41, 0xe9, 0xc3, 0xa9, 0xef, 0xbf, 0xbd),
    ...Array.from({ length: 200 }, () => Buffer.from(crypto.getRandomValues(new Uint8Array(24)))),
  ];
  for (const one of awkward) expect(Buffer.from(withBytes(nameFrom(one)))).toEqual(one);
  expect(withBytes("half \ud83d of one")).toEqual(Buffer.from("half \ufffd of one"));
});

test("a mark carries bytes as two digits each", () => {
  expect(nameFromMark("/srv/plain dir")).toBe("/srv/plain dir");
  expect(nameFromMark("/a%1B%07%0a%25%c3%A9%E9%")).toBe("/a\u001b\u0007\n%é\udce9%");
  expect(nameFromMark("/50%/%zz")).toBe("/50%/%zz");
});

test("a name is shown on one line, without anything that a terminal obeys", () => {
  expect(shownName("/a\u001b]0;x\u0007\n\u202e\udce9\ud83d é🙂")).toBe(
    "/a\\x1b]0;x\\x07\\x0a\\u{202e}\\xe9\\u{d83d} é🙂",
  );
});
