/** A scripted reply as the Responses protocol puts it on the wire: stream events, or one document. */
import type { Json } from "../../../src/model/protocols/protocol.ts";
import type { ScriptedReply } from "./playbook.ts";
import type { ScriptedRequest } from "./read-request.ts";
import { argumentsOf, callId, finishOf, pieces, usageOf, type Rendered, type WireEvent } from "./render.ts";

export function renderResponses(reply: ScriptedReply, request: ScriptedRequest): Rendered {
  const finish = finishOf(reply);
  const incomplete =
    finish === "length" ? "max_output_tokens" : finish === "content_filter" ? "content_filter" : undefined;
  const output = itemsOf(reply);
  const usage = wireUsage(reply, request);
  const base = { id: "resp_scripted", object: "response", model: request.model, error: null };
  const document: Json = {
    ...base,
    status: incomplete ? "incomplete" : "completed",
    incomplete_details: incomplete ? { reason: incomplete } : null,
    output,
    ...(usage && { usage }),
  };
  const final = { ...document, ...(reply.quirks?.emptyOutput && { output: [] }) };
  let sequence = 0;
  const event = (type: string, fields: Json): WireEvent => ({
    name: type,
    data: { type, sequence_number: sequence++, ...fields },
  });
  const events: WireEvent[] = [event("response.created", { response: { ...base, status: "in_progress", output: [] } })];
  output.forEach((item, at) => events.push(...itemEvents(item, at, reply, event)));
  events.push(event(incomplete ? "response.incomplete" : "response.completed", { response: final }));
  if (reply.quirks?.usageTwice) events.push(event("response.completed", { response: final }));
  const error = { code: "server_error", message: "scripted error in the stream" };
  return {
    events,
    document,
    errorEvent: event("error", error),
    failedEvent: event("response.failed", { response: { ...base, status: "failed", error, output: [] } }),
  };
}

function itemsOf(reply: ScriptedReply): Json[] {
  const items: Json[] = [];
  if (reply.reasoning || reply.encrypted) {
    items.push({
      id: "rs_1",
      type: "reasoning",
      summary: reply.reasoning ? [{ type: "summary_text", text: reply.reasoning }] : [],
      ...(reply.encrypted && { encrypted_content: reply.encrypted }),
    });
  }
  if (reply.text) {
    const content = [{ type: "output_text", text: reply.text, annotations: [] }];
    items.push({ id: "msg_1", type: "message", role: "assistant", status: "completed", content });
  }
  (reply.toolCalls ?? []).forEach((call, at) => {
    items.push({
      ...call.extra,
      id: `fc_${at}`,
      type: "function_call",
      status: "completed",
      ...(reply.quirks?.noId ? {} : { call_id: callId(call, at) }),
      name: call.name,
      arguments: argumentsOf(call),
    });
  });
  return items;
}

function itemEvents(
  item: Json,
  index: number,
  reply: ScriptedReply,
  event: (type: string, fields: Json) => WireEvent,
): WireEvent[] {
  const place: Json = reply.quirks?.noIndex ? { item_id: item["id"] } : { item_id: item["id"], output_index: index };
  const where: Json = reply.quirks?.noIndex ? {} : { output_index: index };
  const added = (empty: Json) => event("response.output_item.added", { ...where, item: { ...item, ...empty } });
  const done = () => event("response.output_item.done", { ...where, item });
  switch (item["type"]) {
    case "message":
      return [
        added({ content: [], status: "in_progress" }),
        ...pieces(reply.text ?? "", reply).map((delta) =>
          event("response.output_text.delta", { ...place, content_index: 0, delta }),
        ),
        event("response.output_text.done", { ...place, content_index: 0, text: reply.text ?? "" }),
        done(),
      ];
    case "reasoning":
      return [
        added({ summary: [] }),
        event("response.reasoning_summary_part.added", { ...place, summary_index: 0 }),
        ...pieces(reply.reasoning ?? "", reply).map((delta) =>
          event("response.reasoning_summary_text.delta", { ...place, summary_index: 0, delta }),
        ),
        done(),
      ];
    default: {
      const text = String(item["arguments"]);
      return [
        added({ arguments: "", status: "in_progress" }),
        ...pieces(text, reply).map((delta) => event("response.function_call_arguments.delta", { ...place, delta })),
        event("response.function_call_arguments.done", { ...place, arguments: text }),
        done(),
      ];
    }
  }
}

function wireUsage(reply: ScriptedReply, request: ScriptedRequest): Json | undefined {
  const usage = usageOf(reply, request);
  return (
    usage && {
      input_tokens: usage.input,
      output_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      input_tokens_details: { cached_tokens: usage.cached ?? 0 },
      output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    }
  );
}
