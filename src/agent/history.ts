/**
 * The messages in order, how much of the window they take, and the rule that every tool call has exactly
 * one result.
 */
import type { AssistantMessage, Message, ToolCall, Usage } from "../model/types.ts";
import { estimateTokens } from "../model/usage.ts";
import { summaryMessage } from "./events.ts";
import { collectAfter } from "../lib/large-texts.ts";
import { isRecord, jsonObject } from "../lib/values.ts";

export class History {
  #messages: Message[] = [];
  /** Tokens that the provider counted before message `#measuredUpTo`, system prompt and tools included. */
  #measured = 0;
  #measuredUpTo = 0;
  readonly #callIds = new Set<string>();

  /** Every tool call id ever used here. */
  get callIds(): ReadonlySet<string> {
    return this.#callIds;
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  add(...messages: readonly Message[]): void {
    for (const message of messages) {
      this.#messages.push(message);
      if (message.role === "assistant") for (const call of message.toolCalls) this.#callIds.add(call.id);
    }
  }

  /** Tokens the next request takes; `fixed` estimates system prompt and tools for as long as nothing was measured. */
  tokens(fixed: number): number {
    const rest = estimateTokens(this.#messages.slice(this.#measuredUpTo));
    return (this.#measuredUpTo === 0 ? fixed : this.#measured) + rest;
  }

  /** The provider counted what the request and its answer took; the answer is the last message or not yet added. */
  measure(usage: Usage, upTo: number): void {
    if (usage.estimated) return;
    this.#measured = usage.input + usage.output;
    this.#measuredUpTo = upTo;
  }

  /** Replaces the first `count` messages with a summary. */
  compact(count: number, summary: string): void {
    this.#messages.splice(0, count, summaryMessage(summary));
    this.#measuredUpTo = 0;
  }

  restore(messages: readonly Message[]): void {
    this.#messages = [];
    this.#callIds.clear();
    this.add(...messages);
    this.#measuredUpTo = 0;
  }
}

/**
 * Prepares a message to be sent back: every call gets its own id (models send empty and repeated ones) and
 * arguments that are JSON (servers that parse them refuse the whole request otherwise).
 */
export function repairCalls(message: AssistantMessage, used: ReadonlySet<string>): AssistantMessage {
  const own = new Set<string>();
  let changed = false;
  const toolCalls = message.toolCalls.map((call): ToolCall => {
    const id = uniqueId(call.id, (one) => used.has(one) || own.has(one));
    own.add(id);
    const args = sendableArguments(call.arguments);
    if (id === call.id && args === call.arguments) return call;
    changed = true;
    return { ...call, id, arguments: args };
  });
  if (!changed) return message;
  return {
    ...message,
    toolCalls,
    ...(message.items === undefined ? {} : { items: repairItems(message.items, toolCalls) }),
  };
}

function uniqueId(id: string, isTaken: (id: string) => boolean): string {
  const base = id.trim() === "" ? "call" : id;
  if (base === id && !isTaken(id)) return id;
  let number = 2;
  while (isTaken(`${base}_${number}`)) number++;
  return `${base}_${number}`;
}

/** No arguments: an empty object, as tools expect. */
function sendableArguments(text: string): string {
  if (text.trim() === "" || text.trim() === "null") return "{}";
  return isJsonObject(text) ? text : JSON.stringify({ invalid_json: text });
}

function isJsonObject(text: string): boolean {
  const value = jsonObject(text);
  collectAfter(text.length);
  return value !== undefined;
}

/** The Responses protocol sends output items back as they came: the same repair there, in call order. */
function repairItems(items: readonly unknown[], calls: readonly ToolCall[]): unknown[] {
  let next = 0;
  return items.map((item) => {
    if (!isRecord(item) || item.type !== "function_call") return item;
    const call = calls[next++];
    return call === undefined ? item : { ...item, call_id: call.id, arguments: call.arguments };
  });
}
