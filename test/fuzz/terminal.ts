/**
 * What reaches the operator's terminal: plain text only, the same wherever it was cut, and what a terminal then shows.
 */
import { Terminal } from "@xterm/headless";
import { showText, TerminalText, type TerminalTextOptions } from "../../src/policy/screen/terminal-text.ts";
import type { Seeded } from "../support/seeded.ts";
import type { Property } from "./property.ts";

/**
 * What may stand in shown output: no control but line end and tab, no C1, nothing unseen; colour only where asked for.
 */
const FOREIGN =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
const COLOR = /\x1b\[0(?:;\d{1,3})*m/g;

export const PIECES = [
  ..."abc 012;:?[]mHJ\\PX^_\n\r\t\b\x07\x1b\x18\x7f\x00\x0b",
  ..."\x85\x90\x98\x9b\x9c\x9d\x9e\x9f\u200b\u200c\u200d\u202e\u2066\ufeff\u00ad\u0301\ufe0f\u2028",
  ..."漢م😀👩❤\u{e0061}\u{e0101}\u{1f3fb}",
  "\x1b[31m",
  "\x1b[0m",
  "\x1b]52;c;",
  "\x1b]8;;u\x07",
  "\x1b\\",
  "\r\n",
  "\ud83d",
  "\ude00",
  "👨‍👩‍👧",
  "\x1b[38;5;9;48;5;1m",
];

export const WAYS: readonly TerminalTextOptions[] = [
  {},
  { color: true },
  { mode: "command" },
  { mode: "line" },
  { color: true, maxLine: 7 },
];

const make = (random: Seeded): string => random.text(PIECES, 24);

export const TERMINAL: readonly Property[] = [
  {
    name: "whatever comes in, only plain text comes out, wherever the chunks are cut",
    usual: 100_000,
    make,
    wrong(text, random) {
      const options = random.of(WAYS);
      const shown = showText(text, options);
      const about = JSON.stringify({ options, shown });
      const bare = options.color === true ? shown.replace(COLOR, "") : shown;
      if (FOREIGN.test(bare) || !shown.isWellFormed()) return `not plain: ${about}`;
      if (options.color === true && shown.lastIndexOf("\x1b[0;") > shown.lastIndexOf("\x1b[0m"))
        return `not reset: ${about}`;
      const cut = random.below(text.length + 1);
      const filter = new TerminalText(options);
      const pieces = filter.push(text.slice(0, cut)) + filter.push(text.slice(cut)) + filter.end();
      return pieces === shown ? undefined : `cut at ${cut} it is ${JSON.stringify(pieces)}: ${about}`;
    },
  },
  {
    name: "showing twice changes nothing more",
    usual: 20_000,
    make,
    wrong(text) {
      const shown = showText(text);
      return showText(shown) === shown ? undefined : JSON.stringify([shown, showText(shown)]);
    },
  },
  {
    name: "a terminal shows what was shown, line by line, and is told nothing else",
    usual: 3000,
    make,
    async wrong(text, random) {
      const color = random.below(2) === 1;
      const shown = showText(text, random.below(4) === 0 ? { mode: "command" } : { color });
      return await onTerminal(shown);
    },
  },
];

let emulator: { readonly terminal: Terminal; readonly told: string[] } | undefined;

async function onTerminal(shown: string): Promise<string | undefined> {
  emulator ??= listening();
  const { terminal, told } = emulator;
  told.length = 0;
  terminal.reset();
  await new Promise<void>((done) => terminal.write(shown, done));
  const lines = shown.replace(COLOR, "").split("\n");
  const { active } = terminal.buffer;
  const where = JSON.stringify({ shown, told, y: active.cursorY, type: active.type });
  if (told.length > 0 || active.type !== "normal") return where;
  if (active.cursorY !== lines.length - 1) return `the cursor: ${where}`;
  for (const [row, line] of lines.entries()) {
    const plain = (text: string): string => text.replace(/[\s\p{M}\p{DI}]/gu, "");
    const seen = active.getLine(row)?.translateToString(true) ?? "";
    if (plain(seen) !== plain(line)) return `line ${row} shows ${JSON.stringify(seen)}: ${where}`;
  }
  return undefined;
}

function listening(): { terminal: Terminal; told: string[] } {
  const terminal = new Terminal({ cols: 260, rows: 60, scrollback: 0, convertEol: true, allowProposedApi: true });
  const told: string[] = [];
  terminal.onTitleChange((title) => told.push(`title ${title}`));
  terminal.onData((data) => told.push(`answer ${JSON.stringify(data)}`));
  terminal.onBell(() => told.push("bell"));
  return { terminal, told };
}
