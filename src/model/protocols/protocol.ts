/** What a wire protocol is: a body builder, and a fold over parsed stream events that does no input or output of its own. */
import { isRecord } from "../../lib/is-record.ts";
import type { Adjustment } from "../adjustments.ts";
import type { Dialect } from "../dialect.ts";
import type { AssistantMessage, ImagePart, ModelEvent, ModelRequest } from "../types.ts";

export interface Protocol<State = unknown> {
  /** Below the base URL. */
  readonly path: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Where the key goes, if not into `Authorization: Bearer`. */
  readonly keyHeader?: string;
  body(request: ModelRequest, settings: BodySettings): object;
  begin(): State;
  /** One parsed event; `name` is the SSE event name, "" when there was none. Throws a ProviderError for an error event. */
  step(state: State, event: unknown, name: string, emit: Emit): void;
  /** The text of an event that brings nothing else, and the same as `step` for it; see RepeatedText. */
  onlyText?(event: unknown): string | undefined;
  text?(state: State, delta: string, emit: Emit): void;
  /** An answer that came as one JSON document. */
  whole(state: State, answer: unknown, emit: Emit): void;
  /** The server said that it is finished; what follows can only be usage. */
  finished(state: State): boolean;
  /** Everything has been said, usage too: reading on brings nothing. */
  complete(state: State): boolean;
  reply(state: State): Reply;
}

export type Emit = (event: Extract<ModelEvent, { type: "text" | "reasoning" | "tool-call" }>) => void;

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
}

export interface Reply {
  readonly message: AssistantMessage;
  readonly usage: ReportedUsage | undefined;
  readonly finish: Finish;
}

export type Finish = Extract<ModelEvent, { type: "done" }>["finish"];

/** Counts as the server gave them; absent ones are estimated. */
export interface ReportedUsage {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cached?: number | undefined;
  readonly reasoning?: number | undefined;
  /** Some gateways say what it cost. */
  readonly costUsd?: number | undefined;
}

export type Json = Record<string, unknown>;

export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value.map((part) => (isRecord(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

export function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Whether a tool call's arguments are all there: a cut object never parses. */
export function isWholeJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Results are matched to calls by id, so each call of a turn needs one of its own. */
export function uniqueId(wanted: string | undefined, taken: Set<string>): string {
  let id = wanted || `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
  for (let copy = 2; taken.has(id); copy++) id = `${wanted}-${copy}`;
  taken.add(id);
  return id;
}

/** A tool call of the history as it may go back: a server refuses a whole conversation for one name it finds odd. */
export function wireName(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : name.replace(/[^\w-]/g, "_").slice(0, 64) || "unnamed";
}

export function wireArguments(text: string, adjusted: ReadonlySet<Adjustment>): string {
  return text.trim() === "" || (adjusted.has("broken_arguments") && !isWholeJson(text)) ? "{}" : text;
}

export function dataUrl({ type, data }: ImagePart): string {
  return `data:${type};base64,${data}`;
}
