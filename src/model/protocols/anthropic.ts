/** Anthropic Messages: `POST {base}/messages`; signed thinking travels inside the content blocks. */
import { isRecord } from "../../lib/values.ts";
import { errorIn, Malformed, ProviderError } from "../provider-error.ts";
import type { AssistantMessage, ToolCall } from "../types.ts";
import { anthropicBody } from "./anthropic-body.ts";
import { AnswerText, toldApart } from "./answer-text.ts";
import {
  DONE,
  finishOf,
  isWholeJson,
  uniqueId,
  usageIn,
  type Emit,
  type Finish,
  type Json,
  type Protocol,
  type Reply,
  type ReportedUsage,
} from "./protocol.ts";

export const anthropic: Protocol<AnthropicState> = {
  path: "/messages",
  body: anthropicBody,

  begin: (emit) => ({
    blocks: [],
    current: 0,
    usage: {},
    finish: undefined,
    stopped: false,
    said: new AnswerText(emit),
  }),

  step: (state, event, name, emit) => {
    if (event === DONE && state.blocks.length > 0) state.stopped = true;
    if (!isRecord(event) || state.stopped) return;
    const type = typeof event["type"] === "string" ? event["type"] : name;
    switch (type) {
      case "message_start": {
        const message = isRecord(event["message"]) ? event["message"] : {};
        return takeUsage(state, message);
      }
      case "content_block_start":
        return openBlock(state, event, emit);
      case "content_block_delta":
        return takeDelta(state, event, emit);
      case "message_delta": {
        takeUsage(state, event);
        const delta = isRecord(event["delta"]) ? event["delta"] : {};
        return takeFinish(state, delta["stop_reason"]);
      }
      case "message_stop":
        state.stopped = true;
        return;
      case "error":
        throw new ProviderError(event);
      default: {
        const problem = event["error"] ? errorIn(event) : undefined;
        if (problem) throw problem;
      }
    }
  },

  onlyText: (event) => {
    if (!isRecord(event) || event["type"] !== "content_block_delta" || !isRecord(event["delta"])) return undefined;
    const { type, text } = event["delta"];
    return type === "text_delta" && typeof text === "string" ? text : undefined;
  },

  text: (state, delta) => {
    const block = state.blocks[state.current];
    if (!block) return;
    block.text += delta;
    state.said.push(delta);
  },

  whole: (state, answer, emit) => {
    if (!isRecord(answer)) throw new Malformed("the answer is not a JSON object");
    const problem = errorIn(answer);
    if (problem) throw problem;
    const { content } = answer;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (!Array.isArray(blocks))
      throw new Malformed("the answer has no `content`: it does not look like Anthropic Messages");
    for (const [index, block] of blocks.entries())
      if (isRecord(block)) openBlock(state, { index, content_block: block }, emit);
    takeUsage(state, answer);
    takeFinish(state, answer["stop_reason"] ?? "end_turn");
    state.stopped = true;
  },

  finished: (state) => state.stopped || state.finish !== undefined,
  complete: (state) => state.stopped,

  reply: (state): Reply => {
    const cut = state.finish === "length" || state.finish === "content-filter";
    const items: Json[] = [];
    const toolCalls: ToolCall[] = [];
    const taken = new Set<string>();
    let text = "";
    const reasoning: string[] = [];
    for (const block of state.blocks) {
      if (!block) continue;
      const { type } = block.start;
      if (type === "tool_use") {
        const args = block.json !== "" ? block.json : JSON.stringify(block.start["input"] ?? {});
        if (cut && !isWholeJson(args)) continue;
        const id = uniqueId(typeof block.start["id"] === "string" ? block.start["id"] : undefined, taken);
        const name = typeof block.start["name"] === "string" ? block.start["name"] : "";
        toolCalls.push({ id, name, arguments: args });
        items.push({ type, id, name, input: isWholeJson(args) ? JSON.parse(args) : {} });
      } else if (type === "text") {
        text += block.text;
        if (block.text !== "") items.push({ ...block.start, text: block.text });
      } else if (type === "thinking") {
        if (block.text !== "") reasoning.push(block.text);
        items.push({ ...block.start, thinking: block.text, signature: block.signature });
      } else items.push(isWholeJson(block.json) ? { ...block.start, input: JSON.parse(block.json) } : block.start);
    }
    state.said.end();
    const said = toldApart(text);
    if (said.reasoning !== "") reasoning.push(said.reasoning);
    const message: AssistantMessage = {
      role: "assistant",
      content: said.text === "" ? null : said.text,
      toolCalls,
      ...(reasoning.length > 0 && { reasoning: reasoning.join("\n\n") }),
      ...(items.length > 0 && { items }),
    };
    const finish = toolCalls.length > 0 && !cut ? "tool-calls" : (state.finish ?? "stop");
    return {
      message,
      usage: state.usage,
      finish: finish === "tool-calls" && toolCalls.length === 0 ? "stop" : finish,
      writtenCall: said.writtenCall && toolCalls.length === 0,
    };
  },
};

export interface AnthropicState {
  /** By index; a wild one is not followed. */
  readonly blocks: (Block | undefined)[];
  /** The block that text belongs to. */
  current: number;
  usage: ReportedUsage;
  finish: Finish | undefined;
  stopped: boolean;
  /** As it is shown; what counts in the end are the blocks. */
  readonly said: AnswerText;
}

interface Block {
  readonly start: Json;
  text: string;
  json: string;
  signature: string;
}

const MAX_BLOCKS = 4096;

function openBlock(state: AnthropicState, event: Json, emit: Emit): void {
  const start = isRecord(event["content_block"]) ? event["content_block"] : {};
  const at = indexOf(state, event);
  const block: Block = {
    start,
    text: string(start["text"]) + string(start["thinking"]),
    json: "",
    signature: string(start["signature"]),
  };
  state.blocks[at] = block;
  state.current = at;
  if (start["type"] === "tool_use") emit({ type: "tool-call", name: string(start["name"]), bytes: 0 });
  else if (start["type"] === "text") state.said.push(block.text);
  else if (block.text !== "") emit({ type: "reasoning", delta: block.text });
}

function takeDelta(state: AnthropicState, event: Json, emit: Emit): void {
  const at = indexOf(state, event);
  const delta = isRecord(event["delta"]) ? event["delta"] : {};
  const type = typeof delta["type"] === "string" ? delta["type"] : "";
  // A server that leaves the opening event out still says what kind of block this is.
  const block = (state.blocks[at] ??= { start: { type: KINDS[type] ?? "text" }, text: "", json: "", signature: "" });
  state.current = at;
  switch (type) {
    case "text_delta":
    case "thinking_delta": {
      const piece = string(delta["text"]) + string(delta["thinking"]);
      if (piece === "") return;
      block.text += piece;
      return type === "text_delta" ? state.said.push(piece) : emit({ type: "reasoning", delta: piece });
    }
    case "signature_delta":
      block.signature += string(delta["signature"]);
      return;
    case "input_json_delta":
      block.json += isRecord(delta["partial_json"])
        ? JSON.stringify(delta["partial_json"])
        : string(delta["partial_json"]);
      return emit({ type: "tool-call", name: string(block.start["name"]), bytes: block.json.length });
    default:
  }
}

const KINDS: Readonly<Record<string, string>> = {
  thinking_delta: "thinking",
  signature_delta: "thinking",
  input_json_delta: "tool_use",
};

function indexOf(state: AnthropicState, event: Json): number {
  const { index } = event;
  if (typeof index === "number" && Number.isInteger(index) && index >= 0 && index < MAX_BLOCKS) return index;
  return "content_block" in event ? state.blocks.length : Math.max(0, state.blocks.length - 1);
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function takeFinish(state: AnthropicState, reason: unknown): void {
  state.finish = finishOf(reason) ?? state.finish;
}

/** Input comes with the first event, output with the last; what was read from or written to the cache is input too. */
function takeUsage(state: AnthropicState, event: Json): void {
  const usage = usageIn(event);
  if (usage === undefined) return;
  state.usage = {
    input: usage.input === undefined ? state.usage.input : Math.max(state.usage.input ?? 0, usage.input),
    output: usage.output ?? state.usage.output,
    cached: usage.cached ?? state.usage.cached,
    reasoning: usage.reasoning ?? state.usage.reasoning,
    costUsd: usage.costUsd ?? state.usage.costUsd,
  };
}
