/** The loop: ask the model, run the tools it calls, and again, until it answers. */
import { BuddyError } from "../lib/errors.ts";
import { ModelError } from "../model/errors.ts";
import type { AssistantMessage, Message, ModelEvent, ModelRequest } from "../model/types.ts";
import type { Agent } from "./agent.ts";
import { compactable, GUIDANCE, nothingToCompact, summarise } from "./compact.ts";
import { type AgentEventBody, type DoneEvent, summaryMessage } from "./events.ts";
import { estimateTokens, windowUse, windowWarning } from "../model/usage.ts";
import { repairCalls } from "./history.ts";

export interface TurnOptions {
  /** The final answer must be JSON valid against this schema. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** The part of the prompt that the operator wrote; what was attached to it may come from anywhere. */
  readonly ownWords?: string;
  /** What the operator typed, where the prompt holds more. */
  readonly shown?: string;
  /** Reads what the prompt attaches, as the turn begins. */
  attach?(signal: AbortSignal): Promise<Attached>;
}

export interface Attached {
  /** Put behind the prompt. */
  readonly text: string;
  readonly warnings: readonly string[];
}

export async function turn(agent: Agent, words: string, signal: AbortSignal, options: TurnOptions): Promise<void> {
  const started = performance.now();
  const attached = await options.attach?.(signal);
  for (const message of attached?.warnings ?? []) agent.publish({ type: "warning", message });
  const { privacy } = agent.options;
  const prompt = privacy.mask(words + (attached?.text ?? ""), { from: "prompt" });
  const typed = options.shown ?? (attached === undefined || attached.text === "" ? undefined : words);
  const shown = typed === undefined ? undefined : privacy.mask(typed, { from: "prompt" });
  const state: Progress = { iterations: 0, partial: "", askedAgain: undefined, compactedForProvider: false };
  const number = agent.beginTurn();
  agent.options.calls.beginTurn(options.ownWords ?? words);
  agent.publish({ type: "turn", turn: number, prompt, ...(shown === undefined ? {} : { shown }) });
  agent.history.add({ role: "user", content: prompt });
  let status: DoneEvent["status"];
  let text = "";
  try {
    const answer = await untilAnswer(agent, signal, options, state);
    text = answer.content ?? "";
    status = agent.options.calls.unapproved.length > 0 ? "approval_needed" : "answered";
  } catch (error) {
    status = failure(agent, error, signal, state);
  }
  agent.publish({
    type: "done",
    turn: number,
    status,
    text,
    iterations: state.iterations,
    ms: Math.round(performance.now() - started),
  });
}

/** Something the operator did without the model: it becomes part of the conversation, and no answer is asked for. */
export async function operatorTurn(
  agent: Agent,
  shown: string,
  work: (publish: (body: AgentEventBody) => void) => Promise<string | undefined>,
): Promise<void> {
  const started = performance.now();
  const number = agent.beginTurn();
  const text = await work((body) => agent.publish(body));
  if (text !== undefined) {
    const prompt = agent.options.privacy.mask(text, { from: "prompt" });
    const typed = agent.options.privacy.mask(shown, { from: "prompt" });
    agent.publish({ type: "turn", turn: number, prompt, shown: typed });
    agent.history.add({ role: "user", content: prompt });
  }
  const ms = Math.round(performance.now() - started);
  agent.publish({ type: "done", turn: number, status: "answered", text: "", iterations: 0, ms });
}

/** `focus`: what the summary should keep, in the operator's words. */
export async function compactNow(agent: Agent, signal: AbortSignal, focus = ""): Promise<void> {
  try {
    const count = compactable(agent.history.messages, agent.contextLimit, "hand");
    if (count === undefined) {
      throw new BuddyError("tool", "nothing to compact: the conversation is a single exchange", {
        hint: GUIDANCE,
      });
    }
    await compact(agent, count, signal, focus);
  } catch (error) {
    if (signal.aborted) agent.publish({ type: "warning", message: "compaction cancelled; nothing was changed" });
    else publishError(agent, error);
  }
}

interface Progress {
  iterations: number;
  /** Text of an answer that is being streamed. */
  partial: string;
  /** What the model gets after an empty answer. */
  askedAgain: string | undefined;
  compactedForProvider: boolean;
}

async function untilAnswer(
  agent: Agent,
  signal: AbortSignal,
  options: TurnOptions,
  state: Progress,
): Promise<AssistantMessage> {
  const { maxIterations, calls } = agent.options;
  for (;;) {
    signal.throwIfAborted();
    if (state.iterations >= maxIterations) throw new TooManyIterations(maxIterations);
    await makeRoom(agent, signal);
    state.iterations++;
    const done = await ask(agent, signal, options, state);
    if (done === "compacted") continue;
    const message = repairCalls(done.message, agent.history.callIds);
    if (done.writtenCall)
      agent.publish({
        type: "warning",
        message: "the model wrote a tool call as text; it was not run",
        hint: "The server must parse tool calls (vLLM: --enable-auto-tool-choice --tool-call-parser; llama.cpp: --jinja), or use another model.",
      });
    const { length } = agent.history.messages;
    if (message.toolCalls.length === 0 && (message.content ?? "").trim() === "") {
      agent.history.measure(done.usage, length);
      agent.spend(done.usage);
      if (state.askedAgain !== undefined || done.finish === "content-filter") throw emptyAnswer(done.finish);
      state.askedAgain = done.writtenCall
        ? "You wrote a tool call as text, so it was not run. Call the tool itself, or answer in words."
        : "Your last reply was empty. Answer in words, or call a tool.";
      continue;
    }
    agent.history.add(message);
    agent.history.measure(done.usage, length + 1);
    agent.publish({ type: "message", message });
    agent.spend(done.usage);
    state.partial = "";
    if (message.toolCalls.length === 0) {
      if (done.finish === "length")
        agent.publish({
          type: "warning",
          message: "the answer was cut at the model's output limit",
          hint: "Ask it to continue.",
        });
      if (done.finish === "content-filter")
        agent.publish({ type: "warning", message: "the provider's content filter cut the answer" });
      return message;
    }
    state.askedAgain = undefined;
    // Ids as repaired, arguments as the model wrote them: the model gets to know what is wrong with them.
    const wanted = message.toolCalls.map(({ id, name }, index) => ({
      id,
      name,
      arguments: done.message.toolCalls[index]?.arguments ?? "",
    }));
    const results = await calls.run(wanted, {
      signal,
      publish: (body) => agent.publish(body),
      contextLimit: agent.contextLimit,
    });
    agent.history.add(...results);
    if (calls.stuck) throw stuck();
  }
}

type Done = ModelEvent & { type: "done" };

async function ask(
  agent: Agent,
  signal: AbortSignal,
  options: TurnOptions,
  state: Progress,
): Promise<Done | "compacted"> {
  try {
    let breath = performance.now();
    for await (const event of agent.client.stream(request(agent, options, state.askedAgain), signal)) {
      // A server may send faster than keys are read: leave room for them.
      if (performance.now() - breath > BREATH_MS) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        breath = performance.now();
      }
      switch (event.type) {
        case "text":
          state.partial += event.delta;
          agent.publish({ type: "text", delta: event.delta });
          break;
        case "reasoning":
          agent.publish({ type: "reasoning", delta: event.delta });
          break;
        case "discard":
          state.partial = "";
          agent.publish({ type: "discard" });
          break;
        case "retry":
          agent.publish({
            type: "retry",
            attempt: event.attempt,
            of: event.of,
            host: event.host,
            reason: event.reason,
            wait_ms: event.waitMs,
          });
          break;
        case "notice":
          agent.publish({ type: "warning", message: event.message });
          break;
        case "tool-call":
          break;
        case "done":
          return event;
      }
    }
  } catch (error) {
    if (!(error instanceof ModelError) || error.reason !== "context-limit" || state.compactedForProvider) throw error;
    const count =
      compactable(agent.history.messages, agent.contextLimit, "window") ??
      compactable(agent.history.messages, agent.contextLimit, "hand");
    if (count === undefined) throw new BuddyError("model", error.message, { hint: GUIDANCE, cause: error });
    state.compactedForProvider = true;
    agent.publish({
      type: "warning",
      message: "the provider says the conversation is too large: compacting it and trying once more",
    });
    await compact(agent, count, signal);
    state.iterations--;
    return "compacted";
  }
  throw new BuddyError("model", "the model stream ended without an answer");
}

function request(agent: Agent, options: TurnOptions, askedAgain: string | undefined): ModelRequest {
  const { system, tools } = agent.prefix;
  const messages: Message[] = [system, ...agent.history.messages];
  // Not kept: an empty turn is never sent back, so the model has to get this in another way.
  if (askedAgain !== undefined) messages.push({ role: "user", content: askedAgain });
  return {
    messages,
    tools,
    session: agent.options.session(),
    ...(options.outputSchema === undefined ? {} : { outputSchema: options.outputSchema }),
  };
}

/** Warns at 80 % of the window, compacts at 90 %, and refuses what cannot fit. */
async function makeRoom(agent: Agent, signal: AbortSignal): Promise<void> {
  const used = agent.contextUsed;
  const limit = agent.contextLimit;
  const { state } = windowUse(used, limit);
  if (state === "ok") return;
  const warning = windowWarning(used, limit) ?? "";
  if (state === "warn")
    return agent.warnOnce(warning, "At 90 % buddy summarises older turns by itself; /compact does it now.");
  const count = compactable(agent.history.messages, limit, "window");
  if (count === undefined) {
    if (used > limit) throw nothingToCompact();
    return agent.warnOnce(`${warning}, and nothing of it can be compacted`, GUIDANCE);
  }
  await compact(agent, count, signal);
  if (agent.contextUsed > limit) throw nothingToCompact();
}

async function compact(agent: Agent, count: number, signal: AbortSignal, focus = ""): Promise<void> {
  const before = agent.contextUsed;
  const { summary, replaced, usage } = await summarise(agent.history, count, agent.client, signal, focus);
  const older = estimateTokens(agent.history.messages.slice(0, replaced));
  if (estimateTokens([summaryMessage(summary)]) > older + GROWTH_TOKENS) {
    agent.spend(usage);
    throw new BuddyError("model", "the summary is longer than what it replaces; the conversation was left as it is", {
      hint: GUIDANCE,
    });
  }
  agent.history.compact(replaced, summary);
  agent.clearWarning();
  agent.publish({ type: "compacted", summary, before_tokens: before, after_tokens: agent.contextUsed, replaced });
  agent.spend(usage);
}

class TooManyIterations extends BuddyError {
  constructor(most: number) {
    super("tool", `no answer after ${most} model turn${most === 1 ? "" : "s"}`, {
      hint: "Ask for less at once, or allow more: --max-iterations, [agent] max_iterations.",
    });
  }
}

function stuck(): BuddyError {
  return new BuddyError("model", "the model sent the same call again and again, with the same outcome", {
    hint: "Ask differently, or use another model (--model).",
  });
}

function emptyAnswer(finish: Done["finish"]): BuddyError {
  if (finish === "length") {
    return new BuddyError("model", "the model used its whole output limit without an answer", {
      hint: "Lower reasoning_effort, ask for less at once, or use another model.",
    });
  }
  if (finish === "content-filter") {
    return new BuddyError("model", "the provider's content filter stopped the answer", {
      hint: "Say it differently, or choose another profile with --model.",
    });
  }
  return new BuddyError("model", "the model gave an empty answer twice", {
    hint: "Try again, or use another model (--model).",
  });
}

function failure(agent: Agent, error: unknown, signal: AbortSignal, state: Progress): DoneEvent["status"] {
  if (signal.aborted) {
    // What was already read stays in the conversation, so that "continue" makes sense.
    if (state.partial.trim() !== "") {
      const message: AssistantMessage = { role: "assistant", content: state.partial, toolCalls: [] };
      agent.history.add(message);
      agent.publish({ type: "message", message });
    }
    const timedOut = signal.reason instanceof Error && signal.reason.name === "TimeoutError";
    return timedOut ? "timeout" : "cancelled";
  }
  publishError(agent, error);
  return error instanceof TooManyIterations ? "max_iterations" : "failed";
}

function publishError(agent: Agent, error: unknown): void {
  if (error instanceof BuddyError) {
    agent.publish({
      type: "error",
      code: error.code,
      message: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    });
    return;
  }
  agent.publish({ type: "error", code: "internal", message: error instanceof Error ? error.message : String(error) });
}

const BREATH_MS = 8;
/** A summary of a short conversation may be a little longer than what it replaces. */
const GROWTH_TOKENS = 100;
