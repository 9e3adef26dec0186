/**
 * Prompts as background tasks: an id each, one running at a time, the others queued; cancel, time-out, truthful states.
 */
import type { AgentEvent, DoneEvent } from "./events.ts";
import { isTimeout, turnTaker } from "../lib/waiting.ts";

export class Tasks {
  readonly #listener: TaskListener;
  readonly #all: LiveTask[] = [];
  #lastId = 0;
  #running: LiveTask | undefined;
  #idle: (() => void)[] = [];
  #holds = 0;

  constructor(listener: TaskListener) {
    this.#listener = listener;
  }

  /** Running first, then queued, then the last few that ended. */
  get list(): readonly Task[] {
    const rank = (task: Task): number => (isOver(task) ? 2 : task.state.kind === "queued" ? 1 : 0);
    return [...this.#all].sort((a, b) => rank(a) - rank(b) || (rank(a) === 2 ? b.id - a.id : a.id - b.id));
  }

  get running(): Task | undefined {
    return this.#running;
  }

  get queued(): readonly LiveTask[] {
    return this.#all.filter((task) => task.state.kind === "queued");
  }

  get(id: number): Task | undefined {
    return this.#all.find((task) => task.id === id);
  }

  /** Starts now, or when the tasks before it have ended. */
  submit(title: string, work: TaskWork): Task {
    const task: LiveTask = { id: ++this.#lastId, title, state: { kind: "queued" }, timeoutMs: undefined, work };
    this.#all.push(task);
    this.#forgetOld();
    this.#listener.changed(task);
    this.#startNext();
    return task;
  }

  /** False when there is nothing left to cancel. A running task ends when its work has. */
  cancel(id: number): boolean {
    const task = this.#all.find((other) => other.id === id);
    if (task === undefined || isOver(task)) return false;
    if (task.state.kind === "queued") {
      this.#end(task, "cancelled");
      return true;
    }
    if (task.state.kind === "running") task.state = { kind: "stopping", startedAt: task.state.startedAt };
    task.abort?.abort(new DOMException("cancelled by the operator", "AbortError"));
    this.#listener.changed(task);
    return true;
  }

  /** Cancels everything that is queued. */
  dropQueued(): number {
    const { queued } = this;
    for (const task of queued) this.#end(task, "cancelled");
    return queued.length;
  }

  /** A running task has this long from now, a queued one from its start. */
  limit(id: number, ms: number): boolean {
    const task = this.#all.find((other) => other.id === id);
    if (task === undefined || isOver(task)) return false;
    task.timeoutMs = ms;
    if (task.state.kind !== "queued") this.#arm(task);
    this.#listener.changed(task);
    return true;
  }

  /** Nothing new starts until each hold is released: a command, a picker or a session switch is under way. */
  hold(): void {
    this.#holds++;
  }

  get held(): boolean {
    return this.#holds > 0;
  }

  release(): void {
    this.#holds--;
    this.#startNext();
  }

  /** Resolves when nothing runs. */
  async whenIdle(): Promise<void> {
    if (this.#running === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    await promise;
  }

  #startNext(): void {
    if (this.#running !== undefined) return;
    const next = this.held ? undefined : this.#all.find((task) => task.state.kind === "queued");
    if (next === undefined) {
      for (const resolve of this.#idle.splice(0)) resolve();
      return;
    }
    this.#running = next;
    next.state = { kind: "running", startedAt: Date.now() };
    next.abort = new AbortController();
    if (next.timeoutMs !== undefined) this.#arm(next);
    this.#listener.changed(next);
    void this.#run(next, next.abort.signal);
  }

  async #run(task: LiveTask, signal: AbortSignal): Promise<void> {
    let status: TaskEnd = "answered";
    let failure: unknown;
    const turn = turnTaker();
    try {
      for await (const event of task.work(signal)) {
        if (event.type === "done") status = event.status;
        await this.#listener.event(task, event);
        await turn();
      }
    } catch (error) {
      failure = error;
      status = signal.aborted ? (isTimeout(signal.reason) ? "timeout" : "cancelled") : "failed";
    }
    this.#running = undefined;
    this.#end(task, status, failure);
    this.#startNext();
  }

  #end(task: LiveTask, status: TaskEnd, failure?: unknown): void {
    clearTimeout(task.timer);
    const startedAt =
      task.state.kind === "running" || task.state.kind === "stopping" ? task.state.startedAt : undefined;
    task.state = { kind: "over", status, startedAt, endedAt: Date.now() };
    delete task.abort;
    this.#listener.changed(task);
    this.#listener.ended(task, failure);
  }

  #arm(task: LiveTask): void {
    clearTimeout(task.timer);
    task.deadline = Date.now() + task.timeoutMs!;
    task.timer = setTimeout(
      () => {
        task.abort?.abort(new DOMException("the task ran out of time", "TimeoutError"));
        if (task.state.kind === "running") task.state = { kind: "stopping", startedAt: task.state.startedAt };
        this.#listener.changed(task);
      },
      Math.min(task.timeoutMs!, 2 ** 31 - 1),
    );
  }

  #forgetOld(): void {
    const over = this.#all.filter(isOver);
    for (const task of over.slice(0, Math.max(0, over.length - KEPT))) this.#all.splice(this.#all.indexOf(task), 1);
  }
}

export interface Task {
  readonly id: number;
  /** The prompt, or what is done instead of one. */
  readonly title: string;
  readonly state: TaskState;
  /** Set by /timeout; `deadline` once it runs. */
  readonly timeoutMs: number | undefined;
  readonly deadline?: number;
}

export type TaskState =
  | { readonly kind: "queued" }
  | { readonly kind: "running" | "stopping"; readonly startedAt: number }
  | {
      readonly kind: "over";
      readonly status: TaskEnd;
      readonly startedAt: number | undefined;
      readonly endedAt: number;
    };

export type TaskEnd = DoneEvent["status"];

export type TaskWork = (signal: AbortSignal) => AsyncIterable<AgentEvent>;

export interface TaskListener {
  /** May make the task wait, for a reader that cannot keep up. */
  event(task: Task, event: AgentEvent): void | Promise<void>;
  changed(task: Task): void;
  /** `failure` is what the work threw, if it did. */
  ended(task: Task, failure: unknown): void;
}

interface LiveTask extends Task {
  state: TaskState;
  timeoutMs: number | undefined;
  deadline?: number;
  readonly work: TaskWork;
  abort?: AbortController;
  timer?: ReturnType<typeof setTimeout>;
}

function isOver(task: Task): boolean {
  return task.state.kind === "over";
}

/** Ended tasks that /ps still shows. */
const KEPT = 10;
