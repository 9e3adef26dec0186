/** The words of a question and of its answer, as rows of text. */
import { foldNames } from "../../lib/names.ts";
import { clip, plural, withoutTabs } from "../../lib/text.ts";
import type { ApprovalAnswer, ApprovalRequest, Stated } from "../../policy/approvals.ts";
import { showText, showLine } from "../../policy/screen/terminal-text.ts";
import type { Theme } from "../theme.ts";
import { oneLine } from "../words.ts";

/** What the scrollback keeps of a question: the command, on one line, and the decision; `by`: made elsewhere. */
export function answeredLine(
  request: ApprovalRequest,
  answer: ApprovalAnswer,
  style: Theme,
  columns: number,
  by?: string,
): string {
  const where = showLine(request.where);
  const [first, ...rest] = showText(answer.kind === "edit" ? answer.command : request.action, {
    mode: "command",
  })
    .split("\n")
    .map(withoutTabs);
  const more = rest.length > 0 ? ` …${plural(rest.length, "more line")}` : "";
  const sign = signOf(request);
  const decision =
    request.keep === undefined
      ? decisionWords(request, answer, style)
      : answer.kind === "yes"
        ? style.ok("kept")
        : style.removed("reverted");
  const decided = clip(by === undefined ? decision : `${decision} (${oneLine(by)})`, Math.max(12, columns - 18));
  const left = columns - Bun.stringWidth(decided) - 4;
  const shown =
    left - more.length < 12
      ? clip(`${where}${sign} ${first}${more}`, left)
      : `${clip(`${where}${sign} ${first}`, left - more.length)}${more}`;
  return `${style.grey(`${shown} --`)} ${decided}`;
}

/** An edited command as it will run, where the row of its answer has no room for all of it. */
export function editedLines(answer: ApprovalAnswer, columns: number): string[] {
  if (answer.kind !== "edit") return [];
  const lines = showText(answer.command, { mode: "command" }).split("\n").map(withoutTabs);
  if (lines.length === 1 && Bun.stringWidth(lines[0]!) <= columns / 3) return [];
  return lines.flatMap((line) =>
    Bun.wrapAnsi(`  ${line}`, columns, { hard: true, trim: false, wordWrap: false }).split("\n"),
  );
}

/** Between the place and what would happen there: only a command follows a prompt. */
export function signOf({ tool }: Pick<ApprovalRequest, "tool">): string {
  return tool === "run_shell" ? "$" : ":";
}

function decisionWords({ typed }: ApprovalRequest, answer: ApprovalAnswer, style: Theme): string {
  switch (answer.kind) {
    case "yes":
      return style.ok("approved");
    case "choose":
      // Where a name must be typed, the chosen machines are asked about next.
      return style.ok(`${typed === undefined ? "approved for" : "chosen:"} ${oneLine(foldNames(answer.only))}`);
    case "canary":
      return style.ok("approved for one machine first");
    case "always":
      return style.ok("approved; similar commands allowed this session");
    case "edit":
      return style.ok("edited");
    case "no":
      // The reason is in full below the call.
      return style.removed(answer.stop === true ? "denied; task stopped" : "denied");
    case "cancelled":
      return style.grey("withdrawn");
    case "no-terminal":
      return style.grey("no terminal to ask on");
  }
}

/** Wrapped, with all rows but the first indented, and cut after `most` rows. */
export function inRows(text: string, columns: number, most: number): string[] {
  if (!Number.isFinite(columns) || Bun.stringWidth(text) <= columns) return [text];
  const [first = "", ...rest] = Bun.wrapAnsi(text, Math.max(8, columns - 4), { hard: true, trim: false }).split("\n");
  const rows = [first, ...rest.map((row) => `    ${row.replace(/^((?:\x1b\[[0-9;]*m)*) +/, "$1")}`)];
  if (rows.length <= most) return rows;
  return [...rows.slice(0, most - 1), clip(`${rows[most - 1]}…`, columns)];
}

export function listed(letters: readonly string[]): string {
  const shown = letters.filter((letter) => letter !== "h");
  return `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}`;
}

export function changeWords({ unsure }: Pick<Stated, "unsure">): string {
  return unsure === true ? "may change something" : "makes changes";
}

/** `user`: the one it would run as. */
export function stated(what: Stated | undefined, user: string): string {
  if (what === undefined) return "nothing";
  return [what.risk, ...(what.mutation ? [changeWords(what)] : []), ...(what.privesc ? [`as ${user}`] : [])].join(", ");
}

/** A long path without its middle: the file's name stays. */
export function withoutMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = Math.floor(length / 2) - 1;
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

/** The user that sudo and similar programs run a command as; a guess, for the text of the question only. */
export function privilegedUser(command: string): string {
  const user = /\b(?:sudo|doas|runuser)\b[^|;&]*?\s(?:-u|--user)[= ]?\s*([\w.-]+)/.exec(command)?.[1];
  return user === undefined ? "root" : oneLine(user);
}

/** In the help of a question in the REPL. */
export const COMMAND_FIRST = "/  type a command first (/kill, /status); the question waits";

export const KEY_NAMES: Readonly<Record<string, string>> = {
  y: "yes",
  n: "no",
  a: "always",
  e: "edit",
  v: "view",
  s: "stop",
  "?": "help",
};

/** Whether a change stays that is otherwise reverted. */
export const KEEP_KEY_NAMES: Readonly<Record<string, string>> = { k: "keep", r: "revert now", v: "view" };

/** What differs in a question for several machines. */
export const SET_KEY_NAMES: Readonly<Record<string, string>> = { y: "all", c: "canary", s: "choose" };
