/** What the loop works on: history, counters, the model in use, and where events go. */
import { HeldDeltas, type TextFilter } from "../lib/secrets/redact.ts";
import { mapTexts } from "../lib/values.ts";
import type { Message, ModelClient, ToolDefinition, Usage } from "../model/types.ts";
import { estimateTokens } from "../model/usage.ts";
import type { Privacy } from "../policy/privacy/privacy.ts";
import type { Registry } from "../tools/registry.ts";
import type { TargetFacts } from "../tools/tool.ts";
import type { Budget } from "./budget.ts";
import { type AgentEvent, type AgentEventBody, EVENT_VERSION, type SessionEvent } from "./events.ts";
import { History } from "./history.ts";
import type { CallRunner } from "./calls/tool-calls.ts";

export class Conversation {
  readonly history = new History();
  readonly options: AgentOptions;
  readonly #held: HeldDeltas<AgentEventBody>;
  readonly #send: (event: AgentEvent) => void;
  /** Until whoever reads the events has taken most of them. */
  readonly room: (signal: AbortSignal) => Promise<void> | undefined;
  #client: ModelClient;
  #totals: Totals = { input: 0, output: 0 };
  #turns = 0;
  #introduced = false;
  #warned = false;
  #prefix: RequestPrefix | undefined;

  constructor(options: AgentOptions, send: (event: AgentEvent) => void, room: Conversation["room"]) {
    this.options = options;
    this.#held = new HeldDeltas(() => options.hideSecrets?.());
    this.#client = options.client;
    this.#send = send;
    this.room = room;
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

  /** Other machines: the model learns about them, and gets the tools for them, again. */
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

  publish(body: AgentEventBody): void {
    const { privacy } = this.options;
    const clean = privacy.empty ? body : (mapTexts(body, (text) => privacy.maskKnown(text)) as AgentEventBody);
    for (const item of this.#held.through(clean)) this.#send(this.#stamped(item));
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

  /** Says who and where; once at the start, and again whenever that has changed. */
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
      ...(cost === undefined ? {} : { costUsd: cost }),
    };
    this.publish({
      type: "usage",
      input: usage.input,
      output: usage.output,
      cached: usage.cached,
      reasoning: usage.reasoning,
      estimated: usage.estimated,
      ...(usage.costUsd === undefined ? {} : { cost_usd: usage.costUsd }),
      context_used: this.contextUsed,
      context_limit: this.contextLimit,
      total_input: this.#totals.input,
      total_output: this.#totals.output,
      ...(cost === undefined ? {} : { total_cost_usd: cost }),
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

  /** Waits for what the tools need; the prefix changes only when they did. */
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
}

export interface AgentOptions {
  readonly client: ModelClient;
  readonly registry: Registry;
  /** What runs tools on the machines of now. */
  calls(): CallRunner;
  /** Names for secrets: in prompts, and wherever one that has a name turns up. */
  readonly privacy: Privacy;
  /** Id of the session the events belong to. */
  session(): string;
  readonly maxIterations: number;
  readonly budget?: Budget | undefined;
  /** What is known about the target now. */
  facts(): TargetFacts;
  /** Before each request: true when the tools are others now. */
  prepareTools?(signal: AbortSignal): Promise<boolean>;
  /** The system prompt for these facts. */
  instructions(facts: TargetFacts): string;
  /** Fields of the `session` event that the agent cannot know itself. */
  describe(): Omit<SessionEvent, "type" | "profile" | "model" | "api">;
  /** For one streamed text: takes secrets out of it, also those that come in pieces. */
  hideSecrets?(): TextFilter | undefined;
}

/** What every request of a session begins with. */
export interface RequestPrefix {
  readonly system: Message;
  readonly tools: readonly ToolDefinition[];
  readonly tokens: number;
}

export interface Totals {
  readonly input: number;
  readonly output: number;
  readonly costUsd?: number;
}
