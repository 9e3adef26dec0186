/** Chat completions: `POST {base}/chat/completions`. */
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam as Wire,
  ChatCompletionMessageToolCall,
} from "openai/resources/chat/completions";
import { GrowingText } from "../growing-text.ts";
import { isRecord } from "../../lib/values.ts";
import type { Adjustment } from "../adjustments.ts";
import { errorIn, Malformed, ProviderError } from "../provider-error.ts";
import type { AssistantMessage, ImagePart, Message, ModelRequest, ToolCall } from "../types.ts";
import { AnswerText } from "./answer-text.ts";
import {
  type BodySettings,
  dataUrl,
  DONE,
  type Emit,
  type Finish,
  finishOf,
  finishWith,
  isCut,
  type Json,
  type Protocol,
  type Reply,
  type ReportedUsage,
  textOf,
  usageIn,
  wireArguments,
  wireName,
} from "./protocol.ts";
import { mergeDelta, ToolCallSlots } from "./tool-call-slots.ts";

export const completions: Protocol<CompletionsState> = {
  path: "/chat/completions",
  body: completionsBody,

  begin: (emit) => new CompletionsState(emit),

  step: (state, event, name) => {
    if (event === DONE) {
      state.marker = true;
      return;
    }
    if (!isRecord(event)) return;
    if (name === "error") throw new ProviderError(event);
    const problem = errorIn(event);
    if (problem) throw problem;
    takeUsage(state, event);
    for (const choice of firstAnswer(event)) {
      if (choice["error"]) throw new ProviderError(choice["error"]);
      takeUsage(state, choice);
      takeChoice(state, choice);
      takeFinish(state, choice["finish_reason"] ?? choice["finishReason"]);
    }
  },

  whole: (state, answer) => {
    if (!isRecord(answer)) throw new Malformed("the answer is not a JSON object");
    const problem = errorIn(answer);
    if (problem) throw problem;
    const [choice] = firstAnswer(answer);
    if (!choice || (!isRecord(choice["message"]) && typeof choice["text"] !== "string"))
      throw new Malformed("the answer has no `choices[0].message`: it does not look like chat completions");
    takeUsage(state, answer);
    takeChoice(state, choice);
    takeFinish(state, choice["finish_reason"]);
    state.finish ??= "stop";
    state.marker = true;
  },

  finished: (state) => state.marker || state.finish !== undefined,
  complete: (state) => state.marker,

  reply: (state): Reply => {
    const { said } = state;
    said.end();
    const toolCalls = state.calls.calls(isCut(state.finish));
    const message: AssistantMessage = {
      role: "assistant",
      content: said.text !== "" ? said.text : toolCalls.length > 0 || !state.hasText ? null : "",
      toolCalls,
      ...(said.reasoning !== "" && { reasoning: said.reasoning }),
      ...extraOf(state),
    };
    return {
      message,
      usage: state.usage,
      finish: finishWith(toolCalls, state.finish),
      writtenCall: said.writtenCall && toolCalls.length === 0,
    };
  },
};

class CompletionsState {
  hasText = false;
  /** Not only empty text. */
  hasWords = false;
  /** Something came as a delta. */
  streamed = false;
  readonly extra: Json = {};
  /** Unknown fields that hold the reasoning in words; mostly they repeat it. */
  readonly reasoned = new Map<string, GrowingText>();
  readonly calls = new ToolCallSlots();
  finish: Finish | undefined;
  usage: ReportedUsage | undefined;
  marker = false;
  readonly said: AnswerText;
  readonly emit: Emit;

  constructor(emit: Emit) {
    this.emit = emit;
    this.said = new AnswerText(emit);
  }
}

/** Readable reasoning under the names servers give it; each also goes back as an unknown field. */
const REASONING = ["reasoning_content", "reasoning", "thinking", "reasoning_text", "thoughts"] as const;
const HANDLED = new Set<string>(["role", "content", "tool_calls", "function_call", "refusal", ...REASONING]);
const NONE: ReadonlySet<string> = new Set();

/** What belongs to the first of several answers: some servers send two pieces of it at once. */
function firstAnswer(event: Json): Json[] {
  const choices = Array.isArray(event["choices"]) ? event["choices"] : [event["choices"]];
  return choices.filter(isRecord).filter(({ index }) => typeof index !== "number" || index === 0);
}

/** A delta; a few servers put a whole `message`, or the `text` of the older protocol, where one belongs. */
function takeChoice(state: CompletionsState, choice: Json): void {
  const { delta, message } = choice;
  if (isRecord(delta)) {
    state.streamed = true;
    takeDelta(state, delta);
  }
  if (isRecord(message)) {
    if (!state.streamed) takeDelta(state, message);
    else if (choice["finish_reason"]) takeDelta(state, missing(state, message));
  }
  if (isRecord(delta) || isRecord(message)) return;
  const text = [choice["text"], delta].find((one) => typeof one === "string");
  if (text !== undefined) takeText(state, text);
}

/** At the end of a stream a message repeats the deltas: what is left is what only the message says. */
function missing(state: CompletionsState, message: Json): Json {
  const { said, calls, extra, reasoned } = state;
  const has = (key: string): boolean => {
    if (key === "content" || key === "refusal") return state.hasWords;
    if (key === "tool_calls" || key === "function_call") return calls.size > 0;
    return key in extra || reasoned.has(key) || (key.startsWith("reasoning") && said.reasoning !== "");
  };
  return Object.fromEntries(Object.entries(message).filter(([key]) => !has(key)));
}

function takeText(state: CompletionsState, text: string): void {
  state.hasText = true;
  state.hasWords ||= text !== "";
  state.said.push(text);
}

function takeDelta(state: CompletionsState, delta: Json): void {
  const { content } = delta;
  if (content !== undefined && content !== null) {
    if (Array.isArray(content)) takeThinking(state, content);
    takeText(state, textOf(content));
  }
  // Servers that give two of these names give the same words twice.
  const words = REASONING.map((name) => reasoningText(delta[name])).find((one) => one !== "");
  state.said.addReasoning(words ?? detailsText(delta["reasoning_details"]));
  const { refusal } = delta;
  if (typeof refusal === "string" && refusal !== "") {
    state.hasWords = true;
    state.said.add(refusal);
  }
  for (const call of callsIn(delta)) state.calls.add(call);
  for (const name of REASONING) takeReasoningField(state, name, delta[name]);
  mergeDelta(state.extra, delta, HANDLED);
}

function takeReasoningField({ extra, reasoned }: CompletionsState, name: string, value: unknown): void {
  if (typeof value !== "string") {
    if (value !== undefined) mergeDelta(extra, { [name]: value }, NONE);
    return;
  }
  const known = reasoned.get(name);
  if (known === undefined) reasoned.set(name, new GrowingText(value));
  else known.add(value);
}

/** What goes back as it came. */
function extraOf({ extra, reasoned, said }: CompletionsState): { extra?: Json } {
  for (const [name, text] of reasoned) {
    text.share(said.reasoning);
    extra[name] = text.toString();
  }
  return Object.keys(extra).length > 0 ? { extra } : {};
}

/** A list; one call alone; or the `function_call` of the older protocol. */
function callsIn(delta: Json): Json[] {
  const { tool_calls: calls, function_call: call } = delta;
  if (Array.isArray(calls)) return calls.filter(isRecord);
  if (isRecord(calls)) return [calls];
  // Some servers send the older field empty with every answer.
  return isRecord(call) && (call["name"] || call["arguments"]) ? [{ index: 0, function: call }] : [];
}

/** Mistral puts reasoning into the content, as parts of their own. */
function takeThinking(state: CompletionsState, parts: readonly unknown[]): void {
  for (const part of parts) {
    if (!isRecord(part)) continue;
    if (part["type"] === "thinking" || part["type"] === "reasoning")
      state.said.addReasoning(textOf(part["thinking"] ?? part["reasoning"] ?? part["summary"]));
  }
}

/** As text, or in its own object. */
function reasoningText(value: unknown): string {
  return textOf(isRecord(value) ? (value["content"] ?? value) : value);
}

/** OpenRouter's details, where nothing else says it in words. */
function detailsText(details: unknown): string {
  if (!Array.isArray(details)) return "";
  return details
    .filter(isRecord)
    .map((one) => textOf(one["text"] ?? one["summary"]))
    .join("");
}

function takeFinish(state: CompletionsState, reason: unknown): void {
  state.finish = finishOf(reason) ?? state.finish;
}

/**
 * The last usage that says something counts: some servers send it with every chunk, growing, others a last one of
 * zeros.
 */
function takeUsage(state: CompletionsState, event: Json): void {
  state.usage = usageIn(event) ?? state.usage;
}

// ── The body of a chat-completions request.

/** The messages come last: what does not change from request to request precedes what grows. */
function completionsBody(request: ModelRequest, settings: BodySettings): object {
  const { adjusted, dialect } = settings;
  // The SDK's types say what the protocol knows; nothing of the SDK is loaded.
  const body: Partial<Body> = { model: settings.model };
  if (settings.stream) {
    body.stream = true;
    if (!adjusted.has("stream_options") && !dialect.countsUnasked) body.stream_options = { include_usage: true };
  }
  if (settings.maxTokens !== undefined && !adjusted.has("max_tokens")) {
    const other = adjusted.has("max_completion_tokens") || dialect.shapes.has("max_completion_tokens");
    body[other ? "max_completion_tokens" : "max_tokens"] = settings.maxTokens;
  }
  if (settings.temperature !== undefined && !adjusted.has("temperature")) body.temperature = settings.temperature;
  if (settings.topP !== undefined && !adjusted.has("top_p")) body.top_p = settings.topP;
  if (settings.reasoningEffort !== undefined && !adjusted.has("reasoning_effort")) {
    body.reasoning_effort = settings.reasoningEffort as NonNullable<Body["reasoning_effort"]>;
  }
  if (request.outputSchema && !adjusted.has("response_format")) {
    body.response_format = { type: "json_schema", json_schema: { name: "answer", schema: request.outputSchema } };
  }
  if (request.session !== undefined && dialect.cacheKey && !adjusted.has("prompt_cache_key"))
    body.prompt_cache_key = request.session;
  if (request.tools.length > 0) {
    if (dialect.parallelCalls && !adjusted.has("parallel_tool_calls")) body.parallel_tool_calls = true;
    body.tools = request.tools.map((tool) =>
      settings.once(tool, ({ name, description, parameters }) => ({
        type: "function",
        function: { name, description, parameters },
      })),
    );
  }
  const marks = dialect.cacheMarks && !adjusted.has("cache_control");
  const messages = request.messages.map((message) => settings.once(message, (one) => wireMessage(one, adjusted)));
  body.messages = marks ? marked(messages, settings) : messages;
  return body;
}

type Body = Omit<ChatCompletionCreateParamsNonStreaming, "stream"> & { stream?: true };

function wireMessage(message: Message, adjusted: ReadonlySet<Adjustment>): Wire {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      return { role: "user", content: withImages(message.content, message.images) as string };
    case "tool":
      return {
        role: "tool",
        tool_call_id: message.callId,
        content: withImages(message.content, message.images) as string,
      };
    case "assistant": {
      const { content, toolCalls, extra } = message;
      if (toolCalls.length === 0) return { ...extra, role: "assistant", content: content ?? "" };
      return {
        ...extra,
        role: "assistant",
        content: content || null,
        tool_calls: toolCalls.map((call) => wireCall(call, adjusted)),
      };
    }
  }
}

/** Text alone stays a string: every server takes that. */
function withImages(text: string, images: readonly ImagePart[] = []): string | object[] {
  if (images.length === 0) return text;
  const pictures = images.map((image) => ({ type: "image_url", image_url: { url: dataUrl(image) } }));
  return [...(text === "" ? [] : [{ type: "text", text }]), ...pictures];
}

function wireCall(
  { id, name, arguments: text, extra }: ToolCall,
  adjusted: ReadonlySet<Adjustment>,
): ChatCompletionMessageToolCall {
  const own = extra?.["function"];
  return {
    ...extra,
    id,
    type: "function",
    function: { ...(isRecord(own) && own), name: wireName(name), arguments: wireArguments(text, adjusted) },
  };
}

/** For providers that cache what is marked: the system prompt, and everything up to the newest message. */
function marked(messages: readonly Wire[], { once }: BodySettings): Wire[] {
  const last = messages.findLastIndex(({ role, content }) => role !== "assistant" && typeof content === "string");
  const first = messages.findIndex(({ role }) => role === "system");
  return messages.map((message, at) => (at === last || at === first ? once(message, withMark) : message));
}

function withMark(message: Wire): Wire {
  const { content } = message;
  if (typeof content !== "string") return message;
  const part = { type: "text", text: content, cache_control: { type: "ephemeral" } } as const;
  return { ...message, content: [part] } as Wire;
}
