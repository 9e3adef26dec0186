/** The body of a Responses request: instructions, items in order, and what the server is asked to include. */
import { isRecord } from "../../lib/values.ts";
import type { ResponseCreateParamsNonStreaming, ResponseInputItem } from "openai/resources/responses/responses";
import type { ReasoningEffort } from "openai/resources/shared";
import type { Adjustment } from "../adjustments.ts";
import type { ImagePart, Message, ModelRequest } from "../types.ts";
import { dataUrl, wireArguments, wireName, type BodySettings, type Json } from "./protocol.ts";

/** The input comes last: what does not change from request to request precedes what grows. */
export function responsesBody(request: ModelRequest, settings: BodySettings): object {
  const { adjusted, dialect } = settings;
  const instructions = request.messages.filter((message) => message.role === "system").map(({ content }) => content);
  const body: Partial<Body> = { model: settings.model, store: false, instructions: instructions.join("\n\n") };
  if (settings.stream) body.stream = true;
  if (settings.maxTokens !== undefined && !adjusted.has("max_tokens")) body.max_output_tokens = settings.maxTokens;
  if (settings.temperature !== undefined && !adjusted.has("temperature")) body.temperature = settings.temperature;
  if (settings.topP !== undefined && !adjusted.has("top_p")) body.top_p = settings.topP;
  const effort = adjusted.has("reasoning_effort") ? undefined : settings.reasoningEffort;
  const summary = settings.reasoning === true && !adjusted.has("reasoning_summary");
  if (effort !== undefined || summary) {
    body.reasoning = {
      ...(effort !== undefined && { effort: effort as ReasoningEffort }),
      ...(summary && { summary: "auto" }),
    };
  }
  if (settings.reasoning !== false && !adjusted.has("include")) body.include = ["reasoning.encrypted_content"];
  if (request.outputSchema && !adjusted.has("response_format")) {
    body.text = { format: { type: "json_schema", name: "answer", schema: request.outputSchema, strict: false } };
  }
  if (request.session !== undefined && dialect.cacheKey && !adjusted.has("prompt_cache_key"))
    body.prompt_cache_key = request.session;
  if (request.tools.length > 0) {
    if (dialect.parallelCalls && !adjusted.has("parallel_tool_calls")) body.parallel_tool_calls = true;
    body.tools = request.tools.map((tool) =>
      settings.once(tool, ({ name, description, parameters }) => ({
        type: "function",
        name,
        description,
        parameters,
        strict: false,
      })),
    );
  }
  body.input = request.messages.flatMap((message) =>
    message.role === "system" ? [] : settings.once(message, (one) => wireItems(one, adjusted)),
  );
  return body;
}

type Body = Omit<ResponseCreateParamsNonStreaming, "stream"> & { stream?: true };

function wireItems(
  message: Exclude<Message, { role: "system" }>,
  adjusted: ReadonlySet<Adjustment>,
): ResponseInputItem[] {
  switch (message.role) {
    case "user":
      return [{ type: "message", role: "user", content: parts(message.content, message.images) }];
    case "tool":
      return [
        {
          type: "function_call_output",
          call_id: message.callId,
          output: message.images ? parts(message.content, message.images) : message.content,
        },
      ];
    case "assistant": {
      // They go back as they came, whatever the SDK's types say.
      if (message.items) return sendableItems(message.items, adjusted) as unknown as ResponseInputItem[];
      const calls = message.toolCalls.map(({ id, name, arguments: text }): ResponseInputItem => ({
        type: "function_call",
        call_id: id,
        name: wireName(name),
        arguments: wireArguments(text, adjusted),
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

function parts(text: string, images: readonly ImagePart[] = []) {
  return [
    ...(text === "" && images.length > 0 ? [] : [{ type: "input_text" as const, text }]),
    ...images.map((image) => ({ type: "input_image" as const, detail: "auto" as const, image_url: dataUrl(image) })),
  ];
}

/** Reasoning goes back only in a form the server can read: it stores nothing, so an id alone says nothing. */
function sendableItems(items: readonly unknown[], adjusted: ReadonlySet<Adjustment>): Json[] {
  const records = items.filter(isRecord).map((item) => sendable(item, adjusted));
  const unreadable = (item: Json) =>
    item["type"] === "reasoning" && (adjusted.has("reasoning_items") || typeof item["encrypted_content"] !== "string");
  if (!records.some(unreadable)) return records;
  // Ids go too: the server refuses an item whose reasoning it expects and does not get.
  return records
    .filter((item) => item["type"] !== "reasoning")
    .map((item) => {
      const { id: _, ...rest } = item;
      return rest;
    });
}

function sendable(item: Json, adjusted: ReadonlySet<Adjustment>): Json {
  if (item["type"] !== "function_call") return item;
  // The server sends a status, and does not need it back.
  const { status: _, ...call } = item;
  const name = wireName(typeof call["name"] === "string" ? call["name"] : "");
  const text = wireArguments(typeof call["arguments"] === "string" ? call["arguments"] : "", adjusted);
  return { ...call, name, arguments: text };
}
