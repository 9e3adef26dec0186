/** The commands that begin with a slash: one table for running, gating, help and completion. */
import type { Task, Tasks } from "../../agent/tasks.ts";
import { closestMatch } from "../../lib/closest-match.ts";
import { formatDuration, LONGEST_DURATION_MS, parseDuration } from "../../lib/durations.ts";
import { clip } from "../../lib/graphemes.ts";
import { attach } from "./attach.ts";
import { approve } from "./approve.ts";
import { login } from "./login.ts";
import { model } from "./model.ts";
import { privacy } from "./privacy.ts";
import { reconnect } from "./reconnect.ts";
import { session } from "./session.ts";
import { context, status, tools } from "./status.ts";
import type { Suggestion } from "../editor/completion.ts";
import type { ReplHost } from "../repl/host.ts";
import { labelled } from "../labelled.ts";
import type { Choice } from "../picker.ts";
import type { Theme } from "../theme.ts";
import { oneLine } from "../transcript/tool-view.ts";
import { clock } from "../words.ts";

/** What a command may do to the REPL. */
export interface CommandScreen {
  readonly host: ReplHost;
  readonly tasks: Tasks;
  readonly style: Theme;
  readonly columns: number;
  say(lines: readonly string[]): void;
  fail(message: string, hint?: string): void;
  /** Undefined when the operator chose nothing. */
  pick(title: string, choices: readonly Choice[], selected: number): Promise<Choice | undefined>;
  /** What a task is doing, for /ps. */
  doing(task: Task): string;
  quit(): void;
  /** Work that Ctrl-C can end while the input line waits (sign-in). */
  interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /** What such work waits for; undefined when it is over. */
  waiting(text: string | undefined): void;
}

export interface SlashCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly args: string;
  readonly summary: string;
  /** Works while a task runs. */
  readonly anytime: boolean;
  /** Said instead when a task runs. */
  readonly meanwhile?: (screen: CommandScreen) => string;
  run(screen: CommandScreen, args: string): void | Promise<void>;
  /** Values for the argument, given the words before it. */
  complete?(host: ReplHost, tasks: Tasks, words: readonly string[]): ArgumentValues | Promise<ArgumentValues>;
}

export type ArgumentValues = readonly Omit<Suggestion, "label">[];

export async function runSlashCommand(line: string, screen: CommandScreen): Promise<void> {
  const [, word = "", args = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(line.trim())!;
  const command = findCommand(word);
  if (command === undefined) {
    const names = SLASH_COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    const near = word === "" ? undefined : closestMatch(word, names);
    screen.fail(
      word === ""
        ? "a slash alone is no command"
        : near === undefined
          ? `there is no /${oneLine(word)}`
          : `there is no /${oneLine(word)}; did you mean /${near}?`,
      "/help lists the commands; a prompt that begins with / needs a blank before it",
    );
    return;
  }
  const { running } = screen.tasks;
  if (running !== undefined && !command.anytime) {
    const names = SLASH_COMMANDS.filter(({ anytime }) => anytime).map(({ name }) => `/${name}`);
    screen.fail(
      `/${command.name} has to wait: task ${running.id} is running`,
      [command.meanwhile?.(screen) ?? "", `now: ${names.join(" ")}; Ctrl-C stops the task`].filter(Boolean).join("\n"),
    );
    return;
  }
  await command.run(screen, args.trim());
}

export function findCommand(word: string): SlashCommand | undefined {
  const exact = SLASH_COMMANDS.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
  if (exact !== undefined || word === "") return exact;
  const begun = SLASH_COMMANDS.filter(({ name }) => name.startsWith(word));
  return begun.length === 1 ? begun[0] : undefined;
}

export function isSlashCommand(line: string): boolean {
  // A path at the start of a prompt (/etc/hosts is …) is no command.
  return /^\/[a-zA-Z?]*(\s|$)/.test(line) || line === "/";
}

export const SLASH_COMMANDS: readonly SlashCommand[] = [
  { name: "status", args: "", summary: "what buddy is connected to and allowed to do", anytime: true, run: status },
  model,
  login,
  { name: "context", args: "", summary: "how full the model's window is", anytime: true, run: context },
  {
    name: "compact",
    args: "",
    summary: "summarise older turns to make room",
    anytime: false,
    run: (screen) => {
      screen.tasks.submit("/compact", (signal) => screen.host.compact(signal));
    },
  },
  { name: "ps", args: "", summary: "running and queued tasks", anytime: true, run: ps },
  {
    name: "kill",
    args: "ID",
    summary: "stop a task, or take it out of the queue",
    anytime: true,
    run: kill,
    complete: taskIds,
  },
  {
    name: "timeout",
    args: "DURATION [ID]",
    summary: "end a task after that long",
    anytime: true,
    run: timeout,
    complete: (host, tasks, words) => (words.length < 2 ? durations : taskIds(host, tasks)),
  },
  approve,
  privacy,
  session,
  { name: "tools", args: "", summary: "what the model may use here", anytime: false, run: tools },
  attach,
  reconnect,
  { name: "help", aliases: ["?"], args: "", summary: "this list, and the keys", anytime: false, run: help },
  {
    name: "quit",
    aliases: ["exit", "q"],
    args: "",
    summary: "leave",
    anytime: false,
    meanwhile: ({ tasks }) => `/kill ${tasks.running?.id ?? ""} first, or press Ctrl-D to leave at once`,
    run: (screen) => screen.quit(),
  },
];

const durations = ["30s", "5m", "15m", "1h"].map((value) => ({ value, hint: "", complete: true }));

function taskIds(_host: ReplHost, tasks: Tasks): Omit<Suggestion, "label">[] {
  return tasks.list
    .filter((task) => task.state.kind !== "over")
    .map((task) => ({ value: String(task.id), hint: oneLine(task.title), complete: true }));
}

function ps(screen: CommandScreen): void {
  const { style, tasks } = screen;
  const now = Date.now();
  if (tasks.list.length === 0) {
    screen.say(["no tasks yet: type a prompt"]);
    return;
  }
  screen.say(
    tasks.list.map((task) => {
      const time =
        task.state.kind === "queued"
          ? ""
          : clock((task.state.kind === "over" ? task.state.endedAt : now) - (task.state.startedAt ?? now));
      const limit =
        task.deadline === undefined || task.state.kind === "over" ? "" : ` limit in ${clock(task.deadline - now)}`;
      const state = screen.doing(task);
      const row = `${String(task.id).padStart(3)}  ${state.padEnd(20)} ${time.padEnd(6)}${limit}`;
      const shown = task.state.kind === "over" ? style.grey(row) : row;
      return clip(`${shown}  ${style.grey(oneLine(task.title))}`, screen.columns);
    }),
  );
}

function kill(screen: CommandScreen, args: string): void {
  const id = taskId(screen, args, "/kill ID");
  if (id === undefined) return;
  const task = screen.tasks.get(id);
  const queued = task?.state.kind === "queued";
  if (screen.tasks.cancel(id)) screen.say([queued ? `task ${id} taken out of the queue` : `stopping task ${id}`]);
  else
    screen.fail(task === undefined ? `there is no task ${id}` : `task ${id} has ended already`, "/ps lists the tasks");
}

function timeout(screen: CommandScreen, args: string): void {
  const [duration = "", which = ""] = args.split(/\s+/);
  const ms = parseDuration(duration);
  if (ms === undefined || ms <= 0 || ms > LONGEST_DURATION_MS) {
    screen.fail(
      `/timeout needs a duration${duration === "" ? "" : `, not "${oneLine(duration)}"`}`,
      "for example /timeout 10m, or /timeout 90s 2 for task 2; at most 24d",
    );
    return;
  }
  const id = taskId(screen, which, "/timeout DURATION ID");
  if (id === undefined) return;
  if (screen.tasks.limit(id, ms)) screen.say([`task ${id} ends in ${formatDuration(ms)} at the latest`]);
  else screen.fail(`there is no running or queued task ${id}`, "/ps lists the tasks");
}

/** The id given, or the only task there is. */
function taskId(screen: CommandScreen, text: string, usage: string): number | undefined {
  const open = screen.tasks.list.filter((task) => task.state.kind !== "over");
  if (text === "") {
    if (open.length === 1) return open[0]!.id;
    if (open.length === 0) screen.fail("no task is running", "/ps lists the tasks");
    else screen.fail(`which one? ${usage}`, open.map((task) => `${task.id}  ${oneLine(task.title)}`).join("\n"));
    return undefined;
  }
  if (/^\d{1,9}$/.test(text)) return Number(text);
  screen.fail(`"${oneLine(text)}" is no task id`, "/ps lists the tasks");
  return undefined;
}

function help(screen: CommandScreen): void {
  const { style, columns } = screen;
  const plain = (text: string): string => text;
  const commands = SLASH_COMMANDS.map(({ name, aliases = [], args, summary }) => {
    const also = aliases.length === 0 ? "" : ` (also ${aliases.map((alias) => `/${alias}`).join(" ")})`;
    return { label: `/${name} ${args}`.trimEnd(), value: style.grey(summary + also) };
  });
  const keys = KEYS.map(([label, value]) => ({ label, value: style.grey(value) }));
  screen.say([
    style.bold("Type what you want done and press Enter. Commands:"),
    ...labelled(commands, columns, plain),
    "",
    style.bold("Keys:"),
    ...labelled(keys, columns, plain),
  ]);
}

const KEYS: readonly (readonly [string, string])[] = [
  ["Alt+Enter", "new line"],
  ["Up Down, Ctrl-P/N", "earlier prompts; Ctrl-R searches them"],
  ["Tab", "complete a command or an @path"],
  ["Ctrl-A/E/B/F", "start, end, back, forward; Alt-B/F by words"],
  ["Ctrl-K/U/W, Alt-D", "cut to end, to start, a word; Ctrl-Y pastes it"],
  ["Ctrl-_", "undo"],
  ["Ctrl-O", "show or fold the model's reasoning"],
  ["Ctrl-L", "clear the screen"],
  ["Ctrl-C", "clear the line, then stop the task; twice leaves"],
  ["Ctrl-D", "leave (on an empty line)"],
  ["Ctrl-Z", "to the shell; fg comes back"],
];
