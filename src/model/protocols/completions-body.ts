/** The body of a chat-completions request. */
import { isRecord } from "../../lib/is-record.ts";
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
  ChatCompletionMessageToolCall,
} from "openai/resources/chat/completions";
import type { Message, ModelRequest, ToolCall } from "../types.ts";
import { wireArguments, wireName, type BodySettings, type Droppable } from "./protocol.ts";

export function completionsBody(request: ModelRequest, settings: BodySettings): object {
  const drop = settings.without;
  // The SDK's types say what the protocol knows; nothing of the SDK is loaded.
  const body: Body = { model: settings.model, messages: wireMessages(request.messages, drop) };
  if (request.tools.length > 0) {
    body.tools = request.tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    }));
  }
  if (settings.stream) {
    body.stream = true;
    if (!drop.has("stream_options")) body.stream_options = { include_usage: true };
  }
  if (settings.temperature !== undefined && !drop.has("temperature")) body.temperature = settings.temperature;
  if (settings.topP !== undefined && !drop.has("top_p")) body.top_p = settings.topP;
  if (settings.reasoningEffort !== undefined && !drop.has("reasoning_effort")) {
    body.reasoning_effort = settings.reasoningEffort as NonNullable<Body["reasoning_effort"]>;
  }
  if (request.outputSchema && !drop.has("response_format")) {
    body.response_format = { type: "json_schema", json_schema: { name: "answer", schema: request.outputSchema } };
  }
  return body;
}

type Body = Omit<ChatCompletionCreateParamsNonStreaming, "stream"> & { stream?: true };

function wireMessages(
  messages: ModelRequest["messages"],
  without: ReadonlySet<Droppable>,
): ChatCompletionMessageParam[] {
  const wire: ChatCompletionMessageParam[] = [];
  for (const message of messages) {
    const one = wireMessage(message, without);
    if (one) wire.push(one);
  }
  return wire;
}

function wireMessage(message: Message, without: ReadonlySet<Droppable>): ChatCompletionMessageParam | undefined {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.content };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.content };
    case "assistant": {
      const { content, toolCalls } = message;
      const extra = without.has("message_extra") ? undefined : message.extra;
      if (toolCalls.length === 0) return content ? { ...extra, role: "assistant", content } : undefined;
      return {
        ...extra,
        role: "assistant",
        content: content || null,
        tool_calls: toolCalls.map((call) => wireCall(call, without)),
      };
    }
  }
}

function wireCall(call: ToolCall, without: ReadonlySet<Droppable>): ChatCompletionMessageToolCall {
  const { id, name, arguments: text } = call;
  const extra = without.has("message_extra") ? undefined : call.extra;
  const own = extra?.["function"];
  return {
    ...extra,
    id,
    type: "function",
    function: { ...(isRecord(own) && own), name: wireName(name), arguments: wireArguments(text, without) },
  };
}
