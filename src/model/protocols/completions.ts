/** Chat completions: `POST {base}/chat/completions`. */
import { isRecord } from "../../lib/is-record.ts";
import { errorIn, Malformed, ProviderError } from "../provider-error.ts";
import type { AssistantMessage } from "../types.ts";
import { completionsBody } from "./completions-body.ts";
import { mergeDelta } from "./deltas.ts";
import {
  DONE,
  count,
  textOf,
  type Emit,
  type Finish,
  type Json,
  type Protocol,
  type Reply,
  type ReportedUsage,
} from "./protocol.ts";
import { ToolCallSlots } from "./tool-call-slots.ts";

export const completions: Protocol<CompletionsState> = {
  path: "/chat/completions",
  body: completionsBody,

  begin: () => ({
    text: "",
    hasText: false,
    reasoning: "",
    extra: {},
    calls: new ToolCallSlots(),
    finish: undefined,
    usage: undefined,
    marker: false,
  }),

  step: (state, event, name, emit) => {
    if (event === DONE) {
      state.marker = true;
      return;
    }
    if (!isRecord(event)) return;
    if (name === "error") throw new ProviderError(event);
    const problem = errorIn(event);
    if (problem) throw problem;
    takeUsage(state, event["usage"]);
    const choice = firstChoice(event);
    if (!choice) return;
    if (choice["error"]) throw new ProviderError(choice["error"]);
    takeUsage(state, choice["usage"]);
    // A few servers put a whole `message` where a delta belongs.
    const delta = choice["delta"] ?? choice["message"];
    if (isRecord(delta)) takeDelta(state, delta, emit);
    takeFinish(state, choice["finish_reason"]);
  },

  onlyText: (event) => {
    if (!isRecord(event) || event["usage"] || event["error"] || !Array.isArray(event["choices"])) return undefined;
    const choice = event["choices"].length === 1 ? firstChoice(event) : undefined;
    if (!choice || choice["finish_reason"] || choice["error"] || choice["usage"] || !isRecord(choice["delta"]))
      return undefined;
    const { delta } = choice;
    for (const key in delta) if (key !== "content" && key !== "role") return undefined;
    return typeof delta["content"] === "string" ? delta["content"] : undefined;
  },

  text: (state, delta, emit) => {
    state.hasText = true;
    if (delta === "") return;
    state.text += delta;
    emit({ type: "text", delta });
  },

  whole: (state, answer, emit) => {
    if (!isRecord(answer)) throw new Malformed("the answer is not a JSON object");
    const problem = errorIn(answer);
    if (problem) throw problem;
    const choice = firstChoice(answer);
    if (!choice || !isRecord(choice["message"]))
      throw new Malformed("the answer has no `choices[0].message`: it does not look like chat completions");
    takeUsage(state, answer["usage"]);
    takeDelta(state, choice["message"], emit);
    takeFinish(state, choice["finish_reason"]);
    state.finish ??= "stop";
    state.marker = true;
  },

  finished: (state) => state.marker || state.finish !== undefined,
  complete: (state) => state.marker,

  reply: (state): Reply => {
    const cut = state.finish === "length" || state.finish === "content-filter";
    const toolCalls = state.calls.calls(cut);
    const message: AssistantMessage = {
      role: "assistant",
      content: state.text !== "" ? state.text : toolCalls.length > 0 || !state.hasText ? null : "",
      toolCalls,
      ...(state.reasoning !== "" && { reasoning: state.reasoning }),
      ...(Object.keys(state.extra).length > 0 && { extra: state.extra }),
    };
    const finish = toolCalls.length > 0 && !cut ? "tool-calls" : (state.finish ?? "stop");
    return { message, usage: state.usage, finish: finish === "tool-calls" && toolCalls.length === 0 ? "stop" : finish };
  },
};

export interface CompletionsState {
  text: string;
  hasText: boolean;
  reasoning: string;
  readonly extra: Json;
  readonly calls: ToolCallSlots;
  finish: Finish | undefined;
  usage: ReportedUsage | undefined;
  marker: boolean;
}

const HANDLED = new Set(["role", "content", "tool_calls", "refusal"]);
/** Readable reasoning under the names servers give it; each also goes back as an unknown field. */
const REASONING = ["reasoning_content", "reasoning", "thinking"] as const;

function firstChoice(event: Json): Json | undefined {
  const choices = event["choices"];
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isRecord(choice) ? choice : undefined;
}

function takeDelta(state: CompletionsState, delta: Json, emit: Emit): void {
  const { content } = delta;
  if (content !== undefined && content !== null) {
    completions.text?.(state, typeof content === "string" ? content : textOf(content), emit);
    if (Array.isArray(content)) takeThinking(state, content, emit);
  }
  for (const field of REASONING) {
    const piece = delta[field];
    if (typeof piece !== "string" || piece === "") continue;
    state.reasoning += piece;
    emit({ type: "reasoning", delta: piece });
    // Servers that give two of these names give the same words twice.
    break;
  }
  const { refusal } = delta;
  if (typeof refusal === "string" && refusal !== "") {
    state.text += refusal;
    emit({ type: "text", delta: refusal });
  }
  if (Array.isArray(delta["tool_calls"])) {
    for (const call of delta["tool_calls"]) {
      if (isRecord(call)) emit({ type: "tool-call", ...state.calls.add(call) });
    }
  }
  mergeDelta(state.extra, delta, HANDLED);
}

/** Mistral puts reasoning into the content, as parts of their own. */
function takeThinking(state: CompletionsState, parts: readonly unknown[], emit: Emit): void {
  for (const part of parts) {
    const delta = isRecord(part) && part["type"] === "thinking" ? textOf(part["thinking"]) : "";
    if (delta === "") continue;
    state.reasoning += delta;
    emit({ type: "reasoning", delta });
  }
}

function takeFinish(state: CompletionsState, reason: unknown): void {
  if (typeof reason !== "string" || reason === "") return;
  if (reason === "error") throw new ProviderError("the provider ended the answer with an error");
  state.finish = FINISH[reason] ?? "other";
}

const FINISH: Readonly<Record<string, Finish>> = {
  stop: "stop",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  length: "length",
  content_filter: "content-filter",
};

/** The last usage given counts: some servers send it with every chunk, growing. */
function takeUsage(state: CompletionsState, usage: unknown): void {
  if (!isRecord(usage)) return;
  const input = isRecord(usage["prompt_tokens_details"]) ? usage["prompt_tokens_details"] : {};
  const output = isRecord(usage["completion_tokens_details"]) ? usage["completion_tokens_details"] : {};
  state.usage = {
    input: count(usage["prompt_tokens"]),
    output: count(usage["completion_tokens"]),
    cached: count(input["cached_tokens"]) ?? count(usage["prompt_cache_hit_tokens"]) ?? count(usage["cached_tokens"]),
    reasoning: count(output["reasoning_tokens"]),
    costUsd: count(usage["cost"]),
  };
}
