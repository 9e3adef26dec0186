/**
 * What a wire protocol is: a body builder, and a fold over parsed stream events that does no input or output of its
 * own.
 */
import { collectAfter } from "../../lib/large-texts.ts";
import { isRecord } from "../../lib/values.ts";
import type { Adjustment } from "../adjustments.ts";
import { Malformed, ProviderError } from "../provider-error.ts";
import type { Dialect } from "../endpoint.ts";
import type { AnswerText } from "./answer-text.ts";
import type { AssistantMessage, ImagePart, ModelEvent, ModelRequest, Usage } from "../types.ts";

export interface Protocol<State extends AnswerState = AnswerState> {
  /** Below the base URL. */
  readonly path: string;
  body(request: ModelRequest, settings: BodySettings): object;
  begin(emit: Emit): State;
  /**
   * One parsed event; `name` is the SSE event name, "" when there was none. Throws a ProviderError for an error event.
   */
  step(state: State, event: unknown, name: string, emit: Emit): void;
  /** An answer that came as one JSON document. */
  whole(state: State, answer: unknown, emit: Emit): void;
  /** The server said that it is finished; what follows can only be usage. */
  finished(state: State): boolean;
  /** Whether a body that ended without the closing event is complete nevertheless. */
  ended?(state: State): boolean;
  /** Everything has come, usage too: there is nothing more to read. */
  complete(state: State): boolean;
  /** Events after the end may begin another answer that takes its place; the protocol ignores all others itself. */
  readonly restarts?: boolean;
  reply(state: State): Reply;
}

/** What every protocol keeps of an answer while it arrives. */
export interface AnswerState {
  readonly said: AnswerText;
}

export type Emit = (event: Extract<ModelEvent, { type: "text" | "reasoning" | "discard" }>) => void;

/** What `step` gets for `data: [DONE]`. */
export const DONE: unique symbol = Symbol("[DONE]");

export interface BodySettings {
  readonly model: string;
  readonly stream: boolean;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly reasoningEffort?: string | undefined;
  /** Catalog: the model reasons. undefined: not known. */
  readonly reasoning?: boolean | undefined;
  /** Catalog: the longest answer, for a protocol that requires a limit. */
  readonly maxOutput?: number | undefined;
  readonly dialect: Dialect;
  /** What this server has refused before, and the shapes it wants. */
  readonly adjusted: ReadonlySet<Adjustment>;
  /** What was made of a message or tool for an earlier request with the same settings, or is made now. */
  once<K extends object, V extends object>(key: K, make: (key: K) => V): V;
}

export interface Reply {
  readonly message: AssistantMessage;
  readonly usage: ReportedUsage | undefined;
  readonly finish: Finish;
  /** The model wrote a tool call as text; it was taken out and is not run. */
  readonly writtenCall?: boolean;
}

export type Finish = Extract<ModelEvent, { type: "done" }>["finish"];

/** Counts as the server gave them, and the cost that some gateways report; absent ones are estimated. */
export type ReportedUsage = { readonly [Count in Exclude<keyof Usage, "estimated">]?: number | undefined };

export type Json = Record<string, unknown>;

export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (isRecord(value)) return typeof value["text"] === "string" ? value["text"] : "";
  if (!Array.isArray(value)) return "";
  return value
    .map((part) =>
      typeof part === "string" ? part : isRecord(part) && typeof part["text"] === "string" ? part["text"] : "",
    )
    .join("");
}

/** Why the answer ended, in any provider's words; throws where that is an error. */
export function finishOf(reason: unknown): Finish | undefined {
  if (typeof reason !== "string" || reason === "") return undefined;
  const word = reason.toLowerCase().replaceAll("-", "_");
  // Nearly always; no pattern has to be compiled for it.
  if (word === "stop") return "stop";
  if (/^(stop|end|eos|completed?|done|finish(ed)?)(_(of_)?(turn|token|sequence|text|message))?$/.test(word))
    return "stop";
  if (/^(tool_calls?|function_calls?|tool_use|tool)$/.test(word)) return "tool-calls";
  if (/length|max_(output_|completion_|new_)?tokens|token_limit|repetition/.test(word)) return "length";
  if (/context/.test(word))
    throw new ProviderError({ code: "context_length_exceeded", message: `the answer ended with "${reason}"` });
  if (/malformed|unexpected_tool/.test(word))
    throw new ProviderError({ code: "malformed_function_call", message: `the answer ended with "${reason}"` });
  if (
    /filter|safety|sensitive|refusal|policy|prohibited|blocklist|recitation|spii|toxic|moderation|guardrail/.test(word)
  )
    return "content-filter";
  if (/error|insufficient_system_resource|overload|network|abort|cancel|fail|timeout|unavailable/.test(word))
    throw new ProviderError({ code: "server_error", message: `the provider ended the answer with "${reason}"` });
  return "other";
}

/** Cut off by a limit or a filter: the last call may be incomplete. */
export function isCut(finish: Finish | undefined): boolean {
  return finish === "length" || finish === "content-filter";
}

/** Servers announce calls that they do not send, and do not announce those that they send. */
export function finishWith(calls: readonly object[], finish: Finish = "stop"): Finish {
  if (calls.length > 0) return isCut(finish) ? finish : "tool-calls";
  return finish === "tool-calls" ? "stop" : finish;
}

/** Token counts in every spelling: chat completions, Anthropic's, Groq's own place, the timings of llama.cpp. */
export function usageIn(event: Json): ReportedUsage | undefined {
  const groq = isRecord(event["x_groq"]) ? event["x_groq"]["usage"] : undefined;
  const usage = [event["usage"], groq].find(isRecord);
  const timings = isRecord(event["timings"]) ? event["timings"] : undefined;
  if (usage === undefined) {
    if (timings === undefined) return undefined;
    const cached = count(timings["cache_n"]) ?? 0;
    const read = count(timings["prompt_n"]);
    return unlessZero({
      input: read === undefined ? undefined : read + cached,
      output: count(timings["predicted_n"]),
      cached,
    });
  }
  const input = details(usage, "prompt_tokens_details", "input_tokens_details");
  const output = details(usage, "completion_tokens_details", "output_tokens_details");
  const prompt = count(usage["prompt_tokens"]) ?? count(usage["prompt_eval_count"]);
  const read = count(usage["cache_read_input_tokens"]);
  const written = count(usage["cache_creation_input_tokens"]) ?? 0;
  const plain = count(usage["input_tokens"]);
  return unlessZero({
    // Anthropic counts what came from its cache apart from the rest of the input.
    input: prompt ?? (plain === undefined ? undefined : input === NONE ? plain + (read ?? 0) + written : plain),
    output: count(usage["completion_tokens"]) ?? count(usage["output_tokens"]) ?? count(usage["eval_count"]),
    cached:
      count(input["cached_tokens"]) ??
      count(usage["prompt_cache_hit_tokens"]) ??
      count(usage["num_cached_tokens"]) ??
      read ??
      count(usage["cached_tokens"]),
    reasoning: count(output["reasoning_tokens"]) ?? count(usage["reasoning_tokens"]),
    costUsd: count(usage["cost"]) ?? count(usage["total_cost"]),
  });
}

const NONE: Json = {};

function details(usage: Json, ...names: readonly string[]): Json {
  return names.map((name) => usage[name]).find(isRecord) ?? NONE;
}

/** Nothing but zeros counts as no report. */
function unlessZero(usage: ReportedUsage): ReportedUsage | undefined {
  return usage.input || usage.output ? usage : undefined;
}

export function count(given: unknown): number | undefined {
  const value = typeof given === "string" && /^\d+$/.test(given) ? Number(given) : given;
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** An answer of more parts comes from a broken server, and might have as many calls run. */
export function checkParts(count: number, what: string): void {
  if (count > MOST_PARTS) throw new Malformed(`the answer has more than ${MOST_PARTS} ${what}`);
}

export const MOST_PARTS = 4096;

/** Whether a tool call's arguments are complete: a cut object never parses. */
export function isWholeJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  } finally {
    collectAfter(text.length);
  }
}

/** Results are matched to calls by id, so each call of a turn needs one of its own. */
export function uniqueId(wanted: string | undefined, taken: Set<string>): string {
  let id = wanted || `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
  for (let copy = 2; taken.has(id); copy++) id = `${wanted}-${copy}`;
  taken.add(id);
  return id;
}

/** The name of a call as it may be sent back: a server refuses a whole conversation for one odd name. */
export function wireName(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : name.replace(/[^\w-]/g, "_").slice(0, 64) || "unnamed";
}

export function wireArguments(text: string, adjusted: ReadonlySet<Adjustment>): string {
  return text.trim() === "" || (adjusted.has("broken_arguments") && !isWholeJson(text)) ? "{}" : text;
}

export function dataUrl({ type, data }: ImagePart): string {
  return `data:${type};base64,${data}`;
}
