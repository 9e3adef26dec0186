/** One conversation with a model about one target, as others see it: takes prompts, runs turns, and emits events. */
import { BuddyError } from "../lib/errors.ts";
import type { Message, ModelClient } from "../model/types.ts";
import { type AgentOptions, Conversation, type Totals } from "./conversation.ts";
import type { AgentEvent, AgentEventBody } from "./events.ts";
import type { History } from "./history.ts";
import { compactNow, operatorTurn, turn, type TurnOptions } from "./loop.ts";

export class Agent {
  readonly #conversation: Conversation;
  readonly #listeners = new Set<(event: AgentEvent) => void>();
  #queue: EventQueue | undefined;

  constructor(options: AgentOptions) {
    const send = (event: AgentEvent): void => {
      for (const listener of this.#listeners) listener(event);
      this.#queue?.push(event);
    };
    this.#conversation = new Conversation(options, send, (signal) => this.#queue?.room(signal));
  }

  get history(): History {
    return this.#conversation.history;
  }

  get client(): ModelClient {
    return this.#conversation.client;
  }

  get totals(): Totals {
    return this.#conversation.totals;
  }

  get turns(): number {
    return this.#conversation.turns;
  }

  get busy(): boolean {
    return this.#queue !== undefined;
  }

  get contextUsed(): number {
    return this.#conversation.contextUsed;
  }

  get contextLimit(): number {
    return this.#conversation.contextLimit;
  }

  /** Runs one prompt to its end. The events end with `done`; leaving the loop early cancels the turn. */
  runTurn(prompt: string, signal: AbortSignal, options: TurnOptions = {}): AsyncGenerator<AgentEvent, void> {
    return this.#stream(signal, (inner) => turn(this.#conversation, prompt, inner, options));
  }

  /** Compacts on demand: events end with `compacted`, or with `error` when there is nothing to compact. */
  compact(signal: AbortSignal, focus?: string): AsyncGenerator<AgentEvent, void> {
    return this.#stream(signal, (inner) => compactNow(this.#conversation, inner, focus));
  }

  /** Something the operator does; `work` returns what the conversation keeps of it, undefined for nothing. */
  operatorTurn(
    shown: string,
    signal: AbortSignal,
    work: (publish: (body: AgentEventBody) => void, signal: AbortSignal) => Promise<string | undefined>,
  ): AsyncGenerator<AgentEvent, void> {
    return this.#stream(signal, (inner) => operatorTurn(this.#conversation, shown, (publish) => work(publish, inner)));
  }

  switchModel(client: ModelClient): void {
    this.#conversation.switchModel(client);
  }

  /** Says so, and informs the model about the other machines with the next request. */
  targetChanged(): void {
    this.#conversation.targetChanged();
  }

  restore(state: { messages: readonly Message[]; totals?: Totals; turns?: number }): void {
    this.#conversation.restore(state);
  }

  /** Every event, in order, whether or not a turn runs (news from the target come at any time). */
  onEvent(listener: (event: AgentEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(body: AgentEventBody): void {
    this.#conversation.publish(body);
  }

  /** Says who and where; once at the start, and again whenever that has changed. */
  introduce(): void {
    this.#conversation.introduce();
  }

  async *#stream(signal: AbortSignal, work: (inner: AbortSignal) => Promise<void>): AsyncGenerator<AgentEvent, void> {
    if (this.#queue !== undefined) throw new BuddyError("internal", "a turn is running already");
    const queue = (this.#queue = new EventQueue());
    const leave = new AbortController();
    const ended = work(AbortSignal.any([signal, leave.signal])).finally(() => {
      this.#queue = undefined;
      queue.end();
    });
    // Reported below; without this a failure while the reader is busy counts as unhandled.
    ended.catch(() => undefined);
    let over = false;
    try {
      yield* queue;
      await ended;
      over = true;
    } finally {
      // An abort that nobody listens to still makes an error with its trace.
      if (!over) leave.abort();
      await ended.catch(() => undefined);
    }
  }
}

/**
 * Carries events from the work to whoever reads them. Live output that is not read in time is joined and, past a
 * bound, counted instead of kept; the words of the model wait for room.
 */
export class EventQueue {
  readonly #events: AgentEvent[] = [];
  #liveBytes = 0;
  #words = 0;
  #dropped = new Map<string, number>();
  #wake: (() => void) | undefined;
  #taken: (() => void) | undefined;
  #ended = false;

  push(event: AgentEvent): void {
    if (event.type === "tool_output" && !this.#keeps(event)) return;
    this.#words += wordsOf(event);
    this.#events.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Before more of an answer is read; undefined when there is room. */
  room(signal: AbortSignal): Promise<void> | undefined {
    if (this.#words < MOST_LIVE || signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const leave = () => resolve();
    this.#taken = leave;
    signal.addEventListener("abort", leave);
    return promise.finally(() => signal.removeEventListener("abort", leave));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent, void> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) {
        if (event.type === "tool_output") this.#liveBytes -= event.text.length;
        this.#words -= wordsOf(event);
        if (this.#words < MOST_LIVE / 2) this.#taken?.();
        yield this.#withDropped(event);
        continue;
      }
      if (this.#ended) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
    }
  }

  /** True when the event must still be queued. */
  #keeps(event: AgentEvent & { type: "tool_output" }): boolean {
    if (this.#liveBytes + event.text.length > MOST_LIVE) {
      this.#dropped.set(event.call, (this.#dropped.get(event.call) ?? 0) + event.text.length);
      return false;
    }
    this.#liveBytes += event.text.length;
    const last = this.#events.at(-1);
    if (last?.type !== "tool_output" || last.call !== event.call || last.stream !== event.stream) return true;
    if (last.machine !== event.machine) return true;
    if (last.text.length + event.text.length > MOST_JOINED) return true;
    this.#events[this.#events.length - 1] = { ...last, text: last.text + event.text };
    return false;
  }

  #withDropped(event: AgentEvent): AgentEvent {
    if (event.type !== "tool_output") return event;
    const dropped = this.#dropped.get(event.call);
    if (dropped === undefined || this.#liveBytes > 0) return event;
    this.#dropped.delete(event.call);
    return { ...event, text: `${event.text}\n[${dropped} characters not shown live]\n` };
  }
}

function wordsOf(event: AgentEvent): number {
  return event.type === "text" || event.type === "reasoning" ? event.delta.length : 0;
}

const MOST_JOINED = 32 * 1024;
const MOST_LIVE = 128 * 1024;
