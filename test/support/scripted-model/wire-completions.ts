/** A scripted reply as chat completions put it on the wire: stream events, or one document. */
import type { Json } from "../../../src/model/protocols/protocol.ts";
import type { ScriptedReply } from "./playbook.ts";
import { argumentsOf, callId, finishOf, pieces, usageOf, type Rendered } from "./render.ts";
import type { ScriptedRequest } from "./read-request.ts";

export function renderCompletions(reply: ScriptedReply, request: ScriptedRequest): Rendered {
  const base = { id: "chatcmpl-scripted", created: 0, model: request.model };
  const quirks = reply.quirks ?? {};
  const usage = wireUsage(reply, request);
  const chunk = (delta: Json, finish: string | null = null) => ({
    data: {
      ...base,
      object: "chat.completion.chunk",
      choices: [
        { index: 0, delta: quirks.repeatRole ? { role: "assistant", ...delta } : delta, finish_reason: finish },
      ],
    },
  });
  const deltas = messageDeltas(reply);
  const closing = usage && { data: { ...base, object: "chat.completion.chunk", choices: [], usage } };
  return {
    events: [
      chunk({ role: "assistant", content: reply.toolCalls && !reply.text ? null : "" }),
      ...deltas.map((delta) => chunk(delta)),
      chunk({}, finishOf(reply)),
      ...(closing ? [closing] : []),
      ...(closing && quirks.usageTwice ? [closing] : []),
      ...(quirks.noDone ? [] : [{ data: "[DONE]" }]),
    ],
    document: {
      ...base,
      object: "chat.completion",
      choices: [{ index: 0, message: wholeMessage(reply), finish_reason: finishOf(reply) }],
      ...(usage && { usage }),
    },
    errorEvent: {
      data: { error: { message: "scripted error in the stream", type: "server_error", code: "server_error" } },
    },
    failedEvent: { data: { ...base, choices: [{ index: 0, delta: {}, finish_reason: "error" }] } },
  };
}

function messageDeltas(reply: ScriptedReply): Json[] {
  const quirks = reply.quirks ?? {};
  const deltas: Json[] = pieces(reply.reasoning ?? "", reply).map((piece) => ({
    [quirks.reasoningField ?? "reasoning_content"]: piece,
  }));
  deltas.push(...extrasOf(reply));
  deltas.push(...pieces(reply.text ?? "", reply).map((piece) => ({ content: piece })));
  (reply.toolCalls ?? []).forEach((call, at) => {
    const index = quirks.noIndex ? {} : { index: quirks.indexZero ? 0 : at };
    const id = quirks.noId ? {} : { id: callId(call, at) };
    deltas.push({
      tool_calls: [{ ...index, ...id, type: "function", ...call.extra, function: { name: call.name, arguments: "" } }],
    });
    for (const piece of pieces(argumentsOf(call), reply)) {
      deltas.push({ tool_calls: [{ ...index, function: { arguments: piece } }] });
    }
  });
  return deltas;
}

function extrasOf({ extra = [] }: ScriptedReply): readonly Json[] {
  return [extra].flat();
}

function wholeMessage(reply: ScriptedReply): Json {
  const message: Json = {
    role: "assistant",
    content: reply.text ?? (reply.toolCalls ? null : ""),
    ...Object.assign({}, ...extrasOf(reply)),
  };
  if (reply.reasoning) message[reply.quirks?.reasoningField ?? "reasoning_content"] = reply.reasoning;
  if (reply.toolCalls) {
    message["tool_calls"] = reply.toolCalls.map((call, at) => ({
      ...(reply.quirks?.noId ? {} : { id: callId(call, at) }),
      type: "function",
      ...call.extra,
      function: { name: call.name, arguments: argumentsOf(call) },
    }));
  }
  return message;
}

function wireUsage(reply: ScriptedReply, request: ScriptedRequest): Json | undefined {
  const usage = usageOf(reply, request);
  return (
    usage && {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached ?? 0 },
      completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    }
  );
}
