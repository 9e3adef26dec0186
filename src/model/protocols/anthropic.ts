/** Anthropic Messages: `POST {base}/messages`; signed thinking travels inside the content blocks. */
import { GrowingText } from "../growing-text.ts";
import { isRecord, jsonObject } from "../../lib/values.ts";
import { errorIn, Malformed, ProviderError } from "../provider-error.ts";
import type {
  AssistantMessage,
  ImagePart,
  Message,
  ModelRequest,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "../types.ts";
import { AnswerText, replyOf } from "./answer-text.ts";
import {
  type BodySettings,
  checkParts,
  DONE,
  type Emit,
  type Finish,
  finishOf,
  isCut,
  isWholeJson,
  type Json,
  type Protocol,
  type Reply,
  type ReportedUsage,
  uniqueId,
  usageIn,
  wireName,
} from "./protocol.ts";

export const anthropic: Protocol<AnthropicState> = {
  path: "/messages",
  body: anthropicBody,

  begin: (emit) => ({
    blocks: [],
    places: new Map(),
    usage: {},
    finish: undefined,
    stopped: false,
    said: new AnswerText(emit),
  }),

  step: (state, event, name, emit) => {
    if (event === DONE && state.blocks.length > 0) state.stopped = true;
    if (!isRecord(event) || state.stopped) return;
    const type = typeof event["type"] === "string" ? event["type"] : name;
    switch (type) {
      case "message_start": {
        const message = isRecord(event["message"]) ? event["message"] : {};
        return takeUsage(state, message);
      }
      case "content_block_start":
        return openBlock(state, event, emit);
      case "content_block_delta":
        return takeDelta(state, event, emit);
      case "message_delta": {
        takeUsage(state, event);
        const delta = isRecord(event["delta"]) ? event["delta"] : {};
        return takeFinish(state, delta["stop_reason"]);
      }
      case "message_stop":
        state.stopped = true;
        return;
      case "error":
        throw new ProviderError(event);
      default: {
        const problem = event["error"] ? errorIn(event) : undefined;
        if (problem) throw problem;
      }
    }
  },

  whole: (state, answer, emit) => {
    if (!isRecord(answer)) throw new Malformed("the answer is not a JSON object");
    const problem = errorIn(answer);
    if (problem) throw problem;
    const { content } = answer;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (!Array.isArray(blocks))
      throw new Malformed("the answer has no `content`: it does not look like Anthropic Messages");
    for (const [index, block] of blocks.entries())
      if (isRecord(block)) openBlock(state, { index, content_block: block }, emit);
    takeUsage(state, answer);
    takeFinish(state, answer["stop_reason"] ?? "end_turn");
    state.stopped = true;
  },

  finished: (state) => state.stopped || state.finish !== undefined,
  complete: (state) => state.stopped,

  reply: (state): Reply => {
    state.said.close();
    const cut = isCut(state.finish);
    const items: Json[] = [];
    const toolCalls: ToolCall[] = [];
    const taken = new Set<string>();
    let text = "";
    const reasoning: string[] = [];
    for (const block of state.blocks) {
      const { type } = block.start;
      const written = block.text.toString();
      const json = block.json.toString();
      if (type === "tool_use") {
        const { input } = block.start;
        const args = json || (typeof input === "string" ? input : JSON.stringify(input ?? {}));
        if (cut && !isWholeJson(args)) continue;
        const id = uniqueId(typeof block.start["id"] === "string" ? block.start["id"] : undefined, taken);
        const name = typeof block.start["name"] === "string" ? block.start["name"] : "";
        toolCalls.push({ id, name, arguments: args });
        items.push({ type, id, name, input: isWholeJson(args) ? JSON.parse(args) : {} });
      } else if (type === "text") {
        text += written;
        if (written !== "") items.push({ ...block.start, text: written });
      } else if (type === "thinking") {
        if (written !== "") reasoning.push(written);
        items.push({ ...block.start, thinking: written, signature: block.signature });
      } else items.push(isWholeJson(json) ? { ...block.start, input: JSON.parse(json) } : block.start);
    }
    return replyOf({ text, reasoning, items, toolCalls }, state);
  },
};

interface AnthropicState {
  readonly blocks: Block[];
  /** The newest block of each index: some gateways give every block the same one. */
  readonly places: Map<unknown, Block>;
  usage: ReportedUsage;
  finish: Finish | undefined;
  stopped: boolean;
  /** As it is shown; what counts in the end are the blocks. */
  readonly said: AnswerText;
}

interface Block {
  readonly start: Json;
  readonly text: GrowingText;
  readonly json: GrowingText;
  signature: string;
}

function openBlock(state: AnthropicState, event: Json, emit: Emit): void {
  const start = isRecord(event["content_block"]) ? event["content_block"] : {};
  // The same block opened twice.
  if (typeof start["id"] === "string" && blockAt(state, event)?.start["id"] === start["id"]) return;
  const text = newBlock(state, event, start).text.toString();
  if (start["type"] === "text") state.said.push(text);
  else if (text !== "" && start["type"] !== "tool_use") emit({ type: "reasoning", delta: text });
}

function newBlock(state: AnthropicState, event: Json, start: Json): Block {
  const block: Block = {
    start,
    text: new GrowingText(string(start["text"]) + string(start["thinking"])),
    json: new GrowingText(),
    signature: string(start["signature"]),
  };
  checkParts(state.blocks.push(block), "blocks");
  state.places.set(event["index"], block);
  return block;
}

function takeDelta(state: AnthropicState, event: Json, emit: Emit): void {
  const delta = isRecord(event["delta"]) ? event["delta"] : {};
  const type = kindOf(delta);
  // A server that leaves the opening event out still says what kind of block this is.
  const block = blockAt(state, event) ?? newBlock(state, event, { type: KINDS[type] ?? "text" });
  switch (type) {
    case "text_delta":
    case "thinking_delta": {
      const piece = string(delta["text"]) + string(delta["thinking"]);
      if (piece === "") return;
      block.text.add(piece);
      if (type !== "text_delta") return emit({ type: "reasoning", delta: piece });
      return state.said.push(piece);
    }
    case "signature_delta":
      block.signature += string(delta["signature"]);
      return;
    case "input_json_delta":
      block.json.add(
        isRecord(delta["partial_json"]) ? JSON.stringify(delta["partial_json"]) : string(delta["partial_json"]),
      );
      return;
    default:
  }
}

function kindOf(delta: Json): string {
  if (typeof delta["type"] === "string") return delta["type"];
  return "partial_json" in delta ? "input_json_delta" : "thinking" in delta ? "thinking_delta" : "text_delta";
}

const KINDS: Readonly<Record<string, string>> = {
  thinking_delta: "thinking",
  signature_delta: "thinking",
  input_json_delta: "tool_use",
};

function blockAt(state: AnthropicState, { index }: Json): Block | undefined {
  return typeof index === "number" ? state.places.get(index) : state.blocks.at(-1);
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function takeFinish(state: AnthropicState, reason: unknown): void {
  state.finish = finishOf(reason) ?? state.finish;
}

/** Input comes with the first event, output with the last; what was read from or written to the cache is input too. */
function takeUsage(state: AnthropicState, event: Json): void {
  const usage = usageIn(event);
  if (usage === undefined) return;
  state.usage = {
    input: usage.input === undefined ? state.usage.input : Math.max(state.usage.input ?? 0, usage.input),
    output: usage.output ?? state.usage.output,
    cached: usage.cached ?? state.usage.cached,
    reasoning: usage.reasoning ?? state.usage.reasoning,
    costUsd: usage.costUsd ?? state.usage.costUsd,
  };
}

// ── The body of an Anthropic Messages request.

/** The messages come last: what does not change from request to request precedes what grows. */
function anthropicBody(request: ModelRequest, settings: BodySettings): object {
  const { adjusted } = settings;
  const marks = !adjusted.has("cache_control");
  const system = request.messages.filter((message) => message.role === "system").map(({ content }) => content);
  const wanted = settings.maxTokens ?? Math.min(settings.maxOutput ?? USUAL_TOKENS, MOST_TOKENS);
  const maxTokens = adjusted.has("max_tokens") ? Math.min(wanted, USUAL_TOKENS) : wanted;
  const thinking = thinkingOf(settings, maxTokens, request.messages);
  const body: Json = { model: settings.model, max_tokens: maxTokens };
  if (settings.stream) body["stream"] = true;
  Object.assign(body, thinking);
  if (!("thinking" in thinking)) {
    if (settings.temperature !== undefined && !adjusted.has("temperature")) body["temperature"] = settings.temperature;
    if (settings.topP !== undefined && !adjusted.has("top_p")) body["top_p"] = settings.topP;
  }
  if (request.tools.length > 0) {
    body["tools"] = request.tools.map((tool) =>
      settings.once(tool, ({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    );
  }
  if (system.length > 0) {
    const text = system.join("\n\n");
    body["system"] = marks ? [{ type: "text", text, cache_control: CACHE }] : text;
  }
  const messages = wireMessages(request.messages, settings, "thinking" in thinking);
  body["messages"] = marks ? marked(messages) : messages;
  return body;
}

/** The protocol requires a limit; a catalog's maximum can be more than an account may use at once. */
const MOST_TOKENS = 32_000;
const USUAL_TOKENS = 8_192;
const CACHE = { type: "ephemeral" } as const;

interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: Json[];
}

/** Older models get a budget of tokens, newer ones decide themselves how long to think. */
function thinkingOf(
  { reasoningEffort, model, adjusted }: BodySettings,
  maxTokens: number,
  messages: readonly Message[],
): Json {
  if (reasoningEffort === undefined || reasoningEffort === "none") return {};
  const effort = reasoningEffort === "minimal" ? "low" : reasoningEffort;
  if (/claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-2\d{7})?$)/.test(model.toLowerCase())) {
    const budget = Math.min(BUDGETS[effort] ?? 8_192, maxTokens - 1_024);
    return budget < 1_024 || adjusted.has("thinking") || beganWithoutThinking(messages)
      ? {}
      : { thinking: { type: "enabled", budget_tokens: budget } };
  }
  return {
    ...(!adjusted.has("thinking") && { thinking: { type: "adaptive" } }),
    ...(!adjusted.has("reasoning_effort") && { output_config: { effort } }),
  };
}

/**
 * With a budget, the turn whose results are sent must have begun with thinking, and all of it must come from a model
 * of this protocol.
 */
function beganWithoutThinking(messages: readonly Message[]): boolean {
  const results = messages.findLastIndex(({ role }) => role !== "user");
  if (messages[results]?.role !== "tool") return false;
  const asked = messages.findLastIndex(({ role }, at) => at < results && role === "user");
  const turn = messages.slice(asked + 1).filter((message) => message.role === "assistant");
  const thought = turn[0]?.items?.some((block) => isRecord(block) && String(block["type"]).endsWith("thinking"));
  return !thought || turn.some(({ items }) => items === undefined);
}

const BUDGETS: Readonly<Record<string, number>> = {
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 31_999,
};

/** Roles alternate: results and a prompt that follows them are one message of the user. */
function wireMessages(messages: readonly Message[], settings: BodySettings, thinking: boolean): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages) {
    if (message.role === "system") continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = message.role === "assistant" ? assistantBlocks(message, settings, thinking) : userBlocks(message);
    if (content.length === 0) continue;
    const last = wire.at(-1);
    if (last?.role === role) last.content.push(...content);
    else wire.push({ role, content });
  }
  return wire;
}

function userBlocks(message: UserMessage | ToolMessage): Json[] {
  const images = (message.images ?? []).map(imageBlock);
  if (message.role === "user") return [...textBlocks(message.content), ...images];
  const text = message.content;
  return [
    {
      type: "tool_result",
      tool_use_id: message.callId,
      content: images.length === 0 ? text : [...textBlocks(text), ...images],
    },
  ];
}

/** Empty text blocks are refused. */
function textBlocks(text: string | null): Json[] {
  return text === null || text.trim() === "" ? [] : [{ type: "text", text }];
}

function imageBlock({ type, data }: ImagePart): Json {
  return { type: "image", source: { type: "base64", media_type: type, data } };
}

/** The blocks as they came, with the calls as the history has them: their ids and arguments may have been repaired. */
function assistantBlocks(message: AssistantMessage, { adjusted, once }: BodySettings, thinking: boolean): Json[] {
  const calls = message.toolCalls.map((call) =>
    once(call, ({ id, name, arguments: text }) => ({
      type: "tool_use",
      id,
      name: wireName(name),
      input: jsonObject(text) ?? {},
    })),
  );
  if (message.items === undefined) return [...textBlocks(message.content), ...calls];
  let next = 0;
  return message.items.filter(isRecord).flatMap((block): Json[] => {
    switch (block["type"]) {
      case "tool_use":
        return calls[next] === undefined ? [] : [calls[next++]!];
      case "thinking":
      case "redacted_thinking":
        return thinking && !adjusted.has("reasoning_items") && isSigned(block) ? [block] : [];
      case "text":
        return textBlocks(typeof block["text"] === "string" ? block["text"] : "");
      default:
        return [block];
    }
  });
}

function isSigned(block: Json): boolean {
  return block["type"] === "redacted_thinking" || (typeof block["signature"] === "string" && block["signature"] !== "");
}

/** Marks the newest block: the provider looks for what it has cached from there backwards. */
function marked(messages: readonly WireMessage[]): readonly WireMessage[] {
  const newest = messages.findLastIndex(({ role }) => role === "user");
  return messages.map((message, at) => {
    const last = message.content.at(-1);
    if (at !== newest || last === undefined) return message;
    return { role: message.role, content: [...message.content.slice(0, -1), { ...last, cache_control: CACHE }] };
  });
}
