/** What is running and how to end it: /ps, /kill, /stop, /output, /timeout. */
import type { Task, Tasks } from "../../agent/tasks.ts";
import { formatDuration, LONGEST_DURATION_MS, parseDuration } from "../../lib/durations.ts";
import { EXIT, type ExitCode } from "../../lib/errors.ts";
import { canAsk } from "../../lib/terminal.ts";
import { clip } from "../../lib/text.ts";
import { within } from "../../lib/waiting.ts";
import { showText } from "../../policy/screen/terminal-text.ts";
import type { ReplHost, WorkInFlight } from "../repl/host.ts";
import { clock, commandLine, oneLine } from "../words.ts";
import type { ArgumentValues, CommandScreen, SlashCommand } from "./slash-commands.ts";

export const workCommands: readonly SlashCommand[] = [
  { name: "ps", args: "", summary: "tasks, background shells, programs in the panes", anytime: true, run: ps },
  {
    name: "kill",
    args: "[ID]",
    summary: "stop a task, a background shell, or the program in a pane",
    anytime: true,
    run: kill,
    complete: killable,
  },
  { name: "stop", args: "", summary: "press Ctrl-C in the shared pane", anytime: true, run: (screen) => stop(screen) },
  {
    name: "output",
    args: "[ID|N]",
    summary: "the full output of a command or a background shell",
    anytime: true,
    run: output,
  },
  {
    name: "timeout",
    args: "DURATION [ID]",
    summary: "stop a task after this long",
    anytime: true,
    words: 2,
    run: timeout,
    complete: (_host, tasks, words) => (words.length < 2 ? durations : taskIds(tasks)),
  },
];

const durations = ["30s", "5m", "15m", "1h"].map((value) => ({ value, hint: "", complete: true }));

function taskIds(tasks: Tasks): ArgumentValues {
  return open(tasks).map((task) => ({ value: String(task.id), hint: oneLine(task.title), complete: true }));
}

async function killable(host: ReplHost, tasks: Tasks): Promise<ArgumentValues> {
  const { shells, panes } = await host.work();
  return [
    ...taskIds(tasks),
    ...runningShells({ shells, panes }).map(({ id, command }) => ({
      value: id,
      hint: commandLine(command),
      complete: true,
    })),
    ...busyPanes({ shells, panes }).map(({ name, command }) => ({
      value: name,
      hint: commandLine(command),
      complete: true,
    })),
  ];
}

function open(tasks: Tasks): readonly Task[] {
  return tasks.list.filter((task) => task.state.kind !== "over");
}

export function runningShells({ shells }: WorkInFlight): WorkInFlight["shells"] {
  return shells.filter(({ status }) => status === "running");
}

export function busyPanes({ panes }: WorkInFlight): WorkInFlight["panes"] {
  return panes.filter(({ idle }) => !idle);
}

/** One line for each thing that runs: its id, what it is, for how long. */
export function workLines(
  screen: Pick<CommandScreen, "tasks" | "columns" | "doing" | "style">,
  work: WorkInFlight,
  shown: readonly Task[] = screen.tasks.list,
): string[] {
  const { style, columns } = screen;
  const now = Date.now();
  const taskRows = shown.map((task): Row => {
    const over = task.state.kind === "over";
    const time =
      task.state.kind === "queued"
        ? ""
        : clock((task.state.kind === "over" ? task.state.endedAt : now) - (task.state.startedAt ?? now));
    const limit = task.deadline === undefined || over ? "" : `(limit in ${clock(task.deadline - now)}) `;
    return { id: String(task.id), state: screen.doing(task), time, what: `${limit}${task.title}`, quiet: over };
  });
  const shells = work.shells
    .toSorted((a, b) => Number(b.status === "running") - Number(a.status === "running") || b.startedAt - a.startedAt)
    .slice(0, MOST_SHELLS)
    .map(({ id, command, status, startedAt, exitCode }): Row => {
      const running = status === "running";
      const state = `shell ${exitCode === undefined ? status : `${status} (exit ${exitCode})`}`;
      return { id, state, time: running ? clock(now - startedAt) : "", what: command, quiet: !running };
    });
  const panes = work.panes.map(({ name, command, idle }): Row => ({
    id: name,
    state: idle ? "pane idle" : "pane runs",
    time: "",
    what: command,
    quiet: idle,
  }));
  const rows = [...taskRows, ...shells, ...panes];
  const widest = (cell: "id" | "state" | "time"): number => Math.max(0, ...rows.map((each) => each[cell].length));
  // A narrow screen needs its columns for the command.
  const [ids, states, times] = columns >= 60 ? [widest("id"), widest("state"), widest("time")] : [widest("id"), 0, 0];
  return rows.map(({ id, state, time, what, quiet }) => {
    const facts = [state.padEnd(states), time.padEnd(times)].filter((fact) => fact !== "").join("  ");
    const start = `${id.padEnd(ids)}  ${facts}`;
    return clip(`${quiet ? style.grey(start) : start}  ${style.grey(oneLine(what))}`, columns);
  });
}

interface Row {
  readonly id: string;
  readonly state: string;
  readonly time: string;
  readonly what: string;
  readonly quiet: boolean;
}

async function ps(screen: CommandScreen): Promise<void> {
  const looking = screen.host.work();
  // The target may take a while to report what runs on it: the tasks are shown before.
  const work = await within(looking, PROMPT_ANSWER_MS);
  if (work === undefined) screen.say(workLines(screen, { shells: [], panes: [] }));
  const lines = workLines(screen, work ?? (await looking), work === undefined ? [] : screen.tasks.list);
  screen.say(screen.tasks.list.length + lines.length === 0 ? ["nothing is running: type a prompt"] : lines);
}

async function kill(screen: CommandScreen, args: string): Promise<void> {
  if (args === "" || /^\d{1,9}$/.test(args)) {
    const id = taskId(screen, args, "/kill ID");
    if (id === undefined) return;
    const task = screen.tasks.get(id);
    const queued = task?.state.kind === "queued";
    if (screen.tasks.cancel(id)) screen.say([queued ? `task ${id} removed from the queue` : `stopping task ${id}`]);
    else screen.fail(task === undefined ? `no task ${id}` : `task ${id} has already ended`, "/ps lists what runs");
    return;
  }
  const work = await screen.host.work();
  const pane = work.panes.find(({ name }) => name === args);
  if (pane !== undefined) {
    await screen.host.interruptPane(pane.name);
    return screen.say([
      pane.idle
        ? `pane ${oneLine(pane.name)} was idle; pressed Ctrl-C`
        : `pressed Ctrl-C in pane ${oneLine(pane.name)}: ${commandLine(pane.command)}`,
    ]);
  }
  const shell = work.shells.find(({ id }) => id === args);
  if (shell === undefined)
    return screen.fail(
      `"${oneLine(args)}" is not the id of a task, a background shell or a pane`,
      "/ps lists what runs",
    );
  if (shell.status === "running") screen.say([`${shell.id}: ${await screen.host.killShell(shell.id)}`]);
  else screen.fail(`${shell.id} has already ended`, "/ps lists what runs");
}

async function stop(screen: CommandScreen): Promise<void> {
  const busy = busyPanes(await screen.host.work()).find(({ shared }) => shared);
  await screen.host.interruptPane();
  screen.say([
    busy === undefined
      ? "pressed Ctrl-C in the shared pane"
      : `pressed Ctrl-C in the shared pane: ${commandLine(busy.command)}`,
  ]);
}

/** A number is a result of this run; a name that of a stored output or a background shell. */
async function output(screen: CommandScreen, args: string): Promise<void> {
  const kept = args === "" || /^\d+$/.test(args) ? screen.kept(args === "" ? undefined : Number(args)) : undefined;
  if (kept === undefined && (args === "" || /^\d+$/.test(args))) {
    return screen.fail(
      args === "" ? "no output yet" : `no output ${args}`,
      "Shortened output names the command that shows all of it, as /output out-3 does after a resume; /ps lists background shells",
    );
  }
  await screen.interruptible(async (signal) => {
    const id = kept === undefined ? args : kept.outputId;
    const text = id === undefined ? kept!.text : await screen.host.output(id, signal);
    const shown = showText(screen.host.redact(text)).replace(/\n$/, "");
    const title = kept === undefined ? args : kept.title;
    await screen.show([screen.style.bold(oneLine(title)), "", ...(shown === "" ? ["(no output)"] : shown.split("\n"))]);
  });
}

function timeout(screen: CommandScreen, args: string): void {
  const [duration = "", which = ""] = args.split(/\s+/);
  const ms = parseDuration(duration);
  if (ms === undefined || ms <= 0 || ms > LONGEST_DURATION_MS) {
    return screen.fail(
      `/timeout needs a duration${duration === "" ? "" : `, not "${oneLine(duration)}"`}`,
      "For example /timeout 10m, or /timeout 90s 2 for task 2; at most 24d",
    );
  }
  const id = taskId(screen, which, "/timeout DURATION ID");
  if (id === undefined) return;
  if (screen.tasks.limit(id, ms)) screen.say([`task ${id} ends in ${formatDuration(ms)} at the latest`]);
  else screen.fail(`no running or queued task ${id}`, "/ps lists the tasks");
}

/** The id given, or that of the only task. */
function taskId(screen: CommandScreen, text: string, usage: string): number | undefined {
  const tasks = open(screen.tasks);
  if (text === "") {
    if (tasks.length === 1) return tasks[0]!.id;
    if (tasks.length === 0) screen.fail("no task is running", "/ps lists what runs");
    else
      screen.fail(
        `there are ${tasks.length} tasks: ${usage}`,
        tasks.map((task) => `${task.id}  ${oneLine(task.title)}`).join("\n"),
      );
    return undefined;
  }
  if (/^\d{1,9}$/.test(text)) return Number(text);
  screen.fail(`"${oneLine(text)}" is not a task id`, "/ps lists the tasks");
  return undefined;
}

const MOST_SHELLS = 10;
/** A target on the same machine answers within this. */
const PROMPT_ANSWER_MS = 250;

// ── How the REPL ends: at once, or, where something still runs, after a warning and a second request.

interface LeavingParts {
  tasks(): readonly Task[];
  work(): Promise<WorkInFlight>;
  stillRunning(work: WorkInFlight, tasks: readonly Task[]): void;
}

export class Leaving {
  readonly #parts: LeavingParts;
  readonly #left = Promise.withResolvers<ExitCode>();
  #begun = false;
  #looking = false;
  /** The operator knows that something runs: the next request quits. */
  #warned = false;

  constructor(parts: LeavingParts) {
    this.#parts = parts;
  }

  get over(): Promise<ExitCode> {
    return this.#left.promise;
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** Whatever runs is cancelled. */
  leave(code: ExitCode): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#left.resolve(code);
  }

  /** A bug: `run` gives the terminal back and throws it; a second one on the way out ends the process at once. */
  crash(error: unknown): void {
    if (this.#begun) process.exit(EXIT.failure);
    this.#begun = true;
    this.#left.reject(error);
  }

  /** An operator who continues is warned again the next time. */
  entered(line: string): void {
    if (!/^\/(q|quit|exit)\s*$/.test(line)) this.#warned = false;
  }

  quit(code: ExitCode): void {
    if (this.#warned || this.#looking) return this.leave(code);
    this.#looking = true;
    void this.#parts.work().then(
      (work) => this.#quitWith(work, code),
      () => this.#quitWith({ shells: [], panes: [] }, code),
    );
  }

  /**
   * While the terminal is there, the signal was sent by a person and means quit. One that is gone cannot show a
   * warning: a resumed session names what still runs.
   */
  hungUp(): void {
    if (canAsk()) this.quit(EXIT.hangup);
    else this.leave(EXIT.hangup);
  }

  #quitWith(work: WorkInFlight, code: ExitCode): void {
    this.#looking = false;
    const open = this.#parts.tasks().filter((task) => task.state.kind !== "over");
    const [shells, panes] = [runningShells(work), busyPanes(work)];
    if (open.length + shells.length + panes.length === 0) return this.leave(code);
    this.#warned = true;
    this.#parts.stillRunning({ shells, panes }, open);
  }
}
