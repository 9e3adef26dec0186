/** Responses: `POST {base}/responses`, always with `store: false`; reasoning travels encrypted inside the items. */
import { isRecord } from "../../lib/values.ts";
import { errorIn, Malformed, ProviderError } from "../provider-error.ts";
import type { AssistantMessage, ToolCall } from "../types.ts";
import { AnswerText, toldApart } from "./answer-text.ts";
import {
  DONE,
  isWholeJson,
  textOf,
  uniqueId,
  usageIn,
  type Emit,
  type Finish,
  type Json,
  type Protocol,
  type Reply,
  type ReportedUsage,
} from "./protocol.ts";
import { responsesBody } from "./responses-body.ts";

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
        return takeArguments(state, event, emit);
      case "response.completed":
      case "response.done":
      case "response.incomplete":
      case "response.failed":
        return takeEnd(state, event["response"], type);
      case "error":
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

  // A call that is whole can be run; a text may have been about to lead to one.
  ended: ({ items }) => items.at(-1)?.item["type"] === "function_call" && items.every((entry) => !entry || entry.done),

  finished: (state) => state.finish !== undefined,
  complete: (state) => state.finish !== undefined,

  reply: (state): Reply => {
    const cut = state.finish === "length" || state.finish === "content-filter";
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
    state.said.end();
    const said = toldApart(text);
    if (said.reasoning !== "") reasoning.push(said.reasoning);
    // A reasoning item must be followed by what it led to, or the next request is refused.
    while (items.at(-1)?.["type"] === "reasoning") items.pop();
    const message: AssistantMessage = {
      role: "assistant",
      content: said.text === "" ? null : said.text,
      toolCalls,
      ...(reasoning.length > 0 && { reasoning: reasoning.join("\n\n") }),
      ...(items.length > 0 && { items }),
    };
    const finish = toolCalls.length > 0 && !cut ? "tool-calls" : (state.finish ?? "stop");
    return { message, usage: state.usage, finish, writtenCall: said.writtenCall && toolCalls.length === 0 };
  },
};

function fresh(emit: Emit): ResponsesState {
  const said = new AnswerText(emit);
  return { items: [], final: undefined, finish: undefined, usage: undefined, summaryParts: 0, said };
}

export interface ResponsesState {
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
  text: string;
  reasoning: string;
  arguments: string;
}

/**
 * More items than this in one answer are a broken server; also keeps a wild `output_index` from making a huge array.
 */
const MAX_ITEMS = 4096;

function slot(state: ResponsesState, event: Json, type: string): StreamedItem {
  const id = event["item_id"];
  const given = event["output_index"];
  // Some servers give every item the same index, others every event its own id.
  let at = typeof id === "string" ? state.items.findIndex((known) => known?.item["id"] === id) : -1;
  if (at < 0 && typeof given === "number" && Number.isInteger(given) && given >= 0 && given < MAX_ITEMS) at = given;
  if (at < 0) at = state.items.findLastIndex((known) => known?.item["type"] === type && !known.done);
  if (at < 0) at = state.items.length;
  const found = state.items[at];
  if (found) return found;
  const fresh: StreamedItem = { item: { type }, done: false, text: "", reasoning: "", arguments: "" };
  state.items[at] = fresh;
  return fresh;
}

function takeText(state: ResponsesState, event: Json): void {
  const { delta } = event;
  if (typeof delta !== "string" || delta === "") return;
  slot(state, event, "message").text += delta;
  state.said.push(delta);
}

/** The whole text of a place that had no deltas. */
function takeLateText(state: ResponsesState, event: Json, text: unknown): void {
  if (slot(state, event, "message").text === "") takeText(state, { ...event, delta: text });
}

function takeReasoning(state: ResponsesState, event: Json, emit: Emit): void {
  const { delta } = event;
  if (typeof delta !== "string" || delta === "") return;
  slot(state, event, "reasoning").reasoning += delta;
  emit({ type: "reasoning", delta });
}

function takeArguments(state: ResponsesState, event: Json, emit: Emit): void {
  const call = slot(state, event, "function_call");
  if (typeof event["delta"] === "string") call.arguments += event["delta"];
  else if (typeof event["arguments"] === "string") call.arguments = event["arguments"];
  if (!call.item["name"] && event["name"]) call.item = { ...call.item, name: event["name"] };
  emit({ type: "tool-call", name: nameOf(call.item), bytes: call.arguments.length });
}

function takeItem(state: ResponsesState, event: Json, done: boolean, emit: Emit): void {
  const { item } = event;
  if (!isRecord(item)) return;
  const type = typeof item["type"] === "string" ? item["type"] : "message";
  const at = { output_index: event["output_index"], item_id: item["id"] };
  const place = isNew(state, at, done) ? opened(state, item) : slot(state, at, type);
  place.item = item;
  place.done = done;
  if (type === "function_call") emit({ type: "tool-call", name: nameOf(item), bytes: place.arguments.length });
  if (!done) return;
  if (type === "message") takeLateText(state, at, messageText(item));
  else if (type === "reasoning" && place.reasoning === "")
    takeReasoning(state, { ...at, delta: reasoningText(item) }, emit);
}

/** An item that opens the next place: without an index, or with that of one that is over. */
function isNew(state: ResponsesState, { output_index: index, item_id: id }: Json, done: boolean): boolean {
  const over = typeof index === "number" && state.items[index]?.done === true;
  if (!done) return over || typeof index !== "number";
  return over && typeof id === "string" && !state.items.some((known) => known?.item["id"] === id);
}

function opened(state: ResponsesState, item: Json): StreamedItem {
  const entry = { item, done: false, text: "", reasoning: "", arguments: "" };
  state.items.push(entry);
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
  state.usage = usageIn(response) ?? state.usage;
  const details = response["incomplete_details"];
  const why = isRecord(details) ? details["reason"] : undefined;
  if (status === "response.incomplete") state.finish = why === "content_filter" ? "content-filter" : "length";
  else state.finish = "stop";
}

/** The closing event may repeat all items, some, or none (the login endpoint): the fuller list counts. */
function itemsOf(state: ResponsesState): readonly Json[] {
  const streamed: Json[] = [];
  for (const entry of state.items)
    if (entry) streamed.push(entry.done && !isHollow(entry) ? entry.item : assembled(entry));
  return state.final && state.final.length >= streamed.length ? state.final : streamed;
}

/** The closing event of an item without what its deltas brought. */
function isHollow({ item, text, arguments: args }: StreamedItem): boolean {
  return item["type"] === "function_call"
    ? !item["arguments"] && args !== ""
    : item["type"] === "message" && text !== "" && messageText(item) === "";
}

/** Nothing is missing where the closing event of a response never came. */
function isWhole(entry: StreamedItem | undefined): boolean {
  return (
    entry === undefined ||
    entry.done ||
    (entry.item["type"] === "function_call" ? isWholeJson(entry.arguments) : entry.text !== "")
  );
}

/** An item whose `done` event never came, or came without its contents, from its deltas. */
function assembled({ item, text, reasoning, arguments: args }: StreamedItem): Json {
  switch (item["type"]) {
    case "message":
      return { ...item, role: "assistant", content: [{ type: "output_text", text, annotations: [] }] };
    case "function_call":
      return args === "" ? item : { ...item, arguments: args };
    case "reasoning":
      return reasoning === "" || reasoningText(item) !== ""
        ? { summary: [], ...item }
        : { ...item, summary: [{ type: "summary_text", text: reasoning }] };
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
