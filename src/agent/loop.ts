/** The loop: ask the model, run the tools it calls, and again, until it answers. */
import { defined } from "../lib/values.ts";
import { BuddyError, messageOf } from "../lib/errors.ts";
import { ModelError } from "../model/errors.ts";
import type { AssistantMessage, ImagePart, Message, ModelEvent, ModelRequest } from "../model/types.ts";
import type { Agent } from "./agent.ts";
import type { AgentEventBody, DoneEvent } from "./events.ts";
import { windowUse } from "../model/usage.ts";
import { repairCalls } from "./history.ts";
import { isTimeout, turnTaker } from "../lib/waiting.ts";
import { plural } from "../lib/text.ts";

export interface TurnOptions {
  /** The final answer must be JSON valid against this schema. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** The part of the prompt that the operator wrote, without attachments, which may come from anywhere. */
  readonly ownWords?: string;
  /** Nothing in this turn may change anything, even with approval. */
  readonly readOnly?: boolean;
  /** What the operator typed, where the prompt holds more. */
  readonly shown?: string;
  /** Reads what the prompt attaches, as the turn begins. */
  attach?(signal: AbortSignal): Promise<Attached>;
}

export interface Attached {
  /** Added after the prompt. */
  readonly text: string;
  readonly warnings: readonly string[];
  /** For a model that reads images. */
  readonly images?: readonly ImagePart[];
}

export async function turn(agent: Agent, words: string, signal: AbortSignal, options: TurnOptions): Promise<void> {
  const started = performance.now();
  const attached = await options.attach?.(signal);
  for (const message of attached?.warnings ?? []) agent.publish({ type: "warning", message });
  const { privacy } = agent.options;
  const about = agent.options.calls().notes.newAbout();
  const more = `${attached?.text ?? ""}${about === undefined ? "" : `\n\n[${about}]`}`;
  const prompt = privacy.mask(words + more, { from: "prompt" });
  const typed = options.shown ?? (more === "" ? undefined : words);
  const shown = typed === undefined ? undefined : privacy.mask(typed, { from: "prompt" });
  const state: Progress = { iterations: 0, askedAgain: undefined, compactedForProvider: false };
  const number = agent.beginTurn();
  agent.options.calls().beginTurn(options.ownWords ?? words, options.readOnly);
  agent.publish({ type: "turn", turn: number, prompt, ...defined({ shown }) });
  const images = attached?.images ?? [];
  agent.history.add({ role: "user", content: prompt, ...(images.length > 0 && { images }) });
  let status: DoneEvent["status"];
  let text = "";
  try {
    const answer = await untilAnswer(agent, signal, options, state);
    text = answer.content ?? "";
    status = agent.options.calls().turn.unapproved.length > 0 ? "approval_needed" : "answered";
  } catch (error) {
    status = failure(agent, error, signal);
  }
  const changes = agent.options.calls().turn.proposed;
  if (changes.length > 0) agent.publish({ type: "proposed", changes });
  agent.publish({
    type: "done",
    turn: number,
    status,
    text,
    iterations: state.iterations,
    ms: Math.round(performance.now() - started),
  });
}

/** Something the operator did without the model: it becomes part of the conversation; the model is not asked. */
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
    const { compact, compactable, GUIDANCE } = await import("./compact.ts");
    const count = compactable(agent.history.messages, agent.contextLimit, "hand");
    if (count === undefined) {
      throw new BuddyError("tool", "nothing to compact: the conversation is a single exchange", { hint: GUIDANCE });
    }
    await compact(agent, count, signal, focus);
  } catch (error) {
    if (signal.aborted) agent.publish({ type: "warning", message: "compaction cancelled; nothing was changed" });
    else publishError(agent, error);
  }
}

interface Progress {
  iterations: number;
  /** What is sent to the model after an empty answer. */
  askedAgain: string | undefined;
  compactedForProvider: boolean;
}

async function untilAnswer(
  agent: Agent,
  signal: AbortSignal,
  options: TurnOptions,
  state: Progress,
): Promise<AssistantMessage> {
  const { maxIterations } = agent.options;
  const calls = agent.options.calls();
  for (;;) {
    signal.throwIfAborted();
    if (state.iterations >= maxIterations) throw new TooManyIterations(maxIterations);
    await withinBudget(agent, signal);
    await agent.prepareTools(signal);
    if (windowUse(agent.contextUsed, agent.contextLimit).state !== "ok")
      await (await import("./compact.ts")).makeRoom(agent, signal);
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
    // Ids as repaired, arguments as the model wrote them, so that it learns what is wrong with them.
    const wanted = message.toolCalls.map(({ id, name }, index) => ({
      id,
      name,
      arguments: done.message.toolCalls[index]?.arguments ?? "",
    }));
    const results = await calls.run(wanted, {
      signal,
      publish: (body) => agent.publish(body),
      contextLimit: agent.contextLimit,
      seesImages: agent.client.info.images === true,
    });
    agent.history.add(...results);
    if (calls.notes.stuck) throw stuck();
  }
}

function withinBudget(agent: Agent, signal: AbortSignal): Promise<void> | undefined {
  const { budget } = agent.options;
  const calls = agent.options.calls();
  const publish = (body: AgentEventBody): void => agent.publish(body);
  return budget?.check({ totals: agent.totals, signal, done: calls.turn.done, publish });
}

type Done = ModelEvent & { type: "done" };

async function ask(
  agent: Agent,
  signal: AbortSignal,
  options: TurnOptions,
  state: Progress,
): Promise<Done | "compacted"> {
  try {
    const turn = turnTaker();
    for await (const event of agent.client.stream(request(agent, options, state.askedAgain), signal)) {
      await turn();
      await agent.room(signal);
      switch (event.type) {
        case "text":
        case "reasoning":
        case "discard":
          agent.publish(event);
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
        case "done":
          return event;
      }
    }
  } catch (error) {
    if (!(error instanceof ModelError) || error.reason !== "context-limit" || state.compactedForProvider) throw error;
    const { compact, compactable, GUIDANCE } = await import("./compact.ts");
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
  // Not part of the history: an empty answer is never sent back.
  if (askedAgain !== undefined) messages.push({ role: "user", content: askedAgain });
  return {
    messages,
    tools,
    session: agent.options.session(),
    ...defined({ outputSchema: options.outputSchema }),
  };
}

class TooManyIterations extends BuddyError {
  constructor(most: number) {
    super("tool", `no answer after ${plural(most, "model turn")}`, {
      hint: "Narrow the task, or allow more: --max-iterations, [agent] max_iterations.",
    });
  }
}

function stuck(): BuddyError {
  return new BuddyError("model", "the model repeated the same call with the same outcome", {
    hint: "Rephrase the request, or use another model (--model).",
  });
}

function emptyAnswer(finish: Done["finish"]): BuddyError {
  if (finish === "length") {
    return new BuddyError("model", "the model used its whole output limit without an answer", {
      hint: "Lower reasoning_effort, narrow the task, or use another model.",
    });
  }
  if (finish === "content-filter") {
    return new BuddyError("model", "the provider's content filter stopped the answer", {
      hint: "Rephrase the request, or choose another profile with --model.",
    });
  }
  return new BuddyError("model", "the model gave an empty answer twice", {
    hint: "Try again, or use another model (--model).",
  });
}

function failure(agent: Agent, error: unknown, signal: AbortSignal): DoneEvent["status"] {
  if (signal.aborted) {
    // What has arrived stays in the conversation, so that "continue" makes sense.
    const partial = error instanceof ModelError ? error.partial : "";
    if (partial.trim() !== "") {
      const message: AssistantMessage = { role: "assistant", content: partial, toolCalls: [] };
      agent.history.add(message);
      agent.publish({ type: "message", message });
    }
    return isTimeout(signal.reason) ? "timeout" : "cancelled";
  }
  publishError(agent, error);
  return error instanceof TooManyIterations ? "max_iterations" : "failed";
}

function publishError(agent: Agent, error: unknown): void {
  const { code, hint } = error instanceof BuddyError ? error : { code: "internal", hint: undefined };
  agent.publish({ type: "error", code, message: messageOf(error), ...defined({ hint }) });
}
