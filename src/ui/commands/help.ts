/** /help: what people do most, in one screen; /help all has every command and key. */
import { firstClause, words } from "../../lib/text.ts";
import type { StatusRow } from "../repl/host.ts";
import { labelled, oneLine } from "../words.ts";
import {
  type CommandScreen,
  customCommands,
  findCommands,
  isBuiltIn,
  shadowed,
  SLASH_COMMANDS,
  type SlashCommand,
} from "./slash-commands.ts";

export function help(screen: CommandScreen, topic: string): void {
  switch (topic) {
    case "":
      return screen.say([...shortHelp(screen), ...ownCommands(screen), ...footer(screen)]);
    case "all":
      return screen.say([
        ...titled(
          screen,
          "Commands",
          SLASH_COMMANDS.map((command) => row(screen, command)),
        ),
        ...ownCommands(screen),
        ...titled(screen, "Keys", keyRows(screen)),
      ]);
    case "keys":
      return screen.say(labelled(keyRows(screen), screen.columns, asItIs));
  }
  const found = findCommands(topic.replace(/^\//, ""), customCommands(screen.host));
  if (found.length === 0) return screen.fail(`there is no command /${oneLine(topic)}`, "/help all lists the commands");
  screen.say(
    labelled(
      found.map((command) => row(screen, command)),
      screen.columns,
      asItIs,
    ),
  );
}

/** Title → commands; the others are in /help all. */
const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ["See", words("status output changes")],
  ["Take back", words("undo kill")],
  ["Elsewhere", words("on attach model")],
  ["Keep", words("export resume")],
];

function shortHelp({ style, columns }: CommandScreen): string[] {
  const wide = columns >= 60;
  const rows = GROUPS.map(([title, names]) =>
    names.map((name, at): StatusRow => {
      const { args, summary } = SLASH_COMMANDS.find((command) => command.name === name)!;
      const before = wide ? (at === 0 ? title : "").padEnd(11) : "";
      const word = /^\[?([A-Z]+)/.exec(args)?.[1] ?? "";
      return { label: `${before}/${name} ${word}`.trimEnd(), value: firstClause(summary, columns - LEFT) };
    }),
  );
  return [
    "Say what you need. Read-only commands run automatically; buddy asks before any change.",
    ...(wide
      ? ["", ...labelled(rows.flat(), columns, (label) => label.replace(/^\S.{10}/, (title) => style.bold(title)))]
      : GROUPS.flatMap(([title], at) => ["", style.bold(title), ...labelled(rows[at]!, columns, asItIs)])),
  ];
}

/** Title and command. */
const LEFT = 28;

function footer({ style }: CommandScreen): string[] {
  return [
    "",
    "Ctrl-C stop   Ctrl-D or /quit leave   Ctrl-R search   !ls run it yourself   @file attach",
    style.grey("More: /help all (every command and key), /help undo (one command)"),
  ];
}

function ownCommands(screen: CommandScreen): string[] {
  const { problems, commands: files } = screen.host.customCommands();
  const own = customCommands(screen.host).map((command) => row(screen, command));
  const notes = [
    ...files.filter(({ name }) => isBuiltIn(name)).map(({ name }) => shadowed(name)),
    ...problems.map((problem) => `· ${problem}`),
  ];
  return [
    ...(own.length === 0 ? [] : titled(screen, "Your own commands", own)),
    ...notes.map((note) => screen.style.grey(oneLine(note))),
  ];
}

function titled({ style, columns }: CommandScreen, title: string, rows: readonly StatusRow[]): string[] {
  return ["", style.bold(`${title}:`), ...labelled(rows, columns, asItIs)];
}

function row({ style }: CommandScreen, { name, aliases = [], args, summary }: SlashCommand): StatusRow {
  const also = aliases.length === 0 ? "" : ` (also ${aliases.map((alias) => `/${alias}`).join(" ")})`;
  return { label: `/${name} ${args}`.trimEnd(), value: style.grey(summary + also) };
}

function keyRows({ style }: CommandScreen): StatusRow[] {
  return KEYS.map(([label, value]) => ({ label, value: style.grey(value) }));
}

function asItIs(text: string): string {
  return text;
}

export const KEYS: readonly (readonly [string, string])[] = [
  ["Alt+Enter", "new line"],
  ["Up Down, Ctrl-P/N", "earlier prompts; Ctrl-R searches them"],
  ["Tab", "complete a command or an @path"],
  ["Ctrl-A/E/B/F", "start, end, back, forward; Alt-B/F by words"],
  ["Ctrl-K/U/W, Alt-D", "cut to end, to start, a word; Ctrl-Y pastes it"],
  ["Ctrl-_", "undo"],
  ["Ctrl-X Ctrl-E", "edit the line in $EDITOR"],
  ["Ctrl-O", "show or fold the model's reasoning"],
  ["Ctrl-L", "clear the screen"],
  ["Ctrl-C", "clear the line, then stop the task; twice quits"],
  ["Ctrl-D", "quit (on an empty line)"],
  ["Ctrl-Z", "suspend; fg resumes"],
];
