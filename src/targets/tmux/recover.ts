/**
 * After a gap in the stream of a pane: finds what was missed, from the screen and the last mark that tmux remembers.
 */
import { wholeCharacters, withoutTabs } from "../../lib/text.ts";
import type { RunOutcome } from "../target.ts";
import type { OutputStore } from "../output/output-store.ts";
import type { Reply } from "./control.ts";
import { commandAfterPrompt, type Mark, parseRemembered, visiblePrompts } from "./markers.ts";
import type { PaneInput } from "./pane-input.ts";
import type { PaneState } from "./pane-state.ts";
import { probeForeground } from "./probe.ts";
import { RunningCommand } from "./running-command.ts";
import type { TmuxSession } from "./tmux-session.ts";
import { OWN_SCRIPT } from "./typed-line.ts";

/** Reads the pane and resumes its stream. A further gap starts this again: then this one returns without an effect. */
export async function recover(
  session: TmuxSession,
  state: PaneState,
  input: PaneInput,
  why: string,
  isNew = false,
): Promise<void> {
  const { gap } = state;
  const { round } = gap;
  let seen: PaneSnapshot | undefined;
  try {
    await lookAtPane(session, state.id, (snapshot) => {
      if (round !== gap.round) return;
      seen = snapshot;
      state.endGap(snapshot, why);
    });
    if (seen === undefined) return;
    const command = gap.takeUndelivered();
    if (command?.phase === "sent") await input.withdrawUndelivered(command);
    // Another program set the pane's path: the foreground decides instead, unless the shell may not be buddy's.
    if (!isNew && state.phase === "starting" && seen.mark === undefined) {
      state.lookedAt(await probeForeground(session.options.transport, state.row, true));
    }
    state.changes.changed();
  } catch (error) {
    if (round === gap.round) throw error;
  }
}

/** Every prompt has three. */
const MAX_MARKS = 1000;
/** A longer sequence that is split is lost. */
const LONGEST = 512;

/** A gap in the stream: until the screen is read, text in the stream is also on the screen and must not count twice. */
export class Gap {
  #open = false;
  #round = 0;
  #marks: Mark[] = [];
  #passed = Buffer.alloc(0);
  #undelivered: RunningCommand | undefined;

  get open(): boolean {
    return this.#open;
  }

  /** Changes with each gap: a gap during a look invalidates it. */
  get round(): number {
    return this.#round;
  }

  /** `undelivered`: was being sent when the connection dropped; it may or may not have arrived. */
  begin(undelivered: RunningCommand | undefined): void {
    this.#open = true;
    this.#round++;
    this.#passed = Buffer.alloc(0);
    this.#undelivered = undelivered ?? this.#undelivered;
  }

  /** There is a new pane, of which nothing was missed. */
  forget(): void {
    this.#round++;
    this.#open = false;
    this.#marks = [];
    this.#undelivered = undefined;
  }

  /** A mark during the gap is kept for later. */
  keepMark(mark: Mark): void {
    this.#marks.push(mark);
    if (this.#marks.length > MAX_MARKS) this.#marks.shift();
  }

  passText(bytes: Buffer): void {
    this.#passed = Buffer.concat([this.#passed, bytes.subarray(-LONGEST)]).subarray(-LONGEST);
  }

  /** The marks during the gap, and the beginning of a sequence whose rest is still to come. */
  end(): { readonly marks: readonly Mark[]; readonly unfinished: Buffer } {
    this.#open = false;
    return { marks: this.#marks.splice(0), unfinished: unfinishedEnd(this.#passed) };
  }

  takeUndelivered(): RunningCommand | undefined {
    const command = this.#undelivered;
    this.#undelivered = undefined;
    return command;
  }
}

export interface PaneSnapshot {
  readonly mark: Mark | undefined;
  readonly cwd: string;
  /** Scrollback and screen; the last line has the cursor. */
  readonly lines: readonly string[];
  /** Of the cursor in that line. */
  readonly column: number;
  /** A full-screen program hides the normal screen. */
  readonly alternate: boolean;
}

/**
 * `take` is called as soon as the reply arrives. tmux sends replies and output through one queue (200 of 200 captures
 * of a pane that printed as fast as possible ended with the last line of the output so far): output before the reply is
 * in the snapshot, output after it is not.
 */
async function lookAtPane(session: TmuxSession, pane: string, take: (snapshot: PaneSnapshot) => void): Promise<void> {
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
  // Without the empty rows below the cursor.
  for (let below = Number(height) - 1 - Number(row); below > 0 && lines.at(-1)?.trimEnd() === ""; below--) lines.pop();
  return {
    mark: parseRemembered(path?.lines.join("\n") ?? "", key),
    cwd: directory.join("|"),
    lines,
    // In a wrapped line tmux counts it from the last row.
    column: Bun.stringWidth(lines.at(-1) ?? "") > Number(width) ? Number.POSITIVE_INFINITY : Number(column),
    alternate: alternate === "1",
  };
}

interface AfterGap {
  /** The marks to process, oldest first: those of the stream, and the one that tmux remembers if it is newer. */
  readonly marks: readonly Mark[];
  /** The command ended during the gap, and others ran since: no mark shows it. */
  readonly ended?: RunOutcome;
}

/** Adds the missed output to the command, and finds out whether it has ended. */
export function takeApart(
  command: RunningCommand | undefined,
  snapshot: PaneSnapshot,
  heard: readonly Mark[],
  why: string,
): AfterGap {
  const { mark } = snapshot;
  const marks = mark === undefined || !isNews(mark, heard, command) ? heard : [...heard, mark];
  if (command === undefined || command.phase === "over") return { marks };
  const isOurs = (one: Mark) => "tag" in one && one.tag === command.tag && one.kind !== "taken";
  if (command.phase !== "started" && marks.some(isOurs)) command.started();
  if (command.phase !== "started") return { marks };
  fillGap(command, snapshot, why);
  command.outputBegins();
  const reported = marks.some((one) => one.kind === "shell-ended" || (one.kind === "prompt" && isOurs(one)));
  if (reported) return { marks };
  const end = commandAfterPrompt(snapshot.lines.join("\n"), command.promptId);
  if (mark === undefined && end.kind === "ended") return { marks, ended: { kind: "exited", code: end.code } };
  const another = (mark?.kind === "prompt" || mark?.kind === "started") && !isOurs(mark);
  if (!another) return { marks };
  const ended: RunOutcome = end.kind === "ended" ? { kind: "exited", code: end.code } : { kind: "lost", why: UNHEARD };
  return { marks, ended };
}

/** Whether the mark that tmux remembers is not among those of the stream. */
function isNews(mark: Mark, heard: readonly Mark[], command: RunningCommand | undefined): boolean {
  switch (mark.kind) {
    case "prompt":
      return !heard.some((one) => one.kind === "prompt" && one.id === mark.id && one.tag === mark.tag);
    case "started":
      return !heard.some((one) => one.kind === "started" && one.tag === mark.tag);
    case "gave-up":
      return !heard.some((one) => one.kind === "gave-up");
    case "shell-ended":
      // Only for a running command: otherwise a new shell is starting anyway.
      return command?.phase === "started" && !heard.some((one) => one.kind === "shell-ended");
    default:
      return false;
  }
}

const UNHEARD = "it ended while the connection was down, and its exit code is unknown";

/** A command that an earlier buddy started and that still runs: buddy can wait for it. */
export function commandOnScreen(
  { tag, shownLines = 0 }: Mark & { kind: "started" },
  { lines }: PaneSnapshot,
  outputStore: OutputStore,
): RunningCommand {
  const prompt = visiblePrompts(lines).at(-1);
  const below = prompt === undefined ? [] : lines.slice(prompt.line + 1);
  const first = prompt === undefined ? "" : (lines[prompt.line]?.slice(prompt.end).trim() ?? "");
  const text = [first, ...below.slice(0, shownLines)].filter((line) => !OWN_SCRIPT.test(line)).join("\n");
  const command = new RunningCommand(tag, text || "(unknown)", outputStore.open(), {}, false);
  command.promptId = prompt?.id ?? 0;
  command.shownLines = shownLines;
  command.started();
  const body = below.slice(shownLines).join("\n");
  if (body !== "") command.recording.insert(body);
  command.notes.push("The command was started by an earlier buddy; its output so far was read from the pane.");
  return command;
}

/** The beginning of a terminal sequence or character whose rest is still to come. */
export function unfinishedEnd(bytes: Buffer): Buffer {
  const escape = bytes.lastIndexOf(0x1b);
  if (escape >= 0 && !WHOLE_SEQUENCE.test(bytes.toString("latin1", escape))) return bytes.subarray(escape);
  return bytes.subarray(wholeCharacters(bytes));
}

/** CSI, OSC, the other strings, and short ones. */
const WHOLE_SEQUENCE =
  // oxlint-disable-next-line no-control-regex
  /^\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*\x07|[PX^_][^\x1b]*\x07|[ -/]+[0-~]|[0-OQ-WYZ\\`-~=>])/;

/** In the output, where the scrollback no longer had a part of it. */
export const MISSING = "\n[output is missing here]\n";

/** Adds output that is missing from the stream to the recording; `why` explains how it was missed. */
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
  const own = sincePrompt(lines, promptId, command.shownLines);
  const missed = recording.empty ? own : missedOf(recording.lastLines, recording.lineCount(), own, lines, promptId);
  if (missed !== undefined) {
    if (missed !== "") recording.insert(missed);
    command.note(`${why}; it was read back from the pane.`);
    return;
  }
  // Everything below the command's own prompt is its output.
  if (own !== undefined) {
    recording.insert(`\n[a part came out of order; all of it, as the pane shows it:]\n${own}`);
    command.note(`${why}; it was read back from the pane.`);
    return;
  }
  recording.insert(`${MISSING}${untilPrompt(lines, promptId)}`);
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
 * What follows the last lines that were seen; undefined if they are not on the screen. `count`: how many lines had
 * ended before the last of them, to find the position among repeated lines.
 */
export function linesAfter(seen: readonly string[], screen: string, count?: number): string | undefined {
  const lines = screen.split("\n");
  // A screen has no tabs.
  const last = withoutTabs(seen.at(-1) ?? "");
  const whole = seen.slice(0, -1).map((line) => withoutTabs(line).trimEnd());
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

/** The output of the command entered at this prompt; undefined if the screen does not reach back far enough. */
export function sincePrompt(screen: readonly string[], promptId: number, shownLines = 0): string | undefined {
  const seen = commandAfterPrompt(screen.join("\n"), promptId, shownLines);
  return seen.kind === "unclear" ? undefined : seen.output;
}

/** Without the prompt that ended the command, and what follows it. */
export function untilPrompt(screen: readonly string[], promptId: number): string {
  const end = visiblePrompts(screen).find((one) => one.id === promptId + 1);
  if (end === undefined) return screen.join("\n");
  return [...screen.slice(0, end.line), screen[end.line]?.slice(0, end.start) ?? ""].join("\n");
}
