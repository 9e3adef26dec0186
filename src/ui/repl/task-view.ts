/** Tasks as an operator sees them: what each is doing, what it prints, how it ended. */
import { type AgentEvent, resultText, type ToolFinishedEvent } from "../../agent/events.ts";
import type { Task, TaskEnd, Tasks, TaskWork } from "../../agent/tasks.ts";
import { clip, plural } from "../../lib/text.ts";
import { nextTurn, within } from "../../lib/waiting.ts";
import type { KeptResult } from "../commands/slash-commands.ts";
import type { Theme } from "../theme.ts";
import type { Transcript } from "../transcript/transcript.ts";
import { oneLine, seconds } from "../words.ts";
import type { ReplHost } from "./host.ts";
import { Activity } from "./status-line.ts";

export class TaskView {
  readonly tasks: Tasks;
  readonly #host: ReplHost;
  readonly #transcript: Transcript;
  readonly #hooks: TaskHooks;
  /** Prompts to show when their task starts. */
  readonly #echoes = new Map<number, string>();
  #nextEcho: string | undefined;
  #activity = new Activity();
  #started = 0;

  constructor(host: ReplHost, transcript: Transcript, hooks: TaskHooks) {
    this.#host = host;
    this.#transcript = transcript;
    this.#hooks = hooks;
    this.tasks = host.tasks({
      event: (_task, event) => this.#event(event),
      changed: (task) => this.#changed(task),
      ended: (task, failure) => this.#ended(task, failure),
    });
  }

  /** What the running task is doing. */
  get activity(): Activity {
    return this.#activity;
  }

  /** Something other than a prompt, as a task: a command of the operator's own. */
  run(shown: string, work: TaskWork): Task {
    this.#nextEcho = shown.trim();
    const task = this.tasks.submit(this.#nextEcho, work);
    this.#nextEcho = undefined;
    return task;
  }

  /** `shown` represents the prompt on the screen: long pastes are folded in it. */
  submit(prompt: string, shown: string): Task {
    return this.run(shown, (signal) => this.#host.runTurn(prompt.trim(), signal, { ownWords: shown }));
  }

  doing(task: Task): string {
    if (task.state.kind === "queued") return "queued";
    if (task.state.kind === "over") return task.state.status.replace("_", " ");
    return task.state.kind === "stopping" ? "stopping" : this.#activity.state(Date.now());
  }

  /**
   * Ctrl-C: stops what runs and drops what waits. Undefined when nothing can be stopped, else how many were dropped.
   */
  stop(): number | undefined {
    const { running } = this.tasks;
    if (running?.state.kind !== "running") return undefined;
    const dropped = this.tasks.dropQueued();
    this.tasks.cancel(running.id);
    return dropped;
  }

  /** Nothing starts any more, and what runs is cancelled; what does not end by itself is ended with the target. */
  async close(): Promise<void> {
    this.tasks.hold();
    this.tasks.dropQueued();
    const { running } = this.tasks;
    if (running === undefined) return;
    this.tasks.cancel(running.id);
    await within(this.tasks.whenIdle(), CLOSE_MS);
  }

  #event(event: AgentEvent): void | Promise<void> {
    if (event.type === "text" && event.delta.length > PIECE) return this.#inPieces(event);
    this.#activity.event(event);
    this.#hooks.event(event);
    this.#transcript.event(event);
    if (event.type === "session") this.#hooks.attach(event.attach);
    if (event.type === "usage" || event.type === "compacted") this.#hooks.counted();
    return this.#hooks.printed();
  }

  /** What a fast server sent at once is shown bit by bit, so that a key never waits for all of it. */
  async #inPieces(event: AgentEvent & { type: "text" }): Promise<void> {
    for (let at = 0; at < event.delta.length; at += PIECE) {
      await this.#event({ ...event, delta: event.delta.slice(at, at + PIECE) });
      await nextTurn();
    }
  }

  #changed(task: Task): void {
    if (task.state.kind === "queued" && this.#nextEcho !== undefined) this.#echoes.set(task.id, this.#nextEcho);
    if (task.state.kind === "running" && this.#started !== task.id) {
      this.#started = task.id;
      this.#activity = new Activity();
      this.#hooks.started(task, this.#echoes.get(task.id));
      this.#echoes.delete(task.id);
    }
    // How it ended is printed by `ended`.
    if (task.state.kind !== "over" || task.state.startedAt === undefined) void this.#hooks.printed();
  }

  #ended(task: Task, failure: unknown): void {
    this.#echoes.delete(task.id);
    if (task.state.kind !== "over" || task.state.startedAt === undefined) return;
    const { status, startedAt, endedAt } = task.state;
    this.#transcript.finish();
    if (failure !== undefined && status === "failed") this.#hooks.failed(failure);
    const words = END_WORDS[status];
    if (words !== "") this.#transcript.remark(`task ${task.id} ${words} after ${seconds(endedAt - startedAt)}`);
    this.#hooks.ended(task, endedAt - startedAt, words === "" ? "is done" : words);
  }
}

export function droppedWords(count: number): string {
  return `${plural(count, "queued prompt")} dropped`;
}

interface TaskHooks {
  /** `echo` is the prompt, where the task is one. */
  started(task: Task, echo: string | undefined): void;
  event(event: AgentEvent): void;
  /** There may be something new to show; the promise makes the task wait. */
  printed(): void | Promise<void>;
  /** The model's window is fuller or emptier than before. */
  counted(): void;
  failed(error: unknown): void;
  ended(task: Task, elapsedMs: number, words: string): void;
  /** The shared pane is known. */
  attach(command: string | undefined): void;
}

/** How a task ended, where that is worth a line. */
export const END_WORDS: Record<TaskEnd, string> = {
  answered: "",
  failed: "failed",
  cancelled: "was stopped",
  timeout: "ran out of time",
  max_iterations: "stopped at max_iterations",
  approval_needed: "needed an approval",
};

/** Characters of an answer that are rendered in one go: a few milliseconds. */
const PIECE = 16 * 1024;
const CLOSE_MS = 3000;

/** The model's plan for the running task, as a checklist. */
export class Plan {
  #steps: readonly PlanStep[] = [];
  /** Sent, but perhaps not valid. */
  #next: readonly PlanStep[] = [];

  follow(event: AgentEvent): void {
    if (event.type === "tool_started" && event.tool === "plan") this.#next = planSteps(event.args);
    if (event.type === "tool_finished" && event.tool === "plan" && event.ok) this.#steps = this.#next;
  }

  rows(limit: number, style: Theme): string[] {
    return planRows(this.#steps, limit, style);
  }

  end(): void {
    this.#steps = [];
  }
}

interface PlanStep {
  readonly step: string;
  readonly state: string;
}

/** The steps in the arguments of a call of `plan`; none when that is something else. */
function planSteps(args: unknown): readonly PlanStep[] {
  const steps = (args as { steps?: unknown } | null)?.steps;
  if (!Array.isArray(steps)) return [];
  return steps.filter((step): step is PlanStep => typeof step?.step === "string" && typeof step?.state === "string");
}

/** At most so many rows; where they are too few, the steps around the one that runs. */
function planRows(steps: readonly PlanStep[], limit: number, style: Theme): string[] {
  if (steps.length === 0 || limit < 1) return [];
  const at = Math.max(
    0,
    steps.findIndex(({ state }) => state === "running"),
  );
  const first = Math.max(0, Math.min(at - Math.floor(limit / 2), steps.length - limit));
  return steps.slice(first, first + limit).map(({ step, state }) => {
    const text = clip(oneLine(step), LONGEST);
    if (state === "done") return `  ${style.ok("[x]")} ${style.grey(text)}`;
    if (state === "running") return `  ${style.toolName("[>]")} ${style.bold(text)}`;
    return `  ${style.grey(state === "skipped" ? "[-]" : "[ ]")} ${text}`;
  });
}

const LONGEST = 200;

/** Results of calls that /output can show by number. */
export class KeptResults {
  readonly #kept: KeptResult[] = [];
  /** Of the calls of the running task. */
  readonly #titles = new Map<string, string>();
  #count = 0;

  follow(event: AgentEvent): void {
    if (event.type === "tool_started") this.#titles.set(event.call, event.title);
    if (event.type === "approval_answered" && event.edited !== undefined) this.#titles.set(event.call, event.edited);
  }

  /** The command that shows it. */
  keep(event: ToolFinishedEvent): string {
    const number = ++this.#count;
    const outputId = event.output_id;
    this.#kept.push({
      number,
      title: this.#titles.get(event.call) ?? event.tool,
      ...(outputId === undefined ? {} : { outputId }),
      text: resultText(event),
    });
    if (this.#kept.length > MOST) this.#kept.shift();
    return `/output ${outputId ?? number}`;
  }

  /** The last one, without a number. */
  find(number?: number): KeptResult | undefined {
    return number === undefined ? this.#kept.at(-1) : this.#kept.find((other) => other.number === number);
  }

  taskEnded(): void {
    this.#titles.clear();
  }
}

const MOST = 50;
