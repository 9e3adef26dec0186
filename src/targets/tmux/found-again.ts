/** A pane nobody listened to: tmux remembers its last mark, and the screen shows what was missed. */
import type { OutputStore } from "../output/output-store.ts";
import type { Reply } from "./control.ts";
import { linesAfter, sincePrompt, untilPrompt } from "./gap.ts";
import { type Mark, parseRemembered, visiblePrompts } from "./markers.ts";
import { RunningCommand } from "./running-command.ts";
import type { TmuxSession } from "./tmux-session.ts";

export interface PaneSnapshot {
  readonly mark: Mark | undefined;
  readonly cwd: string;
  /** History and screen; the last one is where the cursor stands. */
  readonly lines: readonly string[];
  /** Where in that line. */
  readonly column: number;
  /** A full-screen program has the screen: what is below it is not shown. */
  readonly alternate: boolean;
}

/**
 * `take` is called in the very moment of the reply. tmux sends replies and output through one queue (200 of 200 captures of a
 * pane that printed as fast as it could ended with the last line that had come as output): what came before it is in the
 * snapshot, what comes afterwards is not.
 */
export async function lookAtPane(
  session: TmuxSession,
  pane: string,
  take: (snapshot: PaneSnapshot) => void,
): Promise<void> {
  const commands = [
    `display-message -p -t ${pane} '#{pane_path}'`,
    `display-message -p -t ${pane} '#{cursor_x}|#{cursor_y}|#{pane_width}|#{pane_height}|#{alternate_on}|#{pane_current_path}'`,
    `capture-pane -p -J -t ${pane} -S - -E -`,
  ];
  await session.send(commands, (replies) => take(snapshotOf(replies, session.key)));
}

function snapshotOf([path, place, screen]: readonly Reply[], key: string): PaneSnapshot {
  const [column, row, width, height, alternate, ...directory] = place?.lines[0]?.split("|") ?? [];
  const lines = screen?.ok === true ? [...screen.lines] : [];
  // Rows that nothing was written to yet.
  for (let below = Number(height) - 1 - Number(row); below > 0 && lines.at(-1)?.trimEnd() === ""; below--) lines.pop();
  return {
    mark: parseRemembered(path?.lines.join("\n") ?? "", key),
    cwd: directory.join("|"),
    lines,
    // In a line that goes over several rows it is counted from the last of them.
    column: Bun.stringWidth(lines.at(-1) ?? "") > Number(width) ? Number.POSITIVE_INFINITY : Number(column),
    alternate: alternate === "1",
  };
}

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

/** A command that a buddy before this one started and that still runs: it can be waited for. */
export function adoptCommand(tag: number, { lines }: PaneSnapshot, outputStore: OutputStore): RunningCommand {
  const prompt = visiblePrompts(lines).at(-1);
  const typed = prompt === undefined ? "" : (lines[prompt.line]?.slice(prompt.end).trim() ?? "");
  const command = new RunningCommand(tag, typed || "(unknown)", outputStore.open(), {}, false);
  command.promptId = prompt?.id ?? 0;
  command.started();
  const body = prompt === undefined ? "" : lines.slice(prompt.line + 1).join("\n");
  if (body !== "") command.recording.insert(body);
  command.notes.push("The command was started before buddy was; what it had printed was read from the pane.");
  return command;
}
