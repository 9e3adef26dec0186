/** A pane nobody listened to: tmux remembers its last mark, and the screen shows what was missed. */
import type { Spool } from "../output/spool.ts";
import { linesAfter, sincePrompt } from "./gap.ts";
import { type Mark, parseRemembered, visiblePrompts } from "./markers.ts";
import { RunningCommand } from "./running-command.ts";
import type { TmuxSession } from "./tmux-session.ts";

export interface PaneSnapshot {
  readonly mark: Mark | undefined;
  readonly cwd: string;
  readonly lines: readonly string[];
  /** The cursor stands at the start of a line. */
  readonly lineEnded: boolean;
}

export async function lookAtPane(session: TmuxSession, pane: string): Promise<PaneSnapshot> {
  const [path, place, screen] = await session.send([
    `display-message -p -t ${pane} '#{pane_path}'`,
    `display-message -p -t ${pane} '#{cursor_x}|#{pane_current_path}'`,
    `capture-pane -p -J -t ${pane} -S - -E -`,
  ]);
  const [column, ...directory] = place?.lines[0]?.split("|") ?? [];
  return {
    mark: parseRemembered(path?.lines.join("\n") ?? "", session.key),
    cwd: directory.join("|"),
    lines: screen?.ok === true ? screen.lines : [],
    lineEnded: column === "0",
  };
}

/** Puts what the stream did not bring into the recording; `why` says how it came to be missed. */
export function fillGap(command: RunningCommand, { lines, lineEnded }: PaneSnapshot, why: string): void {
  const missed = command.recording.empty
    ? sincePrompt(lines, command.promptId, lineEnded)
    : linesAfter(command.recording.lastLines, lines, lineEnded);
  if (missed.found) {
    if (missed.text !== "") command.recording.insert(missed.text);
    command.notes.push(`${why}; it was read back from the pane.`);
    return;
  }
  // What stands above the command's own prompt belongs to others; below it is all that this one printed.
  const own = sincePrompt(lines, command.promptId, lineEnded);
  if (own.found) {
    command.recording.insert(`\n[a part came out of order; all of it, as the pane shows it:]\n${own.text}`);
    command.notes.push(`${why}; it was read back from the pane.`);
    return;
  }
  command.recording.insert(`\n[output is missing here]\n${missed.text}`);
  command.notes.push(`${why}, and the pane's scrollback does not reach back far enough: a part is missing.`);
}

/** A command that a buddy before this one started and that still runs: it can be waited for. */
export function adoptCommand(tag: number, { lines }: PaneSnapshot, spool: Spool): RunningCommand {
  const prompt = visiblePrompts(lines).at(-1);
  const typed = prompt === undefined ? "" : (lines[prompt.line]?.slice(prompt.end).trim() ?? "");
  const command = new RunningCommand(tag, typed || "(unknown)", spool.open(), {}, false);
  command.started();
  const body = prompt === undefined ? [] : lines.slice(prompt.line + 1);
  while (body.at(-1) === "") body.pop();
  if (body.length > 0) command.recording.insert(body.map((line) => `${line}\n`).join(""));
  command.notes.push("The command was started before buddy was; what it had printed was read from the pane.");
  return command;
}
