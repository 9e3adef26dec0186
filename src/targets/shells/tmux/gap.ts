/** Finds in a captured screen what was missed of the stream. */
import { commandAfterPrompt } from "./markers.ts";

/** What follows the last lines that were seen. */
export function linesAfter(
  seen: readonly string[],
  screen: readonly string[],
  /** The cursor stands at the start of a line: the last one on the screen has ended. */
  ended: boolean,
): { found: boolean; text: string } {
  const body = (lines: readonly string[]) => withoutPrompt(lines, ended);
  const lines = [...screen];
  while (lines.at(-1) === "") lines.pop();
  const last = seen.at(-1) ?? "";
  const whole = seen.slice(0, -1);
  if (whole.length === 0 && last === "") return { found: false, text: body(lines) };
  for (let at = lines.length - 1; at >= 0; at--) {
    const start = at - whole.length;
    if (start < 0) break;
    if (!whole.every((line, index) => line.trimEnd() === lines[start + index]?.trimEnd())) continue;
    const here = lines[at] ?? "";
    if (!here.startsWith(last)) continue;
    return { found: true, text: body([here.slice(last.length), ...lines.slice(at + 1)]) };
  }
  if (whole.length > 0 && last === "" && endsWith(lines, whole)) return { found: true, text: "" };
  return { found: false, text: body(lines) };
}

/** Without the prompt that the shell has drawn since. */
function withoutPrompt(lines: readonly string[], ended: boolean): string {
  const end = lines.findLastIndex((line) => /\[buddy \d+: \d+\] /.test(line));
  const kept = end >= 0 && end >= lines.length - 2 ? lines.slice(0, end) : lines;
  const partial =
    end >= 0 && kept.length === end ? (lines[end] ?? "").replace(/\[buddy \d+: \d+\] .*$/, "") : undefined;
  if (partial === undefined) return lines.every((line) => line === "") ? "" : kept.join("\n") + (ended ? "\n" : "");
  return kept.map((line) => `${line}\n`).join("") + partial;
}

function endsWith(lines: readonly string[], tail: readonly string[]): boolean {
  return tail.every((line, index) => lines[lines.length - tail.length + index]?.trimEnd() === line.trimEnd());
}

/** Nothing was seen yet: what follows the prompt where the command was entered. */
export function sincePrompt(
  screen: readonly string[],
  promptId: number,
  ended: boolean,
): { found: boolean; text: string } {
  const lines = [...screen];
  while (lines.at(-1) === "") lines.pop();
  const seen = commandAfterPrompt(lines.join("\n"), promptId);
  if (seen.kind === "unclear") return { found: false, text: "" };
  const open = seen.kind === "running" && seen.output !== "" && ended ? "\n" : "";
  return { found: true, text: seen.output + open };
}
