/**
 * docs/demo.svg: the REPL and its shared pane side by side at a real question, drawn as text: `bun
 * scripts/make-picture.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type IBufferCell, Terminal } from "@xterm/headless";
import { until } from "../test/support/until.ts";
import { buildHost } from "./build.ts";

const COLUMNS = 150;
const ROWS = 26;
const LINE = 18;
const CHARACTER = 8.4;
const BASE = ["#2e3436", "#ef2929", "#8ae234", "#fce94f", "#729fcf", "#ad7fa8", "#34e2e2", "#d3d7cf"];
const GREY = "#888a85";

const home = mkdtempSync(join(tmpdir(), "buddy-picture-"));
const screen = new Terminal({ cols: COLUMNS, rows: ROWS, scrollback: 1000, allowProposedApi: true });
const env = {
  HOME: home,
  PATH: process.env.PATH ?? "",
  // tmux servers of its own: the developer's may be at work.
  TMUX_TMPDIR: home,
  TMPDIR: home,
  TERM: "xterm-256color",
  LANG: "C.UTF-8",
  PS1: "$ ",
};
let before = "";
const outer = ["tmux", "-L", "picture", "-f", "/dev/null"];
const tmux = (...args: string[]) => Bun.spawnSync([...outer, ...args], { env, stderr: "inherit" });
try {
  const buddy = `${await buildHost()} -m demo --tmux=web`;
  const child = Bun.spawn([...outer, "new-session", "-s", "picture", buddy, ";", "set", "status", "off"], {
    cwd: home,
    env,
    terminal: { cols: COLUMNS, rows: ROWS, data: (_, bytes) => screen.write(bytes) },
  });
  screen.onData((answer) => child.terminal?.write(answer));
  await sees("attach -t web");
  tmux("split-window", "-h", "-d", "-l", "58", "unset TMUX; exec tmux -L buddy attach -t web");
  await sees("[web]");
  const send = async (text: string, wanted: string) => {
    tmux("send-keys", "-t", "picture", "-l", text);
    tmux("send-keys", "-t", "picture", "Enter");
    await sees(wanted);
  };
  await send("run: uname -so; id -un; ls -d /etc/logrotate.d", "succeeded");
  await send('run: echo "maxsize 100M" >> /etc/logrotate.d/nginx', "approve?");
  await until(() => settled(), "the screen is still");
  await Bun.write(join(import.meta.dir, "../docs/demo.svg"), draw());
  tmux("kill-server");
  await child.exited;
  Bun.spawnSync(["tmux", "-L", "buddy", "kill-server"], { env });
} finally {
  rmSync(home, { recursive: true, force: true });
}

function text(): string {
  const { active } = screen.buffer;
  return Array.from({ length: ROWS }, (_, y) => active.getLine(active.baseY + y)?.translateToString(true) ?? "").join(
    "\n",
  );
}

async function sees(wanted: string): Promise<void> {
  await until(() => text().includes(wanted), wanted, { timeoutMs: 30_000 });
}

function settled(): boolean {
  const now = text();
  const still = now === before;
  before = now;
  return still;
}

function draw(): string {
  const buffer = screen.buffer.active;
  const lines = Array.from({ length: ROWS }, (_, y) => buffer.getLine(buffer.baseY + y));
  while (lines.length > 0 && lines.at(-1)?.translateToString(true) === "") lines.pop();
  const rows = lines.map((line, y) => {
    const runs: { style: string; text: string; x: number }[] = [];
    const behind: { fill: string; x: number; cells: number }[] = [];
    for (let x = 0; x < (line?.length ?? 0); x += 1) {
      const cell = line?.getCell(x);
      const text = cell?.getChars() || " ";
      const style = cell === undefined ? "" : styleOf(cell);
      const fill = cell?.isBgPalette() === true ? (BASE[cell.getBgColor()] ?? "") : "";
      const ground = behind.at(-1);
      if (ground !== undefined && ground.fill === fill) ground.cells += 1;
      else behind.push({ fill, x, cells: 1 });
      const last = runs.at(-1);
      if (last?.style === style) last.text += text;
      else runs.push({ style, text, x });
    }
    // The directory has another name each time the picture is made.
    for (const run of runs) run.text = run.text.replaceAll(home, "/srv/app".padEnd(home.length));
    const grounds = behind
      .filter(({ fill }) => fill !== "")
      .map(
        ({ fill, x, cells }) =>
          `<rect x="${(16 + x * CHARACTER).toFixed(1)}" y="${(y + 2) * LINE - 13}" width="${(cells * CHARACTER).toFixed(1)}" height="${LINE}" fill="${fill}"/>`,
      );
    const texts = runs
      .map(({ style, text, x }) => ({ style, text: text.trim(), x: x + text.length - text.trimStart().length }))
      .filter(({ text }) => text !== "")
      .map(
        ({ style, text, x }) =>
          `<text x="${(16 + x * CHARACTER).toFixed(1)}" y="${(y + 2) * LINE}" textLength="${(text.length * CHARACTER).toFixed(1)}"${style}>${Bun.escapeHTML(text.replaceAll(" ", "\u00a0"))}</text>`,
      );
    return [...grounds, ...texts].join("");
  });
  const width = Math.ceil(COLUMNS * CHARACTER + 32);
  const height = (lines.length + 2) * LINE;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="buddy asks for approval on the left; on the right the shared tmux pane it works in">
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
