import { expect, test } from "bun:test";
import { asciiOnly, toAscii } from "../../../src/ui/terminal/ascii.ts";

test.each([
  [{ LC_ALL: "C" }, true],
  [{ LC_ALL: "POSIX", LANG: "en_US.UTF-8" }, true],
  [{ LANG: "en_US.ISO-8859-1" }, true],
  [{ LC_ALL: "C.UTF-8" }, false],
  [{ LANG: "de_DE.utf8" }, false],
  [{ LC_CTYPE: "en_US.UTF-8", LANG: "C" }, false],
  [{}, false],
])("%p draws in ASCII only: %p", (env, ascii) => {
  expect(asciiOnly(env)).toBe(ascii);
});

test.each(["● run · 2.3s …", "┌──┬──┐ │ x │", "⠋ thinking", "“quoted” – é ü", "漢字", "› +450 −0"])(
  "%p keeps its width",
  (text) => {
    const plain = toAscii(text);
    // oxlint-disable-next-line no-control-regex
    expect(plain).toMatch(/^[\x00-\x7f]*$/);
    expect(Bun.stringWidth(plain)).toBe(Bun.stringWidth(text));
  },
);

test("an ellipsis was drawn as ~, which turned the rest of a command into a path", () => {
  expect(toAscii("a always “touch …”")).toBe('a always "touch.."');
  expect(toAscii("rm -rf /va…")).toBe("rm -rf /va>");
});

test("colours stay", () => {
  expect(toAscii("\x1b[32m●\x1b[39m")).toBe("\x1b[32m*\x1b[39m");
});
