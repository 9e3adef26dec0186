/** The loop: ask the model, run the tools it calls, and again, until it answers. */
import { BuddyError, messageOf } from "../lib/errors.ts";
import { ModelError } from "../model/errors.ts";
import type { AssistantMessage, ImagePart, Message, ModelEvent, ModelRequest } from "../model/types.ts";
import type { Conversation } from "./conversation.ts";
import type { AgentEventBody, DoneEvent } from "./events.ts";
import { windowUse } from "../model/usage.ts";
import { repairCalls } from "./history.ts";
import { isTimeout, turnTaker } from "../lib/waiting.ts";
import { plural } from "../lib/text.ts";

export interface TurnOptions {
  /** The final answer must be JSON valid against this schema. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** The part of the prompt that the operator wrote; what was attached to it may come from anywhere. */
  readonly ownWords?: string;
  /** Nothing in this turn may change anything, even if someone approves it. */
  readonly readOnly?: boolean;
  /** What the operator typed, where the prompt holds more. */
  readonly shown?: string;
  /** Reads what the prompt attaches, as the turn begins. */
  attach?(signal: AbortSignal): Promise<Attached>;
}

export interface Attached {
  /** Put behind the prompt. */
  readonly text: string;
  readonly warnings: readonly string[];
  /** Pictures, for a model that sees. */
  readonly images?: readonly ImagePart[];
}

export async function turn(
  conversation: Conversation,
  words: string,
  signal: AbortSignal,
  options: TurnOptions,
): Promise<void> {
  const started = performance.now();
  const attached = await options.attach?.(signal);
  for (const message of attached?.warnings ?? []) conversation.publish({ type: "warning", message });
  const { privacy } = conversation.options;
  const about = conversation.options.calls().notes.newAbout();
  const more = `${attached?.text ?? ""}${about === undefined ? "" : `\n\n[${about}]`}`;
  const prompt = privacy.mask(words + more, { from: "prompt" });
  const typed = options.shown ?? (more === "" ? undefined : words);
  const shown = typed === undefined ? undefined : privacy.mask(typed, { from: "prompt" });
  const state: Progress = { iterations: 0, askedAgain: undefined, compactedForProvider: false };
  const number = conversation.beginTurn();
  conversation.options.calls().beginTurn(options.ownWords ?? words, options.readOnly);
  conversation.publish({ type: "turn", turn: number, prompt, ...(shown === undefined ? {} : { shown }) });
  const images = attached?.images ?? [];
  conversation.history.add({ role: "user", content: prompt, ...(images.length > 0 && { images }) });
  let status: DoneEvent["status"];
  let text = "";
  try {
    const answer = await untilAnswer(conversation, signal, options, state);
    text = answer.content ?? "";
    status = conversation.options.calls().turn.unapproved.length > 0 ? "approval_needed" : "answered";
  } catch (error) {
    status = failure(conversation, error, signal);
  }
  const changes = conversation.options.calls().turn.proposed;
  if (changes.length > 0) conversation.publish({ type: "proposed", changes });
  conversation.publish({
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
  conversation: Conversation,
  shown: string,
  work: (publish: (body: AgentEventBody) => void) => Promise<string | undefined>,
): Promise<void> {
  const started = performance.now();
  const number = conversation.beginTurn();
  const text = await work((body) => conversation.publish(body));
  if (text !== undefined) {
    const prompt = conversation.options.privacy.mask(text, { from: "prompt" });
    const typed = conversation.options.privacy.mask(shown, { from: "prompt" });
    conversation.publish({ type: "turn", turn: number, prompt, shown: typed });
    conversation.history.add({ role: "user", content: prompt });
  }
  const ms = Math.round(performance.now() - started);
  conversation.publish({ type: "done", turn: number, status: "answered", text: "", iterations: 0, ms });
}

/** `focus`: what the summary should keep, in the operator's words. */
export async function compactNow(conversation: Conversation, signal: AbortSignal, focus = ""): Promise<void> {
  try {
    const { compact, compactable, GUIDANCE } = await import("./compact.ts");
    const count = compactable(conversation.history.messages, conversation.contextLimit, "hand");
    if (count === undefined) {
      throw new BuddyError("tool", "nothing to compact: the conversation is a single exchange", {
        hint: GUIDANCE,
      });
    }
    await compact(conversation, count, signal, focus);
  } catch (error) {
    if (signal.aborted) conversation.publish({ type: "warning", message: "compaction cancelled; nothing was changed" });
    else publishError(conversation, error);
  }
}

interface Progress {
  iterations: number;
  /** What the model gets after an empty answer. */
  askedAgain: string | undefined;
  compactedForProvider: boolean;
}

async function untilAnswer(
  conversation: Conversation,
  signal: AbortSignal,
  options: TurnOptions,
  state: Progress,
): Promise<AssistantMessage> {
  const { maxIterations } = conversation.options;
  const calls = conversation.options.calls();
  for (;;) {
    signal.throwIfAborted();
    if (state.iterations >= maxIterations) throw new TooManyIterations(maxIterations);
    await withinBudget(conversation, signal);
    await conversation.prepareTools(signal);
    if (windowUse(conversation.contextUsed, conversation.contextLimit).state !== "ok")
      await (await import("./compact.ts")).makeRoom(conversation, signal);
    state.iterations++;
    const done = await ask(conversation, signal, options, state);
    if (done === "compacted") continue;
    const message = repairCalls(done.message, conversation.history.callIds);
    if (done.writtenCall)
      conversation.publish({
        type: "warning",
        message: "the model wrote a tool call as text; it was not run",
        hint: "The server must parse tool calls (vLLM: --enable-auto-tool-choice --tool-call-parser; llama.cpp: --jinja), or use another model.",
      });
    const { length } = conversation.history.messages;
    if (message.toolCalls.length === 0 && (message.content ?? "").trim() === "") {
      conversation.history.measure(done.usage, length);
      conversation.spend(done.usage);
      if (state.askedAgain !== undefined || done.finish === "content-filter") throw emptyAnswer(done.finish);
      state.askedAgain = done.writtenCall
        ? "You wrote a tool call as text, so it was not run. Call the tool itself, or answer in words."
        : "Your last reply was empty. Answer in words, or call a tool.";
      continue;
    }
    conversation.history.add(message);
    conversation.history.measure(done.usage, length + 1);
    conversation.publish({ type: "message", message });
    conversation.spend(done.usage);
    if (message.toolCalls.length === 0) {
      if (done.finish === "length")
        conversation.publish({
          type: "warning",
          message: "the answer was cut at the model's output limit",
          hint: "Ask it to continue.",
        });
      if (done.finish === "content-filter")
        conversation.publish({ type: "warning", message: "the provider's content filter cut the answer" });
      return message;
    }
    state.askedAgain = undefined;
    // Ids as repaired, arguments as the model wrote them: the model learns what is wrong with them.
    const wanted = message.toolCalls.map(({ id, name }, index) => ({
      id,
      name,
      arguments: done.message.toolCalls[index]?.arguments ?? "",
    }));
    const results = await calls.run(wanted, {
      signal,
      publish: (body) => conversation.publish(body),
      contextLimit: conversation.contextLimit,
      seesImages: conversation.client.info.images === true,
    });
    conversation.history.add(...results);
    if (calls.notes.stuck) throw stuck();
  }
}

function withinBudget(conversation: Conversation, signal: AbortSignal): Promise<void> | undefined {
  const { budget } = conversation.options;
  const calls = conversation.options.calls();
  const publish = (body: AgentEventBody): void => conversation.publish(body);
  return budget?.check({ totals: conversation.totals, signal, done: calls.turn.done, publish });
}

type Done = ModelEvent & { type: "done" };

async function ask(
  conversation: Conversation,
  signal: AbortSignal,
  options: TurnOptions,
  state: Progress,
): Promise<Done | "compacted"> {
  try {
    const turn = turnTaker();
    for await (const event of conversation.client.stream(request(conversation, options, state.askedAgain), signal)) {
      await turn();
      await conversation.room(signal);
      switch (event.type) {
        case "text":
          conversation.publish({ type: "text", delta: event.delta });
          break;
        case "reasoning":
          conversation.publish({ type: "reasoning", delta: event.delta });
          break;
        case "discard":
          conversation.publish({ type: "discard" });
          break;
        case "retry":
          conversation.publish({
            type: "retry",
            attempt: event.attempt,
            of: event.of,
            host: event.host,
            reason: event.reason,
            wait_ms: event.waitMs,
          });
          break;
        case "notice":
          conversation.publish({ type: "warning", message: event.message });
          break;
        case "tool-call":
          break;
        case "done":
          return event;
      }
    }
  } catch (error) {
    if (!(error instanceof ModelError) || error.reason !== "context-limit" || state.compactedForProvider) throw error;
    const { compact, compactable, GUIDANCE } = await import("./compact.ts");
    const count =
      compactable(conversation.history.messages, conversation.contextLimit, "window") ??
      compactable(conversation.history.messages, conversation.contextLimit, "hand");
    if (count === undefined) throw new BuddyError("model", error.message, { hint: GUIDANCE, cause: error });
    state.compactedForProvider = true;
    conversation.publish({
      type: "warning",
      message: "the provider says the conversation is too large: compacting it and trying once more",
    });
    await compact(conversation, count, signal);
    state.iterations--;
    return "compacted";
  }
  throw new BuddyError("model", "the model stream ended without an answer");
}

function request(conversation: Conversation, options: TurnOptions, askedAgain: string | undefined): ModelRequest {
  const { system, tools } = conversation.prefix;
  const messages: Message[] = [system, ...conversation.history.messages];
  // Not kept: an empty turn is never sent back, so the model has to get this in another way.
  if (askedAgain !== undefined) messages.push({ role: "user", content: askedAgain });
  return {
    messages,
    tools,
    session: conversation.options.session(),
    ...(options.outputSchema === undefined ? {} : { outputSchema: options.outputSchema }),
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

function failure(conversation: Conversation, error: unknown, signal: AbortSignal): DoneEvent["status"] {
  if (signal.aborted) {
    // What was already read stays in the conversation, so that "continue" makes sense.
    const partial = error instanceof ModelError ? error.partial : "";
    if (partial.trim() !== "") {
      const message: AssistantMessage = { role: "assistant", content: partial, toolCalls: [] };
      conversation.history.add(message);
      conversation.publish({ type: "message", message });
    }
    return isTimeout(signal.reason) ? "timeout" : "cancelled";
  }
  publishError(conversation, error);
  return error instanceof TooManyIterations ? "max_iterations" : "failed";
}

function publishError(conversation: Conversation, error: unknown): void {
  if (error instanceof BuddyError) {
    conversation.publish({
      type: "error",
      code: error.code,
      message: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    });
    return;
  }
  conversation.publish({
    type: "error",
    code: "internal",
    message: messageOf(error),
  });
}
