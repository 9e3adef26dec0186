/** A request of any protocol in one neutral form, for playbooks and tests. */
import { isRecord } from "../../../src/lib/values.ts";
import { textOf, type Json } from "../../../src/model/protocols/protocol.ts";
import type { Api } from "../../../src/model/types.ts";

export interface ScriptedRequest {
  readonly api: Api;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body, as it was on the wire. */
  readonly body: Json;
  readonly text: string;
  readonly stream: boolean;
  readonly model: string;
  readonly messages: readonly SeenMessage[];
  readonly tools: readonly SeenTool[];
  readonly schema: Json | undefined;
}

export interface SeenMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  /** Of a tool result. */
  readonly callId?: string;
}

export interface SeenTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Json;
}

export function readRequest(path: string, headers: Readonly<Record<string, string>>, text: string): ScriptedRequest {
  const parsed: unknown = JSON.parse(text);
  const body = isRecord(parsed) ? parsed : {};
  const api = apiOf(path);
  return {
    api,
    path,
    headers,
    body,
    text,
    stream: body["stream"] === true,
    model: typeof body["model"] === "string" ? body["model"] : "",
    messages: MESSAGES[api](body),
    tools: list(body["tools"]).map((tool) => seenTool(isRecord(tool["function"]) ? tool["function"] : tool)),
    schema: schemaOf(body),
  };
}

function apiOf(path: string): Api {
  const [address = ""] = path.split("?");
  return address.endsWith("/responses") ? "responses" : address.endsWith("/messages") ? "anthropic" : "completions";
}

const MESSAGES: Readonly<Record<Api, (body: Json) => SeenMessage[]>> = {
  completions: (body) => list(body["messages"]).map(fromMessage),
  responses: fromItems,
  anthropic: fromBlocks,
};

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function seenTool(tool: Json): SeenTool {
  return {
    name: string(tool["name"]),
    description: string(tool["description"]),
    parameters: [tool["parameters"], tool["input_schema"]].find(isRecord) ?? {},
  };
}

function fromMessage(message: Json): SeenMessage {
  const calls = list(message["tool_calls"]).map((call) => {
    const fn = isRecord(call["function"]) ? call["function"] : {};
    return { id: string(call["id"]), name: string(fn["name"]), arguments: string(fn["arguments"]) };
  });
  const seen = { role: message["role"] as SeenMessage["role"], content: textOf(message["content"]), calls };
  return typeof message["tool_call_id"] === "string" ? { ...seen, callId: message["tool_call_id"] } : seen;
}

function fromItems(body: Json): SeenMessage[] {
  const messages: SeenMessage[] = [];
  if (string(body["instructions"]) !== "")
    messages.push({ role: "system", content: string(body["instructions"]), calls: [] });
  for (const item of list(body["input"])) {
    const last = messages.at(-1);
    switch (item["type"] ?? "message") {
      case "message":
        messages.push({ role: item["role"] as SeenMessage["role"], content: textOf(item["content"]), calls: [] });
        break;
      case "function_call": {
        const call = { id: string(item["call_id"]), name: string(item["name"]), arguments: string(item["arguments"]) };
        // Text and calls of one turn are separate items here.
        if (last?.role === "assistant") messages[messages.length - 1] = { ...last, calls: [...last.calls, call] };
        else messages.push({ role: "assistant", content: "", calls: [call] });
        break;
      }
      case "function_call_output":
        messages.push({ role: "tool", content: string(item["output"]), calls: [], callId: string(item["call_id"]) });
        break;
    }
  }
  return messages;
}

/** Anthropic: results of tools are blocks of a user message. */
function fromBlocks(body: Json): SeenMessage[] {
  const messages: SeenMessage[] = [];
  const system = textOf(body["system"]);
  if (system !== "") messages.push({ role: "system", content: system, calls: [] });
  for (const message of list(body["messages"])) {
    const blocks = list(message["content"]);
    for (const block of blocks) {
      if (block["type"] !== "tool_result") continue;
      const content = textOf(block["content"]);
      messages.push({ role: "tool", content, calls: [], callId: string(block["tool_use_id"]) });
    }
    const content = textOf(message["content"]);
    const calls = blocks
      .filter((block) => block["type"] === "tool_use")
      .map((block) => ({
        id: string(block["id"]),
        name: string(block["name"]),
        arguments: JSON.stringify(block["input"] ?? {}),
      }));
    const resultsOnly = blocks.length > 0 && blocks.every((block) => block["type"] === "tool_result");
    if (!resultsOnly) messages.push({ role: message["role"] as SeenMessage["role"], content, calls });
  }
  return messages;
}

function schemaOf(body: Json): Json | undefined {
  const format = isRecord(body["response_format"])
    ? body["response_format"]
    : isRecord(body["text"])
      ? body["text"]["format"]
      : undefined;
  if (!isRecord(format) || format["type"] !== "json_schema") return undefined;
  const holder = isRecord(format["json_schema"]) ? format["json_schema"] : format;
  return isRecord(holder["schema"]) ? holder["schema"] : undefined;
}
