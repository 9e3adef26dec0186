/** One conversation with a model about one target: takes prompts, runs turns, counts tokens, and emits events. */
import { BuddyError } from "../lib/errors.ts";
import { HeldDeltas, type TextFilter } from "../lib/secrets/redact.ts";
import { defined, mapTexts } from "../lib/values.ts";
import type { Message, ModelClient, ToolDefinition, Usage } from "../model/types.ts";
import { estimateTokens } from "../model/usage.ts";
import type { Privacy } from "../policy/privacy/privacy.ts";
import type { Registry } from "../tools/registry.ts";
import type { TargetFacts } from "../tools/tool.ts";
import type { Budget } from "./budget.ts";
import type { CallRunner } from "./calls/tool-calls.ts";
import { type AgentEvent, type AgentEventBody, EVENT_VERSION, type SessionEvent } from "./events.ts";
import { EventQueue } from "./event-queue.ts";
import { History } from "./history.ts";
import { compactNow, operatorTurn, turn, type TurnOptions } from "./loop.ts";

export class Agent {
  readonly history = new History();
  readonly options: AgentOptions;
  readonly #held: HeldDeltas<AgentEventBody>;
  readonly #listeners = new Set<(event: AgentEvent) => void>();
  /** While a turn runs. */
  #queue: EventQueue | undefined;
  #client: ModelClient;
  #totals: Totals = { input: 0, output: 0 };
  #turns = 0;
  #introduced = false;
  #warned = false;
  #prefix: RequestPrefix | undefined;

  constructor(options: AgentOptions) {
    this.options = options;
    this.#held = new HeldDeltas(() => options.hideSecrets?.());
    this.#client = options.client;
  }

  /** Runs one prompt to its end. The events end with `done`; leaving the loop early cancels the turn. */
  runTurn(prompt: string, signal: AbortSignal, options: TurnOptions = {}): AsyncGenerator<AgentEvent, void> {
    return this.#stream(signal, (inner) => turn(this, prompt, inner, options));
  }

  /** Compacts on demand: events end with `compacted`, or with `error` when there is nothing to compact. */
  compact(signal: AbortSignal, focus?: string): AsyncGenerator<AgentEvent, void> {
    return this.#stream(signal, (inner) => compactNow(this, inner, focus));
  }

  /** Something the operator does; `work` returns the text that the conversation keeps of it, undefined for none. */
  operatorTurn(
    shown: string,
    signal: AbortSignal,
    work: (publish: (body: AgentEventBody) => void, signal: AbortSignal) => Promise<string | undefined>,
  ): AsyncGenerator<AgentEvent, void> {
    return this.#stream(signal, (inner) => operatorTurn(this, shown, (publish) => work(publish, inner)));
  }

  get client(): ModelClient {
    return this.#client;
  }

  get totals(): Totals {
    return this.#totals;
  }

  get turns(): number {
    return this.#turns;
  }

  get contextUsed(): number {
    return this.history.tokens(this.prefix.tokens);
  }

  get contextLimit(): number {
    return this.#client.info.contextLimit;
  }

  switchModel(client: ModelClient): void {
    this.#client = client;
    this.#prefix = undefined;
    this.#introduced = false;
    this.#warned = false;
  }

  /** Announces other machines; the model learns about them, and gets the tools for them, with the next request. */
  targetChanged(): void {
    this.#prefix = undefined;
    this.introduce();
  }

  restore(state: { messages: readonly Message[]; totals?: Totals; turns?: number }): void {
    this.#prefix = undefined;
    this.history.restore(state.messages);
    this.options.calls().forget();
    this.options.budget?.forget();
    this.#totals = state.totals ?? { input: 0, output: 0 };
    this.#turns = state.turns ?? 0;
    this.#introduced = false;
    this.#warned = false;
  }

  /** Every event, in order, whether or not a turn runs (news from the target can come at any time). */
  onEvent(listener: (event: AgentEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(body: AgentEventBody): void {
    const { privacy } = this.options;
    const clean = privacy.empty ? body : (mapTexts(body, (text) => privacy.maskKnown(text)) as AgentEventBody);
    for (const item of this.#held.through(clean)) {
      const event = this.#stamped(item);
      for (const listener of this.#listeners) listener(event);
      this.#queue?.push(event);
    }
  }

  /** Resolves when the readers of the events have caught up; undefined: they have. */
  room(signal: AbortSignal): Promise<void> | undefined {
    return this.#queue?.room(signal) ?? this.options.room?.(signal);
  }

  #stamped(body: AgentEventBody): AgentEvent {
    return {
      ...body,
      v: EVENT_VERSION,
      ts: new Date().toISOString(),
      session: this.options.session(),
      target: this.options.facts().label,
    } as AgentEvent;
  }

  /** Announces model and target: once at the start, and again whenever one of them has changed. */
  introduce(): void {
    this.#introduced = true;
    const { name, model, api } = this.#client.profile;
    this.publish({ type: "session", profile: name, model, api, ...this.options.describe() });
  }

  /** The number of the turn that begins. */
  beginTurn(): number {
    if (!this.#introduced) this.introduce();
    this.options.budget?.beginTurn(this.#totals);
    return ++this.#turns;
  }

  /** Counts what a model answer took, and reports it. */
  spend(usage: Usage): void {
    const cost =
      usage.costUsd === undefined && this.#totals.costUsd === undefined
        ? undefined
        : (this.#totals.costUsd ?? 0) + (usage.costUsd ?? 0);
    this.#totals = {
      input: this.#totals.input + usage.input,
      output: this.#totals.output + usage.output,
      ...defined({ costUsd: cost }),
    };
    this.publish({
      type: "usage",
      input: usage.input,
      output: usage.output,
      cached: usage.cached,
      reasoning: usage.reasoning,
      estimated: usage.estimated,
      ...defined({ cost_usd: usage.costUsd }),
      context_used: this.contextUsed,
      context_limit: this.contextLimit,
      total_input: this.#totals.input,
      total_output: this.#totals.output,
      ...defined({ total_cost_usd: cost }),
    });
  }

  /** The warning at 80 % comes once, and again after a compaction made room. */
  warnOnce(message: string, hint: string): void {
    if (this.#warned) return;
    this.#warned = true;
    this.publish({ type: "warning", message, hint });
  }

  clearWarning(): void {
    this.#warned = false;
  }

  /** Waits for what the tools need; the prefix changes only when the tools do. */
  async prepareTools(signal: AbortSignal): Promise<void> {
    if ((await this.options.prepareTools?.(signal)) === true) this.#prefix = undefined;
  }

  /**
   * System prompt and tools: the same bytes with every request of a session, so that providers find them in their
   * caches. What changes on the target is added to results.
   */
  get prefix(): RequestPrefix {
    if (this.#prefix !== undefined) return this.#prefix;
    const facts = this.options.facts();
    const system: Message = { role: "system", content: this.options.instructions(facts) };
    const tools = this.options.registry.definitions(facts);
    this.options.calls().notes.known(facts);
    return (this.#prefix = { system, tools, tokens: estimateTokens([system], tools) });
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
      // Not after the end: an abort without listeners still makes an error with a stack trace.
      if (!over) leave.abort();
      await ended.catch(() => undefined);
    }
  }
}

export interface AgentOptions {
  readonly client: ModelClient;
  readonly registry: Registry;
  /** Runs the tools on the current machines. */
  calls(): CallRunner;
  /** Names for secrets: in prompts, and wherever one that has a name turns up. */
  readonly privacy: Privacy;
  /** Id of the session the events belong to. */
  session(): string;
  readonly maxIterations: number;
  readonly budget?: Budget | undefined;
  /** What is known about the target now. */
  facts(): TargetFacts;
  /** Before each request: true when the tools have changed. */
  prepareTools?(signal: AbortSignal): Promise<boolean>;
  /** The system prompt for these facts. */
  instructions(facts: TargetFacts): string;
  /** Fields of the `session` event that the agent cannot know itself. */
  describe(): Omit<SessionEvent, "type" | "profile" | "model" | "api">;
  /** Resolves when the fronts that set the pace have shown enough; undefined: they have. */
  room?(signal: AbortSignal): Promise<void> | undefined;
  /** For one streamed text: takes secrets out of it, also those that come in pieces. */
  hideSecrets?(): TextFilter | undefined;
}

/** What every request of a session begins with. */
interface RequestPrefix {
  readonly system: Message;
  readonly tools: readonly ToolDefinition[];
  readonly tokens: number;
}

export interface Totals {
  readonly input: number;
  readonly output: number;
  readonly costUsd?: number;
}
