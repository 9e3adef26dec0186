import { expect, test } from "bun:test";
import { PIECES, WAYS } from "../../fuzz/terminal.ts";
import { TerminalText, showText } from "../../../src/policy/screen/terminal-text.ts";
import { LONG, Seeded } from "../../support/seeded.ts";

test.each([
  ["\x1b]0;title\x07text", "text"],
  ["\x1b]2;title\x1b\\text", "text"],
  ["\x9d0;title\x9ctext", "text"],
  ["\x1b]52;c;c2VjcmV0\x07copied", "copied"],
  ["\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"],
  ["\x1bP+q544e\x1b\\a\x1b_Gf=100;AAAA\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd"],
  ["\x90payload\x9ca\x9fapc\x9cb\x9epm\x9cc\x98sos\x9cd", "abcd"],
  ["\x1bPtmux;\x1b\x1b]52;c;AAAA\x07\x1b\\after", "after"],
  ["\x1b[2J\x1b[H\x1b[3;4Hover\x1b[1A\x1b[2K", "over"],
  ["\x9b2J\x9b31mred", "red"],
  ["\x1b[?1049h\x1b[?25l\x1b[>c\x1b[6n\x1b[5i\x1bc\x1b7\x1b8\x1b(0\x1b#8\x1b[!p", ""],
  ["\x1b([not a sequence", "not a sequence"],
  ["answer\x05back\x07\x00\x0e\x0f", "answerback"],
  ["unfinished \x1b]0;hidden\nnext line", "unfinished \nnext line"],
  ["unfinished \x1b[31", "unfinished "],
  ["lone \x1b", "lone "],
  ["cut \x1b[3\n1m", "cut \n1m"],
  ["cancelled \x1b]0;x\x18shown \x1bPx\x1ashown", "cancelled shown shown"],
  ["\x1b[3漢", "漢"],
  ["harmless\rrm -rf /", "harmless\nrm -rf /"],
  ["dos\r\nlines\r\r\n", "dos\nlines\n"],
  ["10%\r20%\r", "10%\n20%"],
  ["back\b\b\b\bspace", "backspace"],
  ["a\vb\fc\x85d\u2028e", "a\nb\nc\nd\ne"],
  ["right\u202eto left\u202c", "right\\u{202e}to left\\u{202c}"],
  ["\u2066isolate\u2069\u200e\u061c", "\\u{2066}isolate\\u{2069}\\u{200e}\\u{61c}"],
  ["zero\u200bwidth\u2060joiner\u200d", "zero\\u{200b}width\\u{2060}joiner\\u{200d}"],
  ["tags\u{e0072}\u{e006d}", "tags\\u{e0072}\\u{e006d}"],
  ["a\ufe0f\u{e0100}b", "a\\u{fe0f}\\u{e0100}b"],
  ["❤\ufe0f\ufe0f", "❤\ufe0f\\u{fe0f}"],
  ["\u3164\u2800\u115f", "\\u{3164}\\u{2800}\\u{115f}"],
  ["soft\u00adhyphen", "softhyphen"],
  ["\ufefffirst \ufeff", "first \\u{feff}"],
  ["family 👨‍👩‍👧 heart ❤️ key 1️⃣", "family 👨‍👩‍👧 heart ❤️ key 1️⃣"],
  ["می‌خواهم क्‍ष 漢字 Ünï\u0308", "می‌خواهم क्‍ष 漢字 Ünï\u0308"],
  ["\ud800x\udc00", "\ufffdx\ufffd"],
  ["\uffff\u{1fffe}", "\ufffd\ufffd"],
])("output %j is shown as %j", (text, shown) => {
  expect(showText(text)).toBe(shown);
});

test.each([
  ["\x1b[31mred\x1b[0m plain", "\x1b[0;31mred\x1b[0m plain"],
  ["\x1b[1;38;5;200;48;2;1;2;3mx", "\x1b[0;1;38;5;200;48;2;1;2;3mx\x1b[0m"],
  ["\x1b[38:2::1:2:3mx\x1b[48:5:7my", "\x1b[0;38;2;1;2;3mx\x1b[0;38;2;1;2;3;47my\x1b[0m"],
  ["\x1b[94mx\x1b[105my\x1b[39;49mz", "\x1b[0;94mx\x1b[0;94;105my\x1b[0mz"],
  ["\x1b[8mconcealed\x1b[5mblinking", "concealedblinking"],
  ["\x1b[30;40mhidden\x1b[38;5;1;41mhidden", "hiddenhidden"],
  ["\x1b[3;4;7;9mx\x1b[23;24;27;29my", "\x1b[0;3;4;7;9mx\x1b[0my"],
  ["\x1b[32mtwo\nlines", "\x1b[0;32mtwo\x1b[0m\n\x1b[0;32mlines\x1b[0m"],
  ["\x1b[31m".repeat(1000), ""],
  [`\x1b[${"1;".repeat(100)}mx`, "x"],
  ["\x1b[38;5;300mx\x1b[38;9my\x1b[>31mz\x1b[31 mw", "xyzw"],
])("colour %j is written again as %j", (text, shown) => {
  expect(showText(text, { color: true })).toBe(shown);
});

test.each([
  ["ls\x1b[2K\rrm -rf /", "ls\\u{1b}[2K\\rrm -rf /"],
  ["echo \u202e", "echo \\u{202e}"],
  ["rm\u00a0-rf\u3000x", "rm\\u{a0}-rf\\u{3000}x"],
  ["cat 'a\u200db' \ufe0f \ue000", "cat 'a\\u{200d}b' \\u{fe0f} \\u{e000}"],
  ["cat <<E\n\tx\nE", "cat <<E\n\tx\nE"],
  ["\x9b31m\x00\x7f", "\\u{9b}31m\\u{0}\\u{7f}"],
  ["\ud800", "\ufffd"],
  ["rm \u3248\u0980 漢", "rm \\u{3248}\\u{980} 漢"],
])("command %j is shown as %j", (text, shown) => {
  expect(showText(text, { mode: "command", color: true })).toBe(shown);
});

test("a one-line text has no line ends", () => {
  expect(showText("a\nb\tc\r", { mode: "line" })).toBe("a\\nb\\tc\\r");
});

test("a command is never cut, a line of output is, with the number of characters left out", () => {
  const long = "x".repeat(100_000);
  expect(showText(long, { mode: "command" })).toBe(long);
  expect(showText(`${long}\nnext`)).toBe(`${"x".repeat(20_000)} … [80000 more characters in this line]\nnext`);
  expect(showText("ab😀cd", { maxLine: 3 })).toBe("ab … [4 more characters in this line]");
});

test("a flood of combining marks stays on its line", () => {
  expect(showText(`a${"\u0301".repeat(5000)}b`).length).toBeLessThan(12);
  expect(showText("e\u0301\u0323")).toBe("e\u0301\u0323");
});

test("an unterminated string neither hides what follows for ever nor is kept in memory", () => {
  const filter = new TerminalText();
  let shown = filter.push("\x1b]0;");
  for (let i = 0; i < 200; i++) shown += filter.push("x".repeat(1000));
  expect(shown.length).toBeGreaterThan(0);
  expect(shown.length).toBeLessThan(200_000);
});

test("bytes: invalid UTF-8 becomes U+FFFD, characters cut by the chunks stay whole", () => {
  expect(showText(new Uint8Array([0x61, 0xff, 0x9b, 0x33, 0x31, 0x6d]))).toBe("a\ufffd\ufffd31m");
  const filter = new TerminalText();
  const shown = [...new TextEncoder().encode("é漢😀")].map((byte) => filter.push(Uint8Array.of(byte))).join("");
  expect(shown + filter.end()).toBe("é漢😀");
  expect(showText(new Uint8Array([0x61, 0xe6]))).toBe("a\ufffd");
});

test(
  "every split point of a long mixed text gives the same",
  () => {
    const text = new Seeded(7).text(PIECES, 0) + PIECES.join("x") + PIECES.toReversed().join("");
    for (const options of WAYS) {
      const shown = showText(text, options);
      for (let cut = 0; cut <= text.length; cut++) {
        const filter = new TerminalText(options);
        expect(filter.push(text.slice(0, cut)) + filter.push(text.slice(cut)) + filter.end()).toBe(shown);
      }
      const units = new TerminalText(options);
      let byUnit = "";
      for (let i = 0; i < text.length; i++) byUnit += units.push(text[i] ?? "");
      expect(byUnit + units.end()).toBe(shown);
    }
  },
  LONG,
);
