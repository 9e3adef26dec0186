/** The body of a chat-completions request. */
import { isRecord } from "../../lib/values.ts";
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam as Wire,
  ChatCompletionMessageToolCall,
} from "openai/resources/chat/completions";
import type { Adjustment } from "../adjustments.ts";
import type { ImagePart, Message, ModelRequest, ToolCall } from "../types.ts";
import { dataUrl, wireArguments, wireName, type BodySettings } from "./protocol.ts";

/** The messages come last: what does not change from request to request precedes what grows. */
export function completionsBody(request: ModelRequest, settings: BodySettings): object {
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
