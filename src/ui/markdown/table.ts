/** A Markdown table fitted to the width: cells wrap; where even that is too narrow, each row becomes a short list. */
import { inline, type InlineOptions } from "./inline.ts";

export function renderTable(lines: readonly string[], width: number, options: InlineOptions): string[] {
  const head = cells(lines[0]!);
  const align = cells(lines[1] ?? "").map(alignment);
  const body = lines.slice(2).map(cells);
  const count = Math.max(head.length, ...body.map((row) => row.length), 1);
  const grid = [head, ...body].map((row) => Array.from({ length: count }, (_, i) => inline(row[i] ?? "", options)));
  const widths = fit(grid, count, width - SEPARATOR.length * (count - 1));
  if (widths === undefined) return asLists(grid, width, options);
  const { style } = options;
  const rows: string[] = [];
  grid.forEach((row, index) => {
    const wrapped = row.map((cell, i) => wrap(cell, widths[i]!));
    const height = Math.max(...wrapped.map((lines) => lines.length));
    for (let line = 0; line < height; line++) {
      const parts = wrapped.map((lines, i) => {
        const padded = pad(lines[line] ?? "", widths[i]!, align[i] ?? "left");
        return index === 0 ? style.bold(padded) : padded;
      });
      rows.push(parts.join(style.grey(SEPARATOR)).trimEnd());
    }
    if (index === 0) rows.push(style.grey(widths.map((w) => "─".repeat(w)).join("─┼─")));
  });
  return rows;
}

/** A row of dashes, colons and bars: what makes the line above it a table's head. */
export function isDelimiterRow(line: string): boolean {
  return /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(line) && line.includes("|");
}

/** Splits at bars that are neither escaped nor inside a code span. */
function cells(line: string): string[] {
  const trimmed = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  const found: string[] = [];
  let cell = "";
  let code = false;
  for (let at = 0; at < trimmed.length; at++) {
    const character = trimmed[at]!;
    if (character === "\\" && trimmed[at + 1] === "|") {
      cell += "|";
      at++;
    } else if (character === "|" && !code) {
      found.push(cell.trim());
      cell = "";
    } else {
      if (character === "`") code = !code && trimmed.indexOf("`", at + 1) >= 0;
      cell += character;
    }
  }
  found.push(cell.trim());
  return found;
}

type Align = "left" | "right" | "center";

function alignment(cell: string): Align {
  if (/^:-*:$/.test(cell)) return "center";
  return cell.endsWith(":") ? "right" : "left";
}

/** Natural widths where they fit; otherwise the widest columns give way first. */
function fit(grid: readonly string[][], count: number, room: number): number[] | undefined {
  const natural = Array.from({ length: count }, (_, i) => Math.max(1, ...grid.map((row) => Bun.stringWidth(row[i]!))));
  if (room < count * NARROWEST) return natural.reduce((a, b) => a + b, 0) <= room ? natural : undefined;
  let limit = Math.max(...natural);
  const total = (): number => natural.reduce((sum, w) => sum + Math.min(w, limit), 0);
  while (total() > room) limit--;
  if (limit < NARROWEST) return undefined;
  const widths = natural.map((w) => Math.min(w, limit));
  let spare = room - widths.reduce((a, b) => a + b, 0);
  for (let i = 0; i < count && spare > 0; i++) {
    if (natural[i]! <= widths[i]!) continue;
    widths[i]!++;
    spare--;
  }
  return widths;
}

function wrap(cell: string, width: number): string[] {
  return Bun.wrapAnsi(cell, width, { hard: true }).split("\n");
}

function pad(text: string, width: number, align: Align): string {
  const missing = Math.max(0, width - Bun.stringWidth(text));
  if (align === "right") return " ".repeat(missing) + text;
  if (align === "left") return text + " ".repeat(missing);
  const left = Math.floor(missing / 2);
  return " ".repeat(left) + text + " ".repeat(missing - left);
}

function asLists(grid: readonly string[][], width: number, options: InlineOptions): string[] {
  const [head = [], ...body] = grid;
  const rows: string[] = [];
  for (const [index, row] of body.entries()) {
    if (index > 0) rows.push("");
    row.forEach((cell, i) => {
      const label = head[i] === undefined || head[i] === "" ? "" : `${options.style.bold(head[i])}: `;
      if (label !== "" || cell !== "") rows.push(...wrap(label + cell, Math.max(1, width)));
    });
  }
  return rows;
}

const SEPARATOR = " │ ";
const NARROWEST = 4;
