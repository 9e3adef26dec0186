/** Tokens and money: what the server counted, a guess where it did not, and how full the window is. */
import { textIn } from "../lib/values.ts";
import type { ReportedUsage } from "./protocols/protocol.ts";
import type { AssistantMessage, Message, ModelRequest, ToolDefinition, Usage } from "./types.ts";

export function usageOf(
  reported: ReportedUsage | undefined,
  request: ModelRequest,
  message: AssistantMessage,
  info: Prices,
): Usage {
  // Some servers send the fields with nothing but zeros in them.
  const given = reported && (reported.input || reported.output) ? reported : undefined;
  const input = given?.input ?? estimateTokens(request.messages, request.tools);
  const output = given?.output ?? estimateMessage(message);
  const usage = {
    input,
    output,
    cached: Math.min(given?.cached ?? 0, input),
    reasoning: given?.reasoning ?? 0,
    estimated: given?.input === undefined || given.output === undefined,
  };
  const costUsd = given?.costUsd ?? costOf(usage, info);
  return costUsd === undefined ? usage : { ...usage, costUsd };
}

/** At the catalog's list price; cached input is counted in full where no price for it is known. */
export function costOf(
  { input, output, cached = 0 }: Pick<Usage, "input" | "output"> & Partial<Pick<Usage, "cached">>,
  { priceIn, priceOut, priceCached = priceIn }: Prices,
): number | undefined {
  if (priceIn === undefined || priceOut === undefined || priceCached === undefined) return undefined;
  return ((input - cached) * priceIn + cached * priceCached + output * priceOut) / 1e6;
}

/** USD per million tokens. */
interface Prices {
  readonly priceIn?: number | undefined;
  readonly priceOut?: number | undefined;
  readonly priceCached?: number | undefined;
}

const CHARS_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 4;
/** About what a screenshot takes. */
const IMAGE_TOKENS = 1_500;

/** About 4 characters a token and 4 tokens a message. Each message is measured once, so a long history stays cheap. */
export function estimateTokens(messages: readonly Message[], tools: readonly ToolDefinition[] = []): number {
  let tokens = estimateTools(tools);
  for (const message of messages) tokens += estimateMessage(message);
  return tokens;
}

const measured = new WeakMap<object, number>();

function estimateMessage(message: Message): number {
  return remembered(message, () => {
    let chars = message.content?.length ?? 0;
    if ("images" in message) chars += (message.images?.length ?? 0) * IMAGE_TOKENS * CHARS_PER_TOKEN;
    if (message.role === "assistant") {
      for (const call of message.toolCalls) chars += call.name.length + call.arguments.length;
      if (message.extra) chars += textIn(message.extra);
      if (message.items) chars += itemChars(message.items);
    }
    return Math.ceil(chars / CHARS_PER_TOKEN) + TOKENS_PER_MESSAGE;
  });
}

/** Of the items only reasoning is not already counted as text or tool call. */
function itemChars(items: readonly unknown[]): number {
  let chars = 0;
  for (const item of items) {
    const { type } = item as { type?: unknown };
    if (type === "reasoning") chars += textIn(item);
  }
  return chars;
}

function estimateTools(tools: readonly ToolDefinition[]): number {
  if (tools.length === 0) return 0;
  return remembered(tools, () => Math.ceil(JSON.stringify(tools).length / CHARS_PER_TOKEN));
}

function remembered(key: object, compute: () => number): number {
  const known = measured.get(key);
  if (known !== undefined) return known;
  const value = compute();
  measured.set(key, value);
  return value;
}

const WARN_AT = 0.8;
const COMPACT_AT = 0.9;

interface WindowUse {
  /** 0 … 1 and beyond. */
  readonly fraction: number;
  readonly state: "ok" | "warn" | "compact";
}

export function windowUse(usedTokens: number, contextLimit: number): WindowUse {
  const fraction = contextLimit > 0 ? usedTokens / contextLimit : 1;
  return { fraction, state: fraction >= COMPACT_AT ? "compact" : fraction >= WARN_AT ? "warn" : "ok" };
}

/** The sentence for a window that is filling up, or undefined below 80 %. */
export function windowWarning(usedTokens: number, contextLimit: number): string | undefined {
  const { fraction, state } = windowUse(usedTokens, contextLimit);
  if (state === "ok") return undefined;
  return `${Math.floor(fraction * 100)} % of the model's context window is used (about ${usedTokens} of ${contextLimit} tokens)`;
}
