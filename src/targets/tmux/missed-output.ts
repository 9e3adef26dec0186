/** Finds in a captured screen, which ends where the cursor stands, what the stream of a command did not bring. */
import { commandAfterPrompt, visiblePrompts } from "./markers.ts";
import type { PaneSnapshot } from "./recover.ts";
import type { RunningCommand } from "./running-command.ts";

/** Puts what the stream did not bring into the recording; `why` says how it came to be missed. */
export function fillGap(command: RunningCommand, snapshot: PaneSnapshot, why: string): void {
  fill(command, snapshot, why);
  const { column, lines } = snapshot;
  if (snapshot.alternate || column >= Bun.stringWidth(lines.at(-1)?.trimEnd() ?? "")) return;
  command.recording.write(Buffer.from(column === 0 ? "\r" : `\r\u001b[${column}C`));
}

function fill(command: RunningCommand, { lines, alternate }: PaneSnapshot, why: string): void {
  const { recording, promptId } = command;
  recording.resync(alternate);
  if (alternate) return void command.note(`${why}; a full-screen program shows its last state.`);
  const own = sincePrompt(lines, promptId);
  const missed = recording.empty ? own : missedOf(recording.lastLines, recording.lineCount(), own, lines, promptId);
  if (missed !== undefined) {
    if (missed !== "") recording.insert(missed);
    command.note(`${why}; it was read back from the pane.`);
    return;
  }
  // What stands above the command's own prompt belongs to others; below it is all that this one printed.
  if (own !== undefined) {
    recording.insert(`\n[a part came out of order; all of it, as the pane shows it:]\n${own}`);
    command.note(`${why}; it was read back from the pane.`);
    return;
  }
  recording.insert(`\n[output is missing here]\n${untilPrompt(lines, promptId)}`);
  command.note(`${why}, and the pane's scrollback does not reach back far enough: a part is missing.`);
}

function missedOf(
  seen: readonly string[],
  count: number | undefined,
  own: string | undefined,
  lines: readonly string[],
  promptId: number,
): string | undefined {
  if (own !== undefined) return linesAfter(seen, own, count);
  return linesAfter(seen, untilPrompt(lines, promptId));
}

/**
 * What follows the last lines that were seen; undefined when they are not on the screen. `count` is the number of lines
 * that had ended before the last of them: where lines repeat themselves, only that tells which one it was.
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
