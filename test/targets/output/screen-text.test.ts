/** Terminal output as a person would read it. */
import { expect, test } from "bun:test";
import { ScreenText } from "../../../src/targets/output/screen-text.ts";

/** Also in pieces of every small size: a sequence may be cut anywhere. */
function read(raw: string, { inPieces = true } = {}): string {
  const bytes = Buffer.from(raw);
  const texts = (inPieces ? [bytes.length, 1, 2, 3, 7] : [bytes.length]).map((size) => {
    let text = "";
    const screen = new ScreenText((more) => (text += more));
    for (let at = 0; at < bytes.length; at += size) screen.write(bytes.subarray(at, at + size));
    screen.end();
    return text;
  });
  for (const text of texts) expect(text).toBe(texts[0] ?? "");
  return texts[0] ?? "";
}

const CASES: readonly [what: string, raw: string, text: string][] = [
  ["plain lines", "a\r\nb\r\n", "a\nb\n"],
  ["bare newlines", "a\nb\n", "a\nb\n"],
  ["no end", "a\r\nb", "a\nb"],
  ["tabs stay", "a\tb\r\n", "a\tb\n"],
  ["carriage return", "10%\r20%\r100%\r\n", "100%\n"],
  ["a longer text below", "abcdef\rXY\r\n", "XYcdef\n"],
  ["two carriage returns before a newline", "abc\r\r\n", "abc\n"],
  ["erase to the end", "abcdef\rXY\u001b[K\r\n", "XY\n"],
  ["erase all", "abcdef\u001b[2K\rXY\r\n", "XY\n"],
  ["erase to the cursor", "abcdef\u001b[3D\u001b[1KX\r\n", "   Xef\n"],
  ["backspace", "abc\b\bX\r\n", "aXc\n"],
  ["overstrike", "N\bNA\bA\r\n", "NA\n"],
  ["cursor right leaves a gap", "a\u001b[3Cb\r\n", "a   b\n"],
  ["column", "abc\u001b[2GX\r\n", "aXc\n"],
  ["wide characters overwritten", "漢字\rab\r\n", "ab字\n"],
  ["half a wide character overwritten", "漢字\ra\r\n", "a 字\n"],
  ["combining marks", "e\u0301\rX\r\n", "X\n"],
  ["a tab over text only moves", "abcdefghij\r\tX\r\n", "abcdefghXj\n"],
  ["delete and insert characters", "abcdef\u001b[4D\u001b[2P\u001b[1@_\r\n", "ab_ef\n"],
  ["blank characters", "abcdef\u001b[4D\u001b[2X\r\n", "ab  ef\n"],
  ["colours", "\u001b[1;31mred\u001b[0m \u001b[38;2;1;2;3mx\u001b[m\r\n", "red x\n"],
  ["8-bit CSI", "\u009b31mred\u009b0m\r\n", "red\n"],
  ["title by BEL and by ST", "\u001b]0;t\u0007a\u001b]2;t\u001b\\b\r\n", "ab\n"],
  ["link", "\u001b]8;;http://x\u001b\\text\u001b]8;;\u001b\\\r\n", "text\n"],
  ["device control string", "\u001bP1$r0m\u001b\\x\r\n", "x\n"],
  ["charset switches", "\u001b(B\u000fx\u000e\r\n", "x\n"],
  ["line drawing", "\u001b(0lqk\u001b(B\r\n", "┌─┐\n"],
  ["bell and NUL", "a\u0007b\0c\r\n", "abc\n"],
  ["clear keeps what was read", "before\r\n\u001b[H\u001b[2J\u001b[3Jafter\r\n", "before\nafter\n"],
  ["reset keeps what was read", "before\r\n\u001bcafter\r\n", "before\nafter\n"],
  [
    "cursor up rewrites",
    "one 0%\r\ntwo 0%\r\n\u001b[2A\u001b[2Kone 9%\r\n\u001b[2Ktwo 9%\r\nend\r\n",
    "one 9%\ntwo 9%\nend\n",
  ],
  ["previous and next line", "a\r\nb\r\n\u001b[1FB\u001b[1Ec\r\n", "a\nB\nc\n"],
  ["erase below", "a\r\nb\r\nc\r\n\u001b[3A\u001b[Jx\r\n", "x\n"],
  ["absolute addressing", "\u001b[H\u001b[2J\u001b[1;1Htop\u001b[3;2Hlow\u001b[2dmid\r\n", "top\n    mid\n low"],
  ["reverse index", "a\r\nb\u001bMX\r\n", "aX\nb"],
  ["save and restore column", "ab\u001b7cd\u001b8X\r\n", "abXd\n"],
  ["the alternate screen is gone afterwards", "a\r\n\u001b[?1049h\u001b[Hfull\u001b[?1049lb\r\n", "a\nb\n"],
  ["the alternate screen left on", "a\r\n\u001b[?1049hinside\r\n", "a\ninside\n"],
  ["other modes", "\u001b[?2004h\u001b[?25lx\u001b[?25h\u001b[?2004l\r\n", "x\n"],
  ["unknown sequences", "\u001b[>4;1mx\u001b=\u001b>\u001b#8y\r\n", "xy\n"],
  ["a broken sequence", "\u001b[12\u0001x\r\n", "x\n"],
  ["a sequence without end", "x\r\n\u001b]0;never", "x\n"],
  ["emoji and scripts", "👩‍👩‍👧 世界 мир\r\n", "👩‍👩‍👧 世界 мир\n"],
  ["broken UTF-8", "", ""],
];

for (const [what, raw, text] of CASES) test(what, () => expect(read(raw)).toBe(text));

test("bytes that are no UTF-8 become replacement characters", () => {
  let text = "";
  const screen = new ScreenText((more) => (text += more));
  screen.write(Uint8Array.of(0x61, 0xff, 0xfe, 0x62, 0x0a));
  screen.end();
  expect(text).toBe("a��b\n");
});

test("a long text is committed as it goes, the last screenful can still change", () => {
  const sizes: number[] = [];
  let text = "";
  const screen = new ScreenText((more) => {
    sizes.push(more.length);
    text += more;
  });
  const all = Array.from({ length: 20_000 }, (_, i) => `line ${i}\r\n`).join("");
  for (let at = 0; at < all.length; at += 1000) screen.write(Buffer.from(all.slice(at, at + 1000)));
  expect(sizes.length).toBeGreaterThan(3);
  expect(screen.pending().split("\n").length).toBeGreaterThan(50);
  screen.write(Buffer.from("\u001b[2A\u001b[2Kchanged\r\n"));
  screen.end();
  expect(text.split("\n").slice(-3)).toEqual(["changed", "line 19999", ""]);
  expect(text.split("\n").slice(0, 19_998)).toEqual(Array.from({ length: 19_998 }, (_, i) => `line ${i}`));
});

test("one line without end is bounded", () => {
  let text = "";
  const screen = new ScreenText((more) => (text += more));
  for (let i = 0; i < 100; i++) screen.write(Buffer.from("x".repeat(10_000)));
  expect(screen.pending().length).toBeLessThan(100_000);
  screen.end();
  expect(text).toBe("x".repeat(1_000_000));
});

test("what a full-screen program shows is there while it runs", () => {
  const screen = new ScreenText(() => {});
  screen.write(Buffer.from("$ less\r\n\u001b[?1049h\u001b[H\u001b[2JPage 1\r\n(END)"));
  expect(screen.fullScreen).toBe(true);
  expect(screen.pending()).toContain("Page 1\n(END)");
  screen.write(Buffer.from("\u001b[?10"));
  screen.write(Buffer.from("49lback\r\n"));
  expect(screen.fullScreen).toBe(false);
  expect(screen.pending()).toBe("$ less\nback\n");
});

test.each([
  ["a\r\n\u001b[:Ab\u001b[:5Hc\u001b[:dd", "parameters that are no numbers"],
  ["\u001b[999999999Gx\u001b[99999999999999999999Gy", "a column that no terminal has"],
  [`${"\u001b[999C".repeat(5000)}x`, "steps to the right without end"],
])("%j: %p ended the connection or filled the memory", (raw) => {
  let text = "";
  const screen = new ScreenText((more) => (text += more));
  screen.write(Buffer.from(raw));
  screen.end();
  expect(text.trimEnd().length).toBeGreaterThan(0);
  expect(text.length).toBeLessThan(2000);
});

test("binary data is known as such, and its control characters have no effect; other encodings and NULs are text", () => {
  const render = (bytes: Uint8Array) => {
    let text = "";
    const screen = new ScreenText((more) => (text += more));
    for (let at = 0; at < bytes.length; at += 16_384) screen.write(bytes.subarray(at, at + 16_384));
    screen.end();
    return { text, binary: screen.binary };
  };
  const random = render(Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919 + (i >> 8) * 31) & 255)));
  // oxlint-disable-next-line no-control-regex
  expect([random.binary, /[\0-\x08\x0b-\x1f\x7f-\x9f]/.test(random.text)]).toEqual([true, false]);
  expect(random.text.length).toBeGreaterThan(100_000);
  expect(render(Buffer.from("name\0".repeat(500))).binary).toBe(false);
  expect(render(Buffer.from("caf\xe9 d\xe9j\xe0 \x1b[1mvu\x1b[0m\r\n".repeat(100), "latin1")).binary).toBe(false);
});
