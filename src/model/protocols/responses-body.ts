/** The body of a Responses request: instructions, items in order, and what the server is asked to include. */
import { isRecord } from "../../lib/is-record.ts";
import type { ResponseCreateParamsNonStreaming, ResponseInputItem } from "openai/resources/responses/responses";
import type { ReasoningEffort } from "openai/resources/shared";
import type { Message, ModelRequest } from "../types.ts";
import { wireArguments, wireName, type BodySettings, type Droppable, type Json } from "./protocol.ts";

export function responsesBody(request: ModelRequest, settings: BodySettings): object {
  const drop = settings.without;
  const body: Body = {
    model: settings.model,
    ...wireInput(request.messages, drop),
    store: false,
  };
  if (request.tools.length > 0) {
    body.tools = request.tools.map(({ name, description, parameters }) => ({
      type: "function",
      name,
      description,
      parameters,
      strict: false,
    }));
  }
  if (settings.stream) body.stream = true;
  if (settings.temperature !== undefined && !drop.has("temperature")) body.temperature = settings.temperature;
  if (settings.topP !== undefined && !drop.has("top_p")) body.top_p = settings.topP;
  if (!drop.has("reasoning") && (settings.reasoningEffort !== undefined || settings.reasoning)) {
    body.reasoning = {
      ...(settings.reasoningEffort !== undefined && { effort: settings.reasoningEffort as ReasoningEffort }),
      ...(settings.reasoning && { summary: "auto" }),
    };
  }
  if (settings.reasoning !== false && !drop.has("include")) body.include = ["reasoning.encrypted_content"];
  if (request.outputSchema && !drop.has("response_format")) {
    body.text = { format: { type: "json_schema", name: "answer", schema: request.outputSchema, strict: false } };
  }
  return body;
}

type Body = Omit<ResponseCreateParamsNonStreaming, "stream"> & { stream?: true };

function wireInput(
  messages: ModelRequest["messages"],
  without: ReadonlySet<Droppable>,
): { instructions: string; input: ResponseInputItem[] } {
  const instructions: string[] = [];
  const input: ResponseInputItem[] = [];
  for (const message of messages) {
    if (message.role === "system") instructions.push(message.content);
    else input.push(...wireItems(message, without));
  }
  return { instructions: instructions.join("\n\n"), input };
}

function wireItems(
  message: Exclude<Message, { role: "system" }>,
  without: ReadonlySet<Droppable>,
): ResponseInputItem[] {
  switch (message.role) {
    case "user":
      return [{ type: "message", role: "user", content: [{ type: "input_text", text: message.content }] }];
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: message.content }];
    case "assistant": {
      if (!message.content && message.toolCalls.length === 0) return [];
      if (message.items) {
        const items = message.items.filter(isRecord).map((item) => sendable(item, without));
        // They go back as they came, whatever the types know of them.
        return (without.has("reasoning_items")
          ? items.flatMap(withoutReasoning)
          : items) as unknown as ResponseInputItem[];
      }
      const calls = message.toolCalls.map(({ id, name, arguments: text }): ResponseInputItem => ({
        type: "function_call",
        call_id: id,
        name: wireName(name),
        arguments: wireArguments(text, without),
      }));
      // Typed for items the server has made, with an id; it takes them without.
      const said = {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: message.content, annotations: [] }],
      };
      return message.content ? [said as unknown as ResponseInputItem, ...calls] : calls;
    }
  }
}

/** Ids go too: the server refuses an item whose reasoning it expects and does not get. */
function withoutReasoning(item: Json): Json[] {
  if (item["type"] === "reasoning") return [];
  const { id: _, ...rest } = item;
  return [rest];
}

function sendable(item: Json, without: ReadonlySet<Droppable>): Json {
  if (item["type"] !== "function_call") return item;
  const name = wireName(typeof item["name"] === "string" ? item["name"] : "");
  const text = wireArguments(typeof item["arguments"] === "string" ? item["arguments"] : "", without);
  return name === item["name"] && text === item["arguments"] ? item : { ...item, name, arguments: text };
}
