/** docs/demo.svg: a real run of `buddy demo` in a terminal emulator, drawn as text: `bun scripts/make-picture.ts`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type IBufferCell, Terminal } from "@xterm/headless";
import { buildHost } from "./build.ts";

const COLUMNS = 88;
const LINE = 18;
const CHARACTER = 8.4;
const BASE = ["#2e3436", "#ef2929", "#8ae234", "#fce94f", "#729fcf", "#ad7fa8", "#34e2e2", "#d3d7cf"];
const GREY = "#888a85";

const home = mkdtempSync(join(tmpdir(), "buddy-picture-"));
const screen = new Terminal({ cols: COLUMNS, rows: 60, scrollback: 1000, allowProposedApi: true });
try {
  // A tmux server of its own: the developer's may be at work.
  const env = { HOME: home, PATH: process.env.PATH ?? "", TMUX_TMPDIR: home, TMPDIR: home };
  const child = Bun.spawn([buildHost(), "demo", "--yes"], {
    cwd: home,
    env: { ...env, TERM: "xterm-256color", LANG: "C.UTF-8" },
    terminal: { cols: COLUMNS, rows: 60, data: (_, bytes) => screen.write(bytes) },
  });
  await child.exited;
  await new Promise<void>((written) => screen.write("", written));
  Bun.spawnSync(["tmux", "-L", "buddy", "kill-server"], { env });
} finally {
  rmSync(home, { recursive: true, force: true });
}
await Bun.write(join(import.meta.dir, "../docs/demo.svg"), draw());

function draw(): string {
  const buffer = screen.buffer.active;
  const lines = Array.from({ length: buffer.baseY + buffer.cursorY + 1 }, (_, y) => buffer.getLine(y));
  while (lines.length > 0 && lines.at(-1)?.translateToString(true) === "") lines.pop();
  const rows = lines.map((line, y) => {
    const runs: { style: string; text: string; x: number }[] = [];
    for (let x = 0; x < (line?.length ?? 0); x += 1) {
      const cell = line?.getCell(x);
      const text = cell?.getChars() || " ";
      const style = cell === undefined ? "" : styleOf(cell);
      const last = runs.at(-1);
      if (last?.style === style) last.text += text;
      else runs.push({ style, text, x });
    }
    return runs
      .map(({ style, text, x }) => ({ style, text: text.trim(), x: x + text.length - text.trimStart().length }))
      .filter(({ text }) => text !== "")
      .map(
        ({ style, text, x }) =>
          `<text x="${(16 + x * CHARACTER).toFixed(1)}" y="${(y + 2) * LINE}" textLength="${(text.length * CHARACTER).toFixed(1)}"${style}>${Bun.escapeHTML(text.replaceAll(" ", "\u00a0"))}</text>`,
      )
      .join("");
  });
  const width = Math.ceil(COLUMNS * CHARACTER + 32);
  const height = (lines.length + 2) * LINE;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="A run of buddy demo in a terminal">
<rect width="100%" height="100%" rx="8" fill="#1b1d1e"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#d3d7cf" xml:space="preserve">
${rows.filter((row) => row !== "").join("\n")}
</g>
</svg>
`;
}

function styleOf(cell: IBufferCell): string {
  const color = cell.isFgPalette() ? cell.getFgColor() : -1;
  const fill = color < 0 ? "" : color < 8 ? BASE[color] : GREY;
  return [
    fill ? ` fill="${fill}"` : "",
    cell.isBold() ? ' font-weight="bold"' : "",
    cell.isItalic() ? ' font-style="italic"' : "",
    cell.isDim() ? ' opacity="0.65"' : "",
  ].join("");
}
