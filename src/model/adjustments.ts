/** How the next request must differ after a server refused this one: what to leave out, or how to shape the history. */
import { once, isRecord } from "../lib/values.ts";
import type { ModelError } from "./errors.ts";
import type { Json } from "./protocols/protocol.ts";
import type { ToolDefinition } from "./types.ts";

/**
 * Parameters are left out one at a time, and only those that were sent; the answer is poorer, not wrong. Shapes of the
 * history are learnt where the address and the model did not show whose rules apply.
 */
export type Adjustment =
  | Parameter
  /** Unknown fields of assistant messages. */
  | "message_extra"
  | "reasoning_items"
  /** Tool-call arguments in the history that are not JSON. */
  | "broken_arguments"
  | Shape;

/** What may be missing from a request. */
type Parameter =
  | "stream"
  | "stream_options"
  | "temperature"
  | "top_p"
  | "reasoning_effort"
  | "reasoning_summary"
  | "include"
  | "response_format"
  | "max_tokens"
  | "parallel_tool_calls"
  | "prompt_cache_key"
  | "cache_control"
  | "thinking"
  | "images";

/** Rules of a provider that are switched on. */
export type Shape =
  /** `max_completion_tokens` in place of `max_tokens`. */
  | "max_completion_tokens"
  /** Tool-call ids of nine letters and digits (Mistral). */
  | "short_ids"
  /** An assistant message between a tool result and a user message (Mistral). */
  | "assistant_after_tool"
  /** `reasoning_content` on every assistant message (DeepSeek, Kimi). */
  | "echo_reasoning"
  /** Neighbouring messages of one role become one. */
  | "alternate_roles"
  /** The system prompt opens the first user message. */
  | "no_system_role"
  /** A thought signature on every tool call (Gemini). */
  | "thought_signatures"
  /** Schemas of tools without limits and choices. */
  | "bare_schemas"
  /** A stream, although the profile wants none. */
  | "stream_only";

/** The adjustment to make, or undefined when none can help. `body` is what was sent. */
export function adjustmentFor(error: ModelError, made: ReadonlySet<Adjustment>, body: Json): Adjustment | undefined {
  if (!REFUSALS.has(error.reason)) return undefined;
  if (error.status !== undefined && ![400, 403, 404, 415, 422, 500, 501].includes(error.status)) return undefined;
  // What a server lists as known is not what it refuses.
  const text = [...error.providerParams, error.providerText].join(" \n").replace(/, expected (one of )?[`'"].*/g, "");
  const named = error.providerParams.map((param) => namedBy(param, body)).find((name) => name && !made.has(name));
  if (named !== undefined && !shapes().some(([, pattern]) => pattern.test(text))) return named;
  for (const [adjustment, pattern] of shapes()) {
    if (adjustment === "bare_schemas" && !hasLimits(body)) continue;
    if (adjustment === "stream_only" && "stream" in body) continue;
    if (!made.has(adjustment) && pattern.test(text)) return adjustment;
  }
  for (const [parameter, pattern] of parameters()) {
    if (!made.has(parameter) && isSent(parameter, body) && pattern.test(text)) return parameter;
  }
  return undefined;
}

/** Whether the schemas of the tools use keywords that not every server knows. */
function hasLimits({ tools }: Json): boolean {
  return /"(additionalProperties|anyOf|(min|max)\w+|pattern|format|default)":/.test(JSON.stringify(tools) ?? "");
}

const REFUSALS: ReadonlySet<ModelError["reason"]> = new Set(["refused", "parameter", "unknown-model", "not-found"]);

/** The parameter of that name, if it was sent. */
function namedBy(param: string, body: Json): Parameter | undefined {
  const parameter = NAMES[param.replace(/^body\./, "").replace(/\[.*$/, "")];
  return parameter !== undefined && isSent(parameter, body) ? parameter : undefined;
}

const NAMES: Readonly<Record<string, Parameter>> = {
  stream: "stream",
  stream_options: "stream_options",
  "stream_options.include_usage": "stream_options",
  temperature: "temperature",
  top_p: "top_p",
  reasoning_effort: "reasoning_effort",
  "reasoning.effort": "reasoning_effort",
  output_config: "reasoning_effort",
  "output_config.effort": "reasoning_effort",
  "reasoning.summary": "reasoning_summary",
  include: "include",
  response_format: "response_format",
  text: "response_format",
  "text.format": "response_format",
  max_tokens: "max_tokens",
  max_completion_tokens: "max_tokens",
  max_output_tokens: "max_tokens",
  parallel_tool_calls: "parallel_tool_calls",
  prompt_cache_key: "prompt_cache_key",
  thinking: "thinking",
};

function isSent(parameter: Parameter, body: Json): boolean {
  const reasoning = (body["reasoning"] ?? {}) as Json;
  switch (parameter) {
    case "reasoning_effort":
      return "reasoning_effort" in body || "effort" in reasoning || "output_config" in body;
    case "reasoning_summary":
      return "summary" in reasoning;
    case "response_format":
      return "response_format" in body || "text" in body;
    case "max_tokens":
      return "max_tokens" in body || "max_completion_tokens" in body || "max_output_tokens" in body;
    case "cache_control":
      return JSON.stringify(body).includes('"cache_control":');
    case "images":
      return /"type":"(image_url|input_image|image)"/.test(JSON.stringify(body));
    case "stream":
    case "stream_options":
    case "temperature":
    case "top_p":
    case "include":
    case "parallel_tool_calls":
    case "prompt_cache_key":
    case "thinking":
      return parameter in body;
  }
}

const REFUSED =
  "(unsupported|unavailable|not (be )?(supported|allowed|permitted|available|recogni[sz]ed|enabled|implemented)|unknown|unrecogni[sz]ed|unexpected|extra (inputs|fields?)|out of range|invalid|do(es)?(n't| not) support|only (.* )?(supported|allowed)|only supports?|must be verified|cannot (both )?(be|specify|use)|(may|can) only be|too large|(must|should) be)";

/** What may be refused, in the words of many servers. */
export const PARAMETERS =
  "temperature|top_p|(reasoning[_.]?)?effort|output_config|(enable_)?thinking|parallel_tool_calls|stream_options|prompt_cache_key|response[_ ]format|max_(completion_|output_)?tokens";

/** The stream is wanted: "This model only support stream mode". */
export const STREAM_ONLY =
  "only supports? (the )?stream|\\bstream(ing)?['`\"]? (mode )?(must be (set to )?true|is (required|mandatory))|must have stream ?= ?true|(enable|requires?|must use|set) (the )?['`\"]?stream(ing)?\\b(?!.{0,20}(false|to generate))";

/** An image that this server cannot read: without it the conversation can continue. */
const BAD_IMAGE =
  "(invalid|unsupported|corrupt\\w*|cannot|could not|unable to|fail\\w* to|broken)\\b.{0,30}\\bimages?\\b|\\bimages?\\b[^.]{0,60}(exceeds?|too (large|big|small|many)|(is|are|was) (invalid|corrupt\\w*|malformed)|not valid)|only (supports? )?(one|\\d+) images?\\b|image_parse_error|invalid_image|image_too_large";

/** Both orders of "Unsupported parameter: 'x'" and "x is not supported", in one sentence: the next may list others. */
export function refusing(name: string): RegExp {
  const near = "(?:(?!\\.\\s).){0,120}?";
  return new RegExp(`${name}\\b${near}${REFUSED}|${REFUSED}${near}\\b${name}`, "is");
}

const shapes = once((): readonly (readonly [Adjustment, RegExp])[] => [
  [
    "echo_reasoning",
    /reasoning_content.{0,80}(must be|missing|required|passed back)|(missing|must(?! be satisfied)).{0,40}reasoning_content/is,
  ],
  ["short_ids", /(\b|_)id'?: string too long|tool call id.{0,80}(length of 9|a-z)|length (of )?9\b/i],
  ["assistant_after_tool", /(unexpected role|role) '?user'? after (role )?'?tool/i],
  ["alternate_roles", /roles must alternate|alternat\w+ (between )?(user|roles)|after the .{0,30}system message/i],
  [
    "no_system_role",
    /not support (the )?'?(system|developer)\b|(system|developer) (instruction|role|message)s? (is |are )?not (enabled|supported|allowed)|roles are supported, (but )?got '?system/i,
  ],
  ["thought_signatures", /missing a `?thought_?signature|thought_?signature.{0,40}(missing|required)/i],
  [
    "reasoning_items",
    /invalid_encrypted_content|encrypted[_ ]content\b(?!.{0,20}supported).{0,60}\b(not|cannot|invalid)\b|item (with id )?'?rs_\S+ (not found|of type)|without its required ('reasoning'|following|preceding)|(invalid|missing).{0,20}`?signature`? in `?thinking|thinking.{0,40}signature|thinking` or `?redacted_thinking/i,
  ],
  ["max_completion_tokens", /use ['`"]?max_completion_tokens/i],
  ["stream_only", new RegExp(STREAM_ONLY, "i")],
  [
    "bare_schemas",
    /json schema not supported|(?<!response_format[^]*)(in|not a )valid json ?schema|(error|fail\w*|invalid).{0,20} grammar|\bschema for (the )?(tool|function)|tool_?schema|\b(tools?|function)\b.{0,60}\bschema\b|invalid_function_parameters|(unknown name|invalid|unsupported).{0,80}\btools\[|\btools?\b\S*\.(parameters|input_schema)/i,
  ],
  [
    "message_extra",
    /^(?!.*(cache_control|image_url)).*?(?:messages[.[]\S*.{0,200}(unsupported|not permitted|unknown|unrecogni[sz]ed|additional|unexpected)|(unsupported|not permitted|unknown|unrecogni[sz]ed|additional|unexpected).{0,80}messages[.[]|\breasoning_(content|details)\b|field: 'messages)/is,
  ],
  [
    "broken_arguments",
    /arguments.{0,80}(json|pars|decod)|(json|pars|decod).{0,80}arguments|Expecting (value|property name)|Unterminated string/is,
  ],
]);

/** The more specific names come first. */
const parameters = once((): readonly (readonly [Parameter, RegExp])[] => [
  ["include", /encrypted content is not supported|reasoning\.encrypted_content/i],
  ["include", refusing("include")],
  ["prompt_cache_key", refusing("prompt_cache_key")],
  ["cache_control", refusing("cache_control")],
  ["parallel_tool_calls", refusing("parallel_tool_calls")],
  ["stream_options", refusing("stream_options")],
  ["max_tokens", /max_tokens: \d+ > \d+|maximum tokens you requested exceeds/i],
  ["max_tokens", refusing("(max_tokens|max_completion_tokens|max_output_tokens|maximum tokens)")],
  ["response_format", refusing("(response[_ ]format|text\\.format|json_schema|structured output)")],
  // A word like any other: only where it is a name.
  [
    "response_format",
    /['"`]text['"`]|(supplied|model|parameters?|arguments?|field):? text\b|(^|\s)text: |\btext is not /i,
  ],
  ["reasoning_summary", refusing("reasoning(\\.summary| summar(y|ies))")],
  ["top_p", refusing("top_p")],
  ["temperature", refusing("temperature")],
  ["thinking", refusing("thinking(\\.type)?")],
  [
    "reasoning_effort",
    refusing(
      "(output_config|effort( parameter)?|reasoning(\\.|_)?(effort)?|think(ing)?( (budget|level|value))?|budget 0)",
    ),
  ],
  ["images", refusing("(image|image_url|vision|multimodal)( input|s)?")],
  [
    "images",
    /support images?\b|variant `image|content\.type\b|image inputs?|mmproj|not a multimodal|image\(s\) may be/i,
  ],
  ["images", new RegExp(BAD_IMAGE, "i")],
  ["stream", refusing("stream(ing)?")],
]);

/** Without limits and choices; the tools check their arguments themselves. */
export function bareTools(tools: readonly ToolDefinition[]): ToolDefinition[] {
  return tools.map((tool) => ({ ...tool, parameters: bare(tool.parameters) }));
}

type Schema = Readonly<Record<string, unknown>>;

function bare(schema: Schema): Schema {
  const [choice] = Array.isArray(schema["anyOf"]) ? schema["anyOf"].filter(isRecord) : [];
  const { type, description, enum: values, required, items, properties } = { ...choice, ...schema } as Schema;
  return {
    type: (Array.isArray(type) ? type.find((one) => one !== "null") : type) ?? "string",
    ...(description !== undefined && { description }),
    ...(values !== undefined && { enum: values }),
    ...(isRecord(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, bare(isRecord(one) ? one : {})]),
      ),
    }),
    ...(required !== undefined && { required }),
    ...(isRecord(items) && { items: bare(items) }),
  };
}
