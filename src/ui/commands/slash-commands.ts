/** The commands that begin with a slash: one table for running, gating, help and completion. */
import type { Task, Tasks, TaskWork } from "../../agent/tasks.ts";
import { closestMatch } from "../../lib/text.ts";
import type { Suggestion } from "../editor/completion.ts";
import type { Choice } from "../questions/picker.ts";
import type { ReplHost } from "../repl/host.ts";
import type { Theme } from "../theme.ts";
import { oneLine } from "../words.ts";
import { approve, privacy } from "./approve-and-privacy.ts";
import { help } from "./help.ts";
import { login, logout, model } from "./model.ts";
import { workCommands } from "./running.ts";
import { changeCommands, sessionCommands, themeCommand } from "./session.ts";
import { extendCommands } from "./skills-and-mcp.ts";
import { config, context, cost, status, tools } from "./status.ts";
import { adopt, attach, reconnect, sudo, targetCommands } from "./targets.ts";

/** What a command may do to the REPL. */
export interface CommandScreen {
  readonly host: ReplHost;
  readonly tasks: Tasks;
  readonly style: Theme;
  readonly columns: number;
  /** Words of buddy's own, wrapped where a row ends. */
  say(lines: readonly string[]): void;
  /** As it is: commands to be copied, text that is not buddy's own. */
  verbatim(lines: readonly string[]): void;
  fail(message: string, hint?: string): void;
  /** Undefined when the operator chose nothing. */
  pick(title: string, choices: readonly Choice[], selected: number): Promise<Choice | undefined>;
  /** Shows a long text, and returns when it was read. */
  show(lines: readonly string[]): Promise<void>;
  /** Empties the screen. */
  clear(): void;
  /** Into the clipboard of the terminal; false where that cannot be done. */
  copy(text: string): boolean;
  /** As if it had been typed. */
  submit(text: string): void;
  /** Runs work as a task; `shown` represents it on the screen. */
  task(shown: string, work: TaskWork): void;
  readonly lastPrompt: string | undefined;
  /** A result that was shown in part, by its number; the newest without one. */
  kept(number?: number): KeptResult | undefined;
  /** What a task is doing, for /ps. */
  doing(task: Task): string;
  /** Leaves; asks once more when something runs. */
  quit(): void;
  /** Prints the last question and answer of the conversation. */
  sayLastExchange(): void;
  /** Work that Ctrl-C can end while the input line waits (sign-in). */
  interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /** What such work waits for; undefined when it is over. */
  waiting(text: string | undefined): void;
}

export interface KeptResult {
  readonly number: number;
  readonly title: string;
  /** The id of the full output, for the target. */
  readonly outputId?: string;
  readonly text: string;
}

export interface SlashCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly args: string;
  readonly summary: string;
  /** Works while a task runs. */
  readonly anytime: boolean;
  /** Words it takes at most; none without `args`, one with them, unless this says otherwise. */
  readonly words?: number;
  run(screen: CommandScreen, args: string): void | Promise<void>;
  /** Values for the argument, given the words before it. */
  complete?(host: ReplHost, tasks: Tasks, words: readonly string[]): ArgumentValues | Promise<ArgumentValues>;
}

export type ArgumentValues = readonly Omit<Suggestion, "label">[];

export async function runSlashCommand(line: string, screen: CommandScreen): Promise<void> {
  const [, word = "", text = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(line.trim())!;
  const args = text.trim();
  const found = findCommands(word, customCommands(screen.host));
  const [command] = found;
  if (command === undefined || found.length > 1)
    return screen.fail(
      unknownWords(word, found),
      "/help all lists the commands; to send text starting with /, put a space first",
    );
  const { running } = screen.tasks;
  if (running !== undefined && !command.anytime)
    return screen.fail(`/${command.name} is not available while task ${running.id} runs`, "Ctrl-C stops the task");
  const most = command.words ?? (command.args === "" ? 0 : 1);
  const given = args === "" ? 0 : args.split(/\s+/).length;
  if (given > most) {
    const usage = `usage: /${command.name} ${command.args}`.trimEnd();
    return screen.fail(
      most === 0 ? `/${command.name} takes no arguments` : `too many arguments: "${oneLine(args)}"`,
      usage,
    );
  }
  if (isBuiltIn(word) && screen.host.customCommands().commands.some(({ name }) => name === word))
    screen.say([screen.style.grey(shadowed(word))]);
  await command.run(screen, args);
}

/** Commands of the operator's own; a built-in name or alias wins. */
export function customCommands(host: ReplHost): SlashCommand[] {
  return host
    .customCommands()
    .commands.filter(({ name }) => !isBuiltIn(name))
    .map(({ name, args, summary, expand }) => ({
      name,
      args: oneLine(args),
      summary: oneLine(summary),
      anytime: true,
      words: Infinity,
      run: (screen, typed) => {
        const prompt = expand(typed);
        screen.task(`/${name} ${typed}`.trim(), (signal) =>
          screen.host.runTurn(prompt, signal, { shown: `/${name} ${typed}`.trim() }),
        );
      },
    }));
}

export function shadowed(name: string): string {
  return `· /${name} is built in; your commands/${name}.md is not used`;
}

export function isBuiltIn(word: string): boolean {
  return SLASH_COMMANDS.some(({ name, aliases = [] }) => name === word || aliases.includes(word));
}

function unknownWords(word: string, found: readonly SlashCommand[]): string {
  if (word === "") return "no command after the slash";
  if (found.length > 1) return `/${oneLine(word)} could be ${found.map(({ name }) => `/${name}`).join(", ")}`;
  const names = SLASH_COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  const near = closestMatch(word, names);
  return `unknown command /${oneLine(word)}${near === undefined ? "" : `; did you mean /${near}?`}`;
}

/** The command of that name or alias, or all that begin like that. */
export function findCommands(word: string, own: readonly SlashCommand[] = []): readonly SlashCommand[] {
  const all = [...SLASH_COMMANDS, ...own];
  const exact = all.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
  if (exact !== undefined) return [exact];
  return word === "" ? [] : all.filter(({ name }) => name.startsWith(word));
}

export function isSlashCommand(line: string): boolean {
  // A path at the start of a prompt (/etc/hosts is …) is not a command.
  return /^\/(?:\?|[a-zA-Z][\w-]*)?(\s|$)/.test(line) || line === "/";
}

/** In the order of /help all. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [
  {
    name: "status",
    args: "[all]",
    summary: "where you are, what may run, what it has cost; all: more",
    anytime: true,
    run: status,
    complete: () => [{ value: "all", hint: "also endpoint, tools, files and versions", complete: true }],
  },
  ...workCommands,
  ...changeCommands,
  ...extendCommands,
  approve,
  privacy,
  attach,
  ...targetCommands,
  reconnect,
  adopt,
  sudo,
  model,
  login,
  logout,
  { name: "context", args: "", summary: "how full the model's context window is", anytime: true, run: context },
  {
    name: "compact",
    args: "[FOCUS]",
    summary: "summarise older turns to make room; FOCUS says what to keep",
    anytime: false,
    words: Infinity,
    run: (screen, focus) => {
      screen.tasks.submit("/compact", (signal) => screen.host.compact(signal, focus));
    },
  },
  { name: "cost", args: "", summary: "tokens and money spent in this session", anytime: true, run: cost },
  ...sessionCommands,
  { name: "tools", args: "", summary: "the tools of the model", anytime: true, run: tools },
  {
    name: "config",
    args: "",
    summary: "settings that differ from the defaults, and their origin",
    anytime: true,
    run: config,
  },
  themeCommand,
  {
    name: "help",
    aliases: ["?"],
    args: "[all|keys|COMMAND]",
    summary: "what you can do; all: every command and key",
    anytime: true,
    run: help,
    complete: () => [
      { value: "all", hint: "every command and key", complete: true },
      { value: "keys", hint: "every key", complete: true },
      ...SLASH_COMMANDS.map(({ name, summary }) => ({ value: name, hint: summary, complete: true })),
    ],
  },
  {
    name: "quit",
    aliases: ["exit", "q"],
    args: "",
    summary: "leave",
    anytime: true,
    run: (screen) => screen.quit(),
  },
];
