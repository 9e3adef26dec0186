/** Help texts, made from the definitions of commands and options; at most 80 columns. */
import { firstClause, words } from "../../lib/text.ts";
import { type Arg, type Args, type Command, COMMANDS } from "../command.ts";
import { GLOBAL_ARGS } from "./options.ts";

const WIDTH = 80;

/** `buddy --help`: what people do most, in one screen. */
export function shortHelp(): string {
  const rows = SHORT_OPTIONS.map((name): readonly [string, string] => {
    const def: Arg = GLOBAL_ARGS[name];
    const left = `${def.alias === undefined ? "    " : `-${def.alias}, `}--${name}`;
    return [left, firstClause(def.description ?? "", WIDTH - 20)];
  });
  const switches = SHORT_SWITCHES.map((name) => `-${GLOBAL_ARGS[name].alias}`).join(" ");
  const options = [...rows, [switches, SHORT_SWITCHES.join(", ")] as const];
  return [
    "buddy: a terminal agent for people who run machines",
    "",
    ...FIRST_LINES.map(([line, text]) => `  ${line.padEnd(SHORT_COLUMN)}${text}`),
    "",
    ...Object.entries(GROUPS).map(([title, names]) => `${title.padEnd(11)}${names.join(" ")}`),
    "",
    ...options.map(([left, text]) => `  ${left.padEnd(18)}${text}`),
    "",
    "Every command and option: buddy help all    One command: buddy run --help",
  ].join("\n");
}

const SHORT_COLUMN = 26;

const FIRST_LINES: readonly (readonly [line: string, text: string])[] = [
  ['buddy ["PROMPT"]', "talk to it, on this machine"],
  ["buddy --ssh deploy@web1", "on a host, as in your ~/.ssh/config"],
  ["buddy --container api", "in a container; with --ssh, on that host"],
  ["buddy --on web[1-8]", "on machines by name, group or range"],
  ['buddy exec "PROMPT"', "one answer, for scripts and pipes"],
  ["buddy run COMMAND", "one command on one machine or many, no model"],
  ["buddy resume --last", "continue the last session"],
];

/** All other commands. */
const GROUPS = {
  "Set up": words("init login logout models doctor targets mcp skills"),
  "Look back": words("sessions changes audit"),
  Other: words("demo policy trace update completion help"),
};

type Option = keyof typeof GLOBAL_ARGS;
const SHORT_OPTIONS: readonly Option[] = ["model", "cd", "dry-run", "approve", "max-cost"];
const SHORT_SWITCHES = ["quiet", "verbose", "help", "version"] as const;

/** `buddy help all`: every command and option. */
export function rootHelp(): string {
  const commands = Object.entries(COMMANDS).map(([name, [summary]]) => [name, summary] as const);
  return [
    "buddy: a terminal agent for people who run machines",
    "",
    "Usage: buddy [OPTIONS] [PROMPT]      talk to it (REPL)",
    "       buddy [OPTIONS] COMMAND …     see buddy COMMAND --help",
    "",
    "Commands:",
    ...columns(commands),
    "",
    "Options, before or after the command:",
    ...columns(flagRows(GLOBAL_ARGS)),
    "",
    ...OPTION_NOTES.flatMap((note) => wrap(note)),
    "",
    "Environment: BUDDY_API_KEY BUDDY_BASE_URL BUDDY_MODEL BUDDY_CONFIG",
    "             BUDDY_API_TIMEOUT BUDDY_FETCH_TIMEOUT BUDDY_LOG BUDDY_TRACE_FILE",
    "             BUDDY_PLAIN BUDDY_SEARCH_URL BUDDY_INSTALL_BASE_URL",
    "             NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE",
    "",
    "Examples:",
    ...examples([
      ["buddy --ssh deploy@web1", "work on web1, in a tmux pane you can attach to"],
      ['buddy exec "why is the disk full?"', "one answer"],
      ["journalctl -n 200 | buddy exec -q 'what failed?'", "ask about piped text"],
    ]),
  ].join("\n");
}

/** What holds for options of every command; also in the man page. */
export const OPTION_NOTES: readonly string[] = [
  "The word after --tmux counts as the session's name only if it looks like one and the command " +
    'takes no argument there: in buddy exec --tmux "uptime" it is the prompt. --tmux=NAME is unambiguous.',
  "-- ends the options. Durations: 500ms 10s 5m 2h 1d; a bare number is seconds.",
];

export function commandHelp(command: Command): string {
  const positionals = Object.entries(command.args).filter(([, def]) => def.type === "positional");
  const flags = Object.fromEntries(Object.entries(command.args).filter(([, def]) => def.type !== "positional"));
  const lines = [
    `buddy ${command.name}: ${COMMANDS[command.name]?.[0] ?? ""}`,
    "",
    `Usage: ${usageOf(command)} [OPTIONS]`,
  ];
  if (positionals.length > 0) {
    const rows = positionals.map(([name, def]) => [positionalWord(name, def), def.description ?? ""] as const);
    lines.push("", "Arguments:", ...columns(rows));
  }
  if (Object.keys(flags).length > 0) lines.push("", "Options:", ...columns(flagRows(flags)));
  // Not those that the command has a meaning of its own for.
  const globals = USUAL_OPTIONS.filter((name) => !(name in command.args)).map((name) => `--${name}`);
  lines.push("", `Global options: ${globals.join(" ")} … (buddy help all)`);
  if (command.notes !== undefined) lines.push("", command.notes.trim());
  lines.push("", command.examples.length === 1 ? "Example:" : "Examples:", ...examples(command.examples));
  return lines.join("\n");
}

const USUAL_OPTIONS = words("model ssh container on approve");

/** Name left, text right and wrapped below itself; a long name gets its own line. */
function columns(rows: readonly (readonly [name: string, text: string])[]): string[] {
  const left = Math.min(26, Math.max(...rows.map(([name]) => name.length)) + 4);
  return rows.flatMap(([name, text]) => {
    const [first = "", ...more] = wrap(text, WIDTH - left);
    const indent = " ".repeat(left);
    const head = `  ${name}`;
    const start = head.length + 2 <= left ? [head.padEnd(left) + first] : [head, indent + first];
    return [...start, ...more.map((line) => indent + line)];
  });
}

function flagRows(flags: Args): (readonly [string, string])[] {
  return Object.entries(flags).map(([name, def]) => {
    const short = "alias" in def && typeof def.alias === "string" ? `-${def.alias}, ` : "";
    const value = def.type === "boolean" ? "" : ` ${def.valueHint ?? "VALUE"}`;
    return [`${short}--${name}${value}`, def.description ?? ""] as const;
  });
}

/** `buddy NAME [ARGUMENTS]`. */
export function usageOf({ name: command, args }: Command): string {
  const words = Object.entries(args).flatMap(([name, def]) => {
    const word = positionalWord(name, def);
    return def.type !== "positional" ? [] : [def.required === false ? `[${word}]` : word];
  });
  return ["buddy", command, ...words].filter((part) => part !== "").join(" ");
}

export function positionalWord(name: string, def: Arg): string {
  const word = def.choices?.join("|") ?? name.toUpperCase();
  return def.verbatim === true ? `${word}…` : word;
}

function examples(rows: readonly (readonly [line: string, text: string])[]): string[] {
  return rows.flatMap(([line, text]) => {
    const oneLine = `  ${line.padEnd(36)}  # ${text}`;
    return oneLine.length <= WIDTH ? [oneLine] : [`  # ${text}`, `  ${line}`];
  });
}

function wrap(text: string, width = WIDTH): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
