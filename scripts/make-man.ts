/** The man page docs/buddy.1, made from the definitions of commands and options: `bun scripts/make-man.ts`. */
import { join } from "node:path";
import { version } from "../package.json";
import { OPTION_NOTES, positionalWord, usageOf } from "../src/cli/args/help.ts";
import { GLOBAL_ARGS } from "../src/cli/args/options.ts";
import { type Args, type Command, COMMANDS, loadCommand } from "../src/cli/command.ts";
import { TOPICS } from "../src/cli/commands/help/command.ts";
import { EXIT } from "../src/lib/errors.ts";
import { KEYS } from "../src/ui/commands/help.ts";
import { SLASH_COMMANDS } from "../src/ui/commands/slash-commands.ts";

export const MAN_PAGE = join(import.meta.dir, "../docs/buddy.1");

export async function manPage(): Promise<string> {
  const commands = await Promise.all(Object.keys(COMMANDS).map((name) => loadCommand(name)));
  return `${[
    `.TH BUDDY 1 "" "buddy ${version}" "User Commands"`,
    ".SH NAME",
    "buddy \\- a terminal agent for people who run machines",
    ".SH SYNOPSIS",
    ".B buddy",
    "[OPTIONS] [PROMPT]",
    ".br",
    ".B buddy",
    "[OPTIONS] COMMAND [ARGUMENTS]",
    ".SH DESCRIPTION",
    plain(
      "Without a command buddy opens a REPL; buddy exec answers one prompt. The model works in a shared tmux pane that you can attach to, on this machine, over ssh, or in a container. buddy asks before it makes a change.",
    ),
    ".SH OPTIONS",
    ...options(GLOBAL_ARGS),
    ...paragraphs(OPTION_NOTES),
    ".SH COMMANDS",
    ...commands.flatMap(section),
    ".SH REPL COMMANDS",
    ...SLASH_COMMANDS.flatMap(({ name, aliases = [], args, summary }) => [
      ".TP",
      bold([`/${name}`, ...aliases.map((alias) => `/${alias}`)].join(", ") + (args === "" ? "" : ` ${args}`)),
      plain(summary),
    ]),
    ".SH KEYS",
    ...KEYS.flatMap(([key, words]) => [".TP", bold(key), plain(words)]),
    ".SH EXIT STATUS",
    ...EXIT_WORDS.flatMap(([code, words]) => [".TP", bold(String(code)), plain(words)]),
    ...paragraphs(["buddy run ends with the highest exit code of its machines; see above."]),
    ".SH ENVIRONMENT",
    ...ENVIRONMENT.flatMap(([name, words]) => [".TP", bold(name), plain(words)]),
    ".SH FILES",
    ...FILES.flatMap(([name, words]) => [".TP", italic(name), plain(words)]),
    ".SH SEE ALSO",
    ".BR tmux (1),",
    ".BR ssh (1)",
    ".PP",
    plain(`buddy help TOPIC prints more, without a network: ${Object.keys(TOPICS).join(", ")}.`),
  ].join("\n")}\n`;
}

const EXIT_WORDS: readonly (readonly [number, string])[] = [
  [EXIT.ok, "answered"],
  [EXIT.failure, "model or tool-loop failure"],
  [EXIT.usage, "usage or configuration"],
  [EXIT.approval, "an approval was needed, but there was no terminal to ask on"],
  [EXIT.auth, "not signed in, or no key"],
  [EXIT.timeout, "--timeout ran out"],
  [EXIT.interrupted, "interrupted (SIGINT); 129 for SIGHUP, 143 for SIGTERM"],
];

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ["BUDDY_API_KEY", "key for the endpoint; overrides the profile's own"],
  ["BUDDY_BASE_URL", "address of the endpoint"],
  ["BUDDY_MODEL", "profile or model, as --model"],
  ["BUDDY_CONFIG", "configuration file, as --config"],
  ["BUDDY_API_TIMEOUT, BUDDY_FETCH_TIMEOUT", "durations"],
  ["BUDDY_LOG", "how much is reported: error (as -q), info, verbose (as -v), debug (as -vv)"],
  ["BUDDY_TRACE_FILE", "file of the trace, as --trace"],
  ["BUDDY_PLAIN", "1: the REPL line by line, for screen readers"],
  ["BUDDY_SEARCH_URL", "the server that web_search asks"],
  ["BUDDY_INSTALL_BASE_URL", "the mirror that buddy update and install.sh download from"],
  ["NO_COLOR, FORCE_COLOR, CLICOLOR, CLICOLOR_FORCE", "colour off, or on in a pipe"],
  ["HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY", "proxies; SOCKS is not supported"],
];

const FILES: readonly (readonly [string, string])[] = [
  ["~/.config/buddy/buddy.toml", "configuration; ./buddy.toml is merged over it, as far as you trust that file"],
  ["~/.config/buddy/auth.json", "sign-ins of buddy login"],
  ["~/.config/buddy/keys", "keys that buddy login and buddy init stored"],
  ["~/.config/buddy/AGENTS.md", "instructions for every session"],
  ["~/.config/buddy/hosts/NAME.md", "notes for the model about one machine"],
  ["~/.config/buddy/skills, ~/.agents/skills", "skills and runbooks; those of a repository need trust"],
  ["~/.config/buddy/commands/NAME.md", "your own commands for the REPL"],
  ["~/.config/buddy/mcp-auth.json", "sign-ins at MCP servers"],
  ["~/.config/buddy/history", "prompts typed in the REPL"],
  [".buddyx/sessions", "saved sessions of a working directory"],
  ["~/.local/state/buddy/outputs", "full output of the commands of saved sessions"],
  ["~/.local/state/buddy/audit.jsonl", "the record of decisions and effects; shown by buddy audit"],
  ["~/.local/state/buddy/changes", "files as they were before sessions changed them, for /undo"],
];

function section(command: Command): string[] {
  const positionals = Object.entries(command.args).filter(([, def]) => def.type === "positional");
  return [
    `.SS ${plain(usageOf(command))}`,
    plain(`${COMMANDS[command.name]?.[0] ?? ""}.`),
    ...positionals.flatMap(([name, def]) => [".TP", italic(positionalWord(name, def)), plain(def.description ?? "")]),
    ...options(command.args),
    ...paragraphs(prose(command.notes ?? "")),
    ".PP",
    command.examples.length === 1 ? "Example:" : "Examples:",
    ...command.examples.flatMap(([line, text]) => [".TP", bold(line), plain(text)]),
  ];
}

function options(args: Args): string[] {
  return Object.entries(args).flatMap(([name, def]) => {
    if (def.type === "positional") return [];
    const short = "alias" in def && typeof def.alias === "string" ? `-${def.alias}, ` : "";
    const value = def.type === "boolean" ? "" : ` ${def.valueHint ?? "VALUE"}`;
    return [".TP", bold(`${short}--${name}${value}`), plain(def.description ?? "")];
  });
}

/** Without lists, which are columns: exit codes and topics have places of their own here. */
function prose(notes: string): string[] {
  return notes
    .trim()
    .split("\n\n")
    .filter((text) => text !== "" && !/^ /m.test(text))
    .map((text) => text.replaceAll("\n", " "));
}

function paragraphs(texts: readonly string[]): string[] {
  return texts.flatMap((text) => [".PP", plain(text)]);
}

function bold(text: string): string {
  return `\\fB${plain(text)}\\fR`;
}

function italic(text: string): string {
  return `\\fI${plain(text)}\\fR`;
}

/** A dot or quote that opens a line would be a request to troff. */
function plain(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^(?=[.'])/, "\\&");
}

if (import.meta.main) await Bun.write(MAN_PAGE, await manPage());
