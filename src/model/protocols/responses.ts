/** Responses: `POST {base}/responses`, always with `store: false`; reasoning travels encrypted inside the items. */
import type { ResponseCreateParamsNonStreaming, ResponseInputItem } from "openai/resources/responses/responses";
import type { ReasoningEffort } from "openai/resources/shared";
import { GrowingText } from "../growing-text.ts";
import { isRecord } from "../../lib/values.ts";
import type { Adjustment } from "../adjustments.ts";
import { errorIn, Malformed, ProviderError } from "../provider-error.ts";
import type { ImagePart, Message, ModelRequest, ToolCall } from "../types.ts";
import { AnswerText, replyOf } from "./answer-text.ts";
import {
  type BodySettings,
  checkParts,
  dataUrl,
  DONE,
  type Emit,
  type Finish,
  isCut,
  isWholeJson,
  type Json,
  MOST_PARTS,
  type Protocol,
  type Reply,
  type ReportedUsage,
  textOf,
  uniqueId,
  usageIn,
  wireArguments,
  wireName,
} from "./protocol.ts";

export const responses: Protocol<ResponsesState> = {
  path: "/responses",
  body: responsesBody,

  begin: fresh,
  restarts: true,

  step: (state, event, name, emit) => {
    if (event === DONE && state.items.length > 0 && state.items.every(isWhole)) state.finish ??= "stop";
    if (!isRecord(event)) return;
    // The type in an error is the error's own.
    const type = typeof event["type"] === "string" && name !== "error" ? event["type"] : name;
    if (state.finish !== undefined) {
      // Recorders and some gateways put several responses into one stream: the last one counts.
      if (type === "response.created") Object.assign(state, fresh(emit));
      return;
    }
    switch (type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return takeText(state, event);
      case "response.output_text.done":
        return takeLateText(state, event, event["text"]);
      case "response.content_part.done":
        return isRecord(event["part"]) && event["part"]["type"] === "output_text"
          ? takeLateText(state, event, event["part"]["text"])
          : undefined;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
      case "response.reasoning_summary.delta":
      case "response.reasoning.delta":
        return takeReasoning(state, event, emit);
      case "response.reasoning_summary_part.added":
        if (state.summaryParts++ > 0) emit({ type: "reasoning", delta: "\n\n" });
        return;
      case "response.output_item.added":
      case "response.output_item.done":
        return takeItem(state, event, type.endsWith("done"), emit);
      case "response.function_call_arguments.delta":
      case "response.function_call_arguments.done":
        return takeArguments(state, event);
      case "response.completed":
      case "response.done":
      case "response.incomplete":
      case "response.failed":
        return takeEnd(state, event["response"], type);
      case "error":
      case "response.error":
        throw new ProviderError(event["error"] ?? event);
      default:
        // Other events repeat or prepare what these bring; a bare `error` object comes from gateways.
        if (event["error"] && !type.startsWith("response.")) throw new ProviderError(event["error"]);
    }
  },

  whole: (state, answer, emit) => {
    if (!isRecord(answer)) throw new Malformed("the answer is not a JSON object");
    const problem = errorIn(answer);
    if (problem) throw problem;
    if (!Array.isArray(answer["output"]))
      throw new Malformed("the answer has no `output`: it does not look like the Responses protocol");
    takeEnd(state, answer, `response.${typeof answer["status"] === "string" ? answer["status"] : "completed"}`);
    for (const item of itemsOf(state)) {
      const reasoning = reasoningText(item);
      if (reasoning !== "") emit({ type: "reasoning", delta: reasoning });
      if (item["type"] === "message") state.said.push(messageText(item));
    }
  },

  // A call that is whole can be run; after a text, a call may be missing.
  ended: ({ items }) => items.at(-1)?.item["type"] === "function_call" && items.every((entry) => !entry || entry.done),

  finished: (state) => state.finish !== undefined,
  complete: (state) => state.finish !== undefined,

  reply: (state): Reply => {
    state.said.close();
    const cut = isCut(state.finish);
    const items: Json[] = [];
    const toolCalls: ToolCall[] = [];
    const taken = new Set<string>();
    let text = "";
    const reasoning: string[] = [];
    for (const item of itemsOf(state)) {
      if (item["type"] === "function_call") {
        const call = toolCall(item, taken);
        if (cut && !isWholeJson(call.arguments)) continue;
        toolCalls.push(call);
        items.push(item["call_id"] === call.id ? item : { ...item, call_id: call.id });
        continue;
      }
      if (item["type"] === "message") text += messageText(item);
      const words = reasoningText(item);
      if (words !== "") reasoning.push(words);
      items.push(item);
    }
    // A reasoning item must be followed by what it led to, or the next request is refused.
    while (items.at(-1)?.["type"] === "reasoning") items.pop();
    return replyOf({ text, reasoning, items, toolCalls }, state);
  },
};

function fresh(emit: Emit): ResponsesState {
  return {
    items: [],
    final: undefined,
    finish: undefined,
    usage: undefined,
    summaryParts: 0,
    said: new AnswerText(emit),
  };
}

interface ResponsesState {
  /** By output index, as far as they have been streamed. */
  items: (StreamedItem | undefined)[];
  /** The items of the closing event, where it has them. */
  final: readonly Json[] | undefined;
  finish: Finish | undefined;
  usage: ReportedUsage | undefined;
  summaryParts: number;
  /** As it is shown; what counts in the end are the items. */
  said: AnswerText;
}

interface StreamedItem {
  item: Json;
  done: boolean;
  text: GrowingText;
  readonly reasoning: GrowingText;
  arguments: GrowingText;
}

function slot(state: ResponsesState, event: Json, type: string): StreamedItem {
  const id = event["item_id"];
  const given = event["output_index"];
  // Some servers give every item the same index, others every event its own id.
  let at = typeof id === "string" ? state.items.findIndex((known) => known?.item["id"] === id) : -1;
  if (at < 0 && typeof given === "number" && Number.isInteger(given) && given >= 0 && given < MOST_PARTS) at = given;
  if (at < 0) at = state.items.findLastIndex((known) => known?.item["type"] === type && !known.done);
  if (at < 0) at = state.items.length;
  const found = state.items[at];
  if (found) return found;
  checkParts(at + 1, "items");
  return (state.items[at] = streamed({ type }));
}

function streamed(item: Json): StreamedItem {
  const [text, reasoning, args] = [new GrowingText(), new GrowingText(), new GrowingText()];
  return { item, done: false, text, reasoning, arguments: args };
}

function takeText(state: ResponsesState, event: Json): StreamedItem | undefined {
  const { delta } = event;
  if (typeof delta !== "string" || delta === "") return undefined;
  const place = slot(state, event, "message");
  place.text.add(delta);
  state.said.push(delta);
  return place;
}

/** The whole text of a place that had no deltas. */
function takeLateText(state: ResponsesState, event: Json, text: unknown): void {
  if (slot(state, event, "message").text.length === 0) takeText(state, { ...event, delta: text });
}

function takeReasoning(state: ResponsesState, event: Json, emit: Emit): void {
  const { delta } = event;
  if (typeof delta !== "string" || delta === "") return;
  slot(state, event, "reasoning").reasoning.add(delta);
  emit({ type: "reasoning", delta });
}

function takeArguments(state: ResponsesState, event: Json): void {
  const call = slot(state, event, "function_call");
  if (typeof event["delta"] === "string") call.arguments.add(event["delta"]);
  else if (typeof event["arguments"] === "string") call.arguments = new GrowingText(event["arguments"]);
  if (!call.item["name"] && event["name"]) call.item = { ...call.item, name: event["name"] };
}

function takeItem(state: ResponsesState, event: Json, done: boolean, emit: Emit): void {
  const { item } = event;
  if (!isRecord(item)) return;
  const type = typeof item["type"] === "string" ? item["type"] : "message";
  const at = { output_index: event["output_index"], item_id: item["id"] };
  const place = isNew(state, at, done) ? opened(state, item) : slot(state, at, type);
  place.item = item;
  place.done = done;
  if (!done) return;
  const whole = messageText(item);
  if (type === "message") {
    takeLateText(state, at, whole);
    // Kept once, not in addition to its deltas.
    if (whole !== "") place.text = new GrowingText(whole);
    state.said.share(whole);
  } else if (type === "reasoning" && place.reasoning.length === 0)
    takeReasoning(state, { ...at, delta: reasoningText(item) }, emit);
}

/** An item that opens the next place: without an index, or with that of one that is over. */
function isNew(state: ResponsesState, { output_index: index, item_id: id }: Json, done: boolean): boolean {
  const over = typeof index === "number" && state.items[index]?.done === true;
  if (!done) return over || typeof index !== "number";
  return over && typeof id === "string" && !state.items.some((known) => known?.item["id"] === id);
}

function opened(state: ResponsesState, item: Json): StreamedItem {
  const entry = streamed(item);
  checkParts(state.items.push(entry), "items");
  return entry;
}

function takeEnd(state: ResponsesState, raw: unknown, type: string): void {
  const response = isRecord(raw) ? raw : {};
  const said = typeof response["status"] === "string" ? `response.${response["status"]}` : type;
  const status = type === "response.done" || /\.(failed|incomplete)$/.test(said) ? said : type;
  if (status === "response.failed")
    throw new ProviderError(response["error"] ?? "the provider reports a failed response");
  if (Array.isArray(response["output"])) state.final = response["output"].filter(isRecord);
  const { output_text: text } = response;
  if (state.final?.length === 0 && state.items.length === 0 && typeof text === "string")
    state.final = [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }];
  if (itemsOf(state) === state.final) state.items = [];
  state.usage = usageIn(response) ?? state.usage;
  const details = response["incomplete_details"];
  const why = isRecord(details) ? details["reason"] : undefined;
  if (status === "response.incomplete") state.finish = why === "content_filter" ? "content-filter" : "length";
  else state.finish = "stop";
}

/** The closing event may repeat all items, some, or none (the login endpoint): the fuller list counts. */
function itemsOf({ items, final }: ResponsesState): readonly Json[] {
  const streamed = items.filter((entry) => entry !== undefined);
  if (final && final.length >= streamed.length) return final;
  return streamed.map((entry) => (entry.done && !isHollow(entry) ? entry.item : assembled(entry)));
}

/** The closing event of an item without what its deltas brought. */
function isHollow({ item, text, arguments: args }: StreamedItem): boolean {
  return item["type"] === "function_call"
    ? !item["arguments"] && args.length > 0
    : item["type"] === "message" && text.length > 0 && messageText(item) === "";
}

/** Nothing is missing where the closing event of a response never came. */
function isWhole(entry: StreamedItem | undefined): boolean {
  return (
    entry === undefined ||
    entry.done ||
    (entry.item["type"] === "function_call" ? isWholeJson(entry.arguments.toString()) : entry.text.length > 0)
  );
}

/** An item whose `done` event never came, or came without its contents, from its deltas. */
function assembled({ item, text, reasoning, arguments: args }: StreamedItem): Json {
  switch (item["type"]) {
    case "message":
      return { ...item, role: "assistant", content: [{ type: "output_text", text: text.toString(), annotations: [] }] };
    case "function_call":
      return args.length === 0 ? item : { ...item, arguments: args.toString() };
    case "reasoning":
      return reasoning.length === 0 || reasoningText(item) !== ""
        ? { summary: [], ...item }
        : { ...item, summary: [{ type: "summary_text", text: reasoning.toString() }] };
    default:
      return item;
  }
}

function toolCall(item: Json, taken: Set<string>): ToolCall {
  const given = item["call_id"] ?? item["id"];
  const text = item["arguments"];
  return {
    id: uniqueId(typeof given === "string" ? given : undefined, taken),
    name: nameOf(item),
    arguments: typeof text === "string" ? text : isRecord(text) ? JSON.stringify(text) : "",
  };
}

function nameOf(item: Json): string {
  return typeof item["name"] === "string" ? item["name"] : "";
}

function messageText(item: Json): string {
  const { content } = item;
  if (!Array.isArray(content)) return textOf(content);
  return content
    .map((part) => (isRecord(part) && typeof part["refusal"] === "string" ? part["refusal"] : textOf([part])))
    .join("");
}

function reasoningText(item: Json): string {
  if (item["type"] !== "reasoning") return "";
  const summary = Array.isArray(item["summary"]) ? item["summary"].map((part) => textOf([part])) : [];
  return summary.length > 0 ? summary.join("\n\n") : textOf(item["content"]);
}

// ── The body of a Responses request: instructions, items in order, and what the server is asked to include.

/** The input comes last: what does not change from request to request precedes what grows. */
function responsesBody(request: ModelRequest, settings: BodySettings): object {
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
