/** Labels with what they mean beside them, or below them where the terminal is too narrow for that. */
import type { StatusRow } from "./repl/host.ts";

export function labelled(rows: readonly StatusRow[], columns: number, label: (text: string) => string): string[] {
  const wide = Math.max(0, ...rows.map((row) => Bun.stringWidth(row.label)));
  const beside = wide + 2 + NARROWEST <= columns;
  const indent = beside ? wide + 2 : 2;
  return rows.flatMap((row) => {
    const lines = row.value
      .split("\n")
      .flatMap((line) => Bun.wrapAnsi(line, Math.max(10, columns - indent), { hard: true }).split("\n"));
    if (!beside) return [label(row.label), ...lines.filter((line) => line !== "").map((line) => `  ${line}`)];
    return lines.map((line, i) => {
      const padding = " ".repeat(i === 0 ? indent - Bun.stringWidth(row.label) : indent);
      return `${i === 0 ? label(row.label) : ""}${padding}${line}`.trimEnd();
    });
  });
}

/** Columns that a meaning needs to be readable beside its label. */
const NARROWEST = 22;
