/** /changes, /diff, /undo: the files changed in this session, the differences, and undoing them. */
import { clip } from "../../lib/text.ts";
import { showText } from "../../policy/screen/terminal-text.ts";
import { highlight } from "../markdown/highlight.ts";
import type { ChangeListing, ReplHost } from "../repl/host.ts";
import { timeOfDay, oneLine } from "../words.ts";
import type { ArgumentValues, CommandScreen, SlashCommand } from "./slash-commands.ts";

export const changeCommands: readonly SlashCommand[] = [
  { name: "changes", args: "", summary: "files changed in this session", anytime: true, run: list },
  {
    name: "diff",
    args: "[N]",
    summary: "show what changed in the files, or only change N",
    anytime: true,
    run: diff,
    complete: (host) => numbers(host),
  },
  {
    name: "undo",
    args: "[N|all]",
    summary: "undo the last file change, change N, or all; asks first",
    anytime: false,
    run: undo,
    complete: async (host) => [...(await numbers(host)), { value: "all", hint: "restore every file", complete: true }],
  },
];

async function numbers(host: ReplHost): Promise<ArgumentValues> {
  const changes = await host.changes();
  return changes
    .toReversed()
    .map(({ number, path }) => ({ value: String(number), hint: oneLine(path), complete: true }));
}

async function list(screen: CommandScreen): Promise<void> {
  const changes = await screen.host.changes();
  if (changes.length === 0) return screen.say(NONE);
  const { style, columns } = screen;
  const places = new Set(changes.map(({ where }) => where));
  const row = ({ number, time, where, path, what, undone }: ChangeListing): string => {
    const place = places.size > 1 ? `${where}:` : "";
    const state = undone === undefined ? "" : `undone by ${undone}; `;
    const start = `${String(number).padStart(3)}  ${timeOfDay(Date.parse(time))}  ${oneLine(`${place}${path}`)}`;
    const text = `${undone === undefined ? start : style.grey(start)}  ${style.grey(oneLine(state + what))}`;
    return clip(text, columns);
  };
  screen.say(changes.map(row));
}

async function diff(screen: CommandScreen, args: string): Promise<void> {
  const number = changeNumber(screen, args);
  if (number === "wrong") return;
  if ((await screen.host.changes()).length === 0) return screen.say(NONE);
  const lines = await screen.host.changeDiff(number);
  const shown = showText(screen.host.redact(lines.join("\n")), { mode: "command" }).split("\n");
  await screen.show(shown.map((line) => highlight(line, "diff", "", screen.style).text));
}

async function undo(screen: CommandScreen, args: string): Promise<void> {
  const number = args === "all" ? undefined : changeNumber(screen, args);
  if (number === "wrong") return;
  // No task for nothing.
  const changes = await screen.host.changes();
  if (changes.length === 0) return screen.say(NONE);
  if (number !== undefined && !changes.some((change) => change.number === number))
    return screen.fail(`there is no change ${number} in this session`, "/changes lists them");
  screen.tasks.submit(`/undo ${args}`.trimEnd(), (signal) => screen.host.undo(args, signal));
}

function changeNumber(screen: CommandScreen, args: string): number | undefined | "wrong" {
  if (args === "") return undefined;
  if (/^[1-9]\d{0,8}$/.test(args)) return Number(args);
  screen.fail(`"${oneLine(args)}" is not the number of a change`, "/changes lists them");
  return "wrong";
}

const NONE = ["no file was changed in this session"];
