/** Tasks as an operator sees them: what each is doing, what it prints, how it ended. */
import type { AgentEvent } from "../../agent/events.ts";
import type { Task, TaskEnd, Tasks, TaskWork } from "../../agent/tasks.ts";
import { within, nextTurn } from "../../lib/waiting.ts";
import type { ReplHost } from "./host.ts";
import { Activity } from "./status-line.ts";
import type { Transcript } from "../transcript/transcript.ts";
import { seconds } from "../words.ts";
import { plural } from "../../lib/text.ts";

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
    return this.run(shown, (signal) => this.#host.runTurn(prompt.trim(), signal));
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
    // How it ended is said in a moment.
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

export interface TaskHooks {
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
const END_WORDS: Record<TaskEnd, string> = {
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
