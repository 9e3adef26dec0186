/** The body of an Anthropic Messages request. */
import { isRecord, jsonObject } from "../../lib/values.ts";
import type { AssistantMessage, ImagePart, Message, ModelRequest, ToolMessage, UserMessage } from "../types.ts";
import { wireName, type BodySettings, type Json } from "./protocol.ts";

/** The messages come last: what does not change from request to request precedes what grows. */
export function anthropicBody(request: ModelRequest, settings: BodySettings): object {
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
