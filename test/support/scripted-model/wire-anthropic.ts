/** A scripted reply as Anthropic Messages puts it on the wire: stream events, or one document. */
import type { Json } from "../../../src/model/protocols/protocol.ts";
import type { ScriptedReply } from "./playbook.ts";
import { argumentsOf, callId, finishOf, pieces, usageOf, type Rendered, type WireEvent } from "./render.ts";
import type { ScriptedRequest } from "./read-request.ts";

export function renderAnthropic(reply: ScriptedReply, request: ScriptedRequest): Rendered {
  const usage = wireUsage(reply, request);
  const message = { id: "msg_scripted", type: "message", role: "assistant", model: request.model };
  const stop = STOPS[finishOf(reply)] ?? "end_turn";
  const event = (type: string, fields: Json = {}): WireEvent => ({ name: type, data: { type, ...fields } });
  const error = { type: "error", error: { type: "api_error", message: "scripted error in the stream" } };
  return {
    events: [
      event("message_start", {
        message: {
          ...message,
          content: [],
          stop_reason: null,
          ...(usage && { usage: { ...usage, output_tokens: 1 } }),
        },
      }),
      event("ping"),
      ...blocks(reply).flatMap(({ start, deltas }, index) => [
        event("content_block_start", { index, content_block: start }),
        ...deltas.map((delta) => event("content_block_delta", { index, delta })),
        event("content_block_stop", { index }),
      ]),
      event("message_delta", {
        delta: { stop_reason: stop, stop_sequence: null },
        ...(usage && { usage: { output_tokens: usage["output_tokens"] } }),
      }),
      ...(reply.quirks?.noDone ? [] : [event("message_stop")]),
    ],
    document: {
      ...message,
      content: blocks(reply).map(({ whole }) => whole),
      stop_reason: stop,
      stop_sequence: null,
      ...(usage && { usage }),
    },
    errorEvent: { name: "error", data: error },
    failedEvent: { name: "error", data: error },
  };
}

const STOPS: Readonly<Record<string, string>> = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  content_filter: "refusal",
};

interface Block {
  readonly start: Json;
  readonly deltas: readonly Json[];
  readonly whole: Json;
}

function blocks(reply: ScriptedReply): Block[] {
  const list: Block[] = [];
  const { reasoning, encrypted, text, toolCalls = [] } = reply;
  if (reasoning !== undefined || encrypted !== undefined) {
    const signature = encrypted ?? "signed";
    list.push({
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...pieces(reasoning ?? "", reply).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature },
      ],
      whole: { type: "thinking", thinking: reasoning ?? "", signature },
    });
  }
  if (text !== undefined && text !== "") {
    list.push({
      start: { type: "text", text: "" },
      deltas: pieces(text, reply).map((piece) => ({ type: "text_delta", text: piece })),
      whole: { type: "text", text },
    });
  }
  toolCalls.forEach((call, at) => {
    const base = { type: "tool_use", id: callId(call, at), name: call.name };
    list.push({
      start: { ...base, input: {} },
      deltas: pieces(argumentsOf(call), reply).map((partial_json) => ({ type: "input_json_delta", partial_json })),
      whole: { ...base, input: call.args ?? {} },
    });
  });
  return list;
}

function wireUsage(reply: ScriptedReply, request: ScriptedRequest): Json | undefined {
  const usage = usageOf(reply, request);
  const cached = usage?.cached ?? 0;
  return (
    usage && {
      input_tokens: usage.input - cached,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cached,
      output_tokens: usage.output,
    }
  );
}
