/** A unified diff of two texts, in full; `boundDiff` cuts it for a screen or the model. */
import { structuredPatch } from "diff";

export function unifiedDiff(before: string, after: string): string {
  if (before === after) return "";
  const patch = structuredPatch("", "", before, after, "", "", { context: 3, timeout: TIMEOUT_MS });
  return patch === undefined
    ? rewrite(before, after)
    : patch.hunks
        .flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
          `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`,
          ...lines,
        ])
        .join("\n");
}

/** Of no lines, the line before them is named: `patch` takes `-0,0` for a new file. */
function range(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

/** The time grows with the square of the edits. What takes longer is shown as everything old, then everything new. */
const TIMEOUT_MS = 500;

function rewrite(before: string, after: string): string {
  const [old, fresh] = [signed("-", before), signed("+", after)];
  const count = (lines: readonly string[]) => lines.filter((line) => !line.startsWith("\\")).length;
  return [`@@ -${range(1, count(old))} +${range(1, count(fresh))} @@`, ...old, ...fresh].join("\n");
}

function signed(sign: "-" | "+", text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n").map((line) => sign + line);
  if (text.endsWith("\n")) return lines.slice(0, -1);
  return [...lines, "\\ No newline at end of file"];
}
