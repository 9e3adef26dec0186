/** Finds in a captured screen, which ends where the cursor stands, what was missed of the stream. */
import { commandAfterPrompt, visiblePrompts } from "./markers.ts";

/**
 * What follows the last lines that were seen; undefined when they are not on the screen. `count` is the number of lines that had
 * ended before the last of them: where lines repeat themselves, only that tells which one it was.
 */
export function linesAfter(seen: readonly string[], screen: string, count?: number): string | undefined {
  const lines = screen.split("\n");
  const last = asDrawn(seen.at(-1) ?? "");
  const whole = seen.slice(0, -1).map((line) => asDrawn(line).trimEnd());
  if (whole.length === 0 && last === "") return undefined;
  const isHere = (at: number) => {
    const start = at - whole.length;
    const line = lines[at] ?? "";
    if (start < 0 || (!line.startsWith(last) && line.trimEnd() !== last.trimEnd())) return false;
    return whole.every((one, index) => one === lines[start + index]?.trimEnd());
  };
  let at = lines.length - 1;
  if (count !== undefined && count < lines.length && isHere(count)) at = count;
  else while (at >= 0 && !isHere(at)) at--;
  return at < 0 ? undefined : [lines[at]?.slice(last.length) ?? "", ...lines.slice(at + 1)].join("\n");
}

/** All that the command entered at this prompt has printed; undefined when the screen does not reach back so far. */
export function sincePrompt(screen: readonly string[], promptId: number): string | undefined {
  const seen = commandAfterPrompt(screen.join("\n"), promptId);
  return seen.kind === "unclear" ? undefined : seen.output;
}

/** Without the prompt that ended the command, and what came after it. */
export function untilPrompt(screen: readonly string[], promptId: number): string {
  const end = visiblePrompts(screen).find((one) => one.id === promptId + 1);
  if (end === undefined) return screen.join("\n");
  return [...screen.slice(0, end.line), screen[end.line]?.slice(0, end.start) ?? ""].join("\n");
}

/** A screen has no tabs, only the columns they led to. */
function asDrawn(line: string): string {
  if (!line.includes("\t")) return line;
  let drawn = "";
  for (const [index, part] of line.split("\t").entries()) {
    if (index > 0) drawn += " ".repeat(8 - (Bun.stringWidth(drawn) % 8));
    drawn += part;
  }
  return drawn;
}
