import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { GrowingText } from "../../src/lib/growing-text.ts";
import { gathered, jsonPieces } from "../../src/lib/large-texts.ts";
import { LineSigner } from "../../src/lib/line-signer.ts";
import { SpooledText } from "../../src/lib/spooled-text.ts";
import { nextTurn } from "../../src/lib/waiting.ts";

// A pair of surrogates at every place a piece may end, half a pair, and characters that JSON escapes.
const long = `${'\\"\n🙂'.repeat(300_000)}\ud83d ${"x".repeat(1_000_001)}🙂`;

test.each([
  ["a short value", { a: 1, b: [undefined, null, "x"], c: undefined }],
  ["a long text", long],
  ["a long text inside", { v: 1, left_out: undefined, message: { content: long, calls: [], note: "end" } }],
  [
    "a long list of short texts",
    Array.from({ length: 300 }, (_, at) => ({ role: "user", content: `${at} ${"y".repeat(9_000)}` })),
  ],
  ["a list with a gap", [long, undefined, 1]],
])("JSON in pieces is JSON.stringify's: %s", (_, value) => {
  expect([...jsonPieces(value)].join("") === JSON.stringify(value)).toBe(true);
});

test("no piece of JSON is as long as a long text, and small ones are joined", () => {
  const all = [...gathered(jsonPieces({ a: 1, b: "y".repeat(3 << 20), c: 2 }), ["\n"])];
  expect(Math.max(...all.map((piece) => piece.length))).toBeLessThan(1 << 20);
  expect([...gathered(jsonPieces({ a: 1, b: 2 }), ["\n"])]).toEqual(['{"a":1,"b":2}\n']);
});

test("a long text is cleaned as a whole, everything else together with its name", () => {
  const seen: string[] = [];
  const clean = (text: string) => (seen.push(text), text.replaceAll("secret", "[redacted]"));
  const text = `${"y".repeat(2 << 20)} secret`;
  const json = [...jsonPieces({ password: "secret", text }, clean)].join("");
  expect(JSON.parse(json)).toEqual({ password: "[redacted]", text: text.replace("secret", "[redacted]") });
  expect(seen).toEqual(['"password":"secret"', text]);
});

test("a line signed in pieces is the line signed at once, and a changed byte is found", () => {
  const signer = new LineSigner(new Uint8Array(32).fill(7));
  const value = { v: 1, text: long };
  const line = [...signer.signed(jsonPieces(value))].join("");
  expect(line === signer.sign(JSON.stringify(value))).toBe(true);
  const bytes = new TextEncoder().encode(line);
  expect(signer.isSigned(bytes)).toBe(true);
  bytes[bytes.length >> 1]! ^= 1;
  expect(signer.isSigned(bytes)).toBe(false);
  expect(signer.isSigned(new TextEncoder().encode('{"v":1}'))).toBe(false);
});

test("a text that grows by tokens and by megabytes is all of them, whenever it is asked for", () => {
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

test.each([
  ["ASCII", "word ", "z"],
  ["Latin-1", "wörd\u0085 ", "é"],
  ["other characters late", "wörd ", "—🙂\ud83d"],
])("a text of megabytes that waited on the disk is all of its pieces: %s", async (_, token, late) => {
  const text = new GrowingText();
  const other = new GrowingText();
  const expected: string[] = [];
  const add = (piece: string) => {
    for (const one of [text, other]) one.add(piece);
    expected.push(piece);
  };
  for (let at = 0; at < 12; at++) {
    for (let count = 0; count < 40_000; count++) add(`${token}${count} `);
    add(token.repeat(50_000));
    // What writes the file is loaded with the first long text.
    await nextTurn();
  }
  add(late);
  for (let count = 0; count < 40_000; count++) add(token.repeat(20));
  const whole = expected.join("");
  expect(text.length).toBe(whole.length);
  other.share(`${whole.slice(0, -1)}?`);
  other.share(whole);
  expect(String(text) === whole).toBe(true);
  expect(String(other) === whole).toBe(true);
  add("more");
  expect(String(text) === `${whole}more`).toBe(true);
  expect(String(other) === `${whole}more`).toBe(true);
});

test("a text on the disk is compared, taken once, and leaves no file", () => {
  const files = () => readdirSync("/dev/fd").length;
  const open = files();
  const pieces = Array.from({ length: 10 }, (_, at) => String(at).repeat(1 << 20));
  const spooled = new SpooledText();
  expect(spooled.add(pieces)).toBe(true);
  expect(spooled.add(["—"])).toBe(false);
  expect(spooled.isStartOf(`${pieces.join("")}x`)).toBe(true);
  expect(spooled.isStartOf(pieces.join("").slice(1))).toBe(false);
  expect(spooled.take() === pieces.join("")).toBe(true);
  expect(files()).toBe(open);
});
