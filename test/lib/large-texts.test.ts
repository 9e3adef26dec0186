import { expect, test } from "bun:test";
import { gathered, jsonPieces } from "../../src/lib/large-texts.ts";
import { LineSigner } from "../../src/lib/line-signer.ts";

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
