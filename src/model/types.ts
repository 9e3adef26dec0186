/** What the rest of the program knows about a model: messages in, events out, whatever protocol is on the wire. */
import type { Image } from "../lib/images.ts";

export interface ModelClient {
  readonly profile: ModelProfile;
  readonly info: ModelInfo;
  /**
   * One model turn. Ends with exactly one `done` event, or throws a ModelError. Retries happen inside: a `retry` event
   * precedes each wait; if text was already emitted, `discard` says that it does not count. A tool call appears only
   * in `done`, whole.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

export interface ModelProfile {
  readonly name: string;
  readonly model: string;
  readonly api: Api;
  readonly auth: "api-key" | "login";
  /** Scheme, host and path of the endpoint; never a credential. */
  readonly baseUrl: string;
}

/** The wire protocol. */
export type Api = "completions" | "responses" | "anthropic";

/** Catalog facts of a model; prices in USD per million tokens. */
export interface ModelInfo {
  readonly contextLimit: number;
  readonly maxOutput?: number;
  readonly priceIn?: number;
  readonly priceOut?: number;
  /** Of input that the provider has cached. */
  readonly priceCached?: number;
  readonly images?: boolean;
  readonly reasoning?: boolean;
  /** False when no catalog rule matched and the conservative default is used. */
  readonly known: boolean;
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

interface SystemMessage {
  readonly role: "system";
  readonly content: string;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: string;
  readonly images?: readonly ImagePart[];
}

/** For a model that reads images. */
export type ImagePart = Image;

export interface AssistantMessage {
  readonly role: "assistant";
  /** null when the model only called tools. */
  readonly content: string | null;
  readonly toolCalls: readonly ToolCall[];
  /** Readable reasoning, for people; what is sent back is in `extra` or `items`. */
  readonly reasoning?: string;
  /** Chat completions: unknown fields of the message, returned verbatim with the next request. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** Responses: the output items in order, encrypted reasoning included. Anthropic: the content blocks, signed thinking
   * included. Returned verbatim. */
  readonly items?: readonly unknown[];
  /** Protocol, host and model that wrote it: `extra` and `items` go back to these alone. Absent: unknown. */
  readonly from?: string;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The JSON text exactly as the model wrote it; may be invalid. */
  readonly arguments: string;
  readonly extra?: Readonly<Record<string, unknown>>;
}

export interface ToolMessage {
  readonly role: "tool";
  readonly callId: string;
  readonly name: string;
  readonly content: string;
  readonly images?: readonly ImagePart[];
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  /** Id of the conversation, for caches of the provider. */
  readonly session?: string;
  /** The final answer must be JSON valid against this schema. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
}

export type ModelEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "reasoning"; readonly delta: string }
  | {
      readonly type: "retry";
      readonly attempt: number;
      readonly of: number;
      readonly host: string;
      readonly reason: string;
      readonly waitMs: number;
    }
  /** Something the user should know. */
  | { readonly type: "notice"; readonly message: string }
  /** What was streamed so far belongs to an attempt that failed. */
  | { readonly type: "discard" }
  | {
      readonly type: "done";
      readonly message: AssistantMessage;
      readonly usage: Usage;
      readonly finish: "stop" | "tool-calls" | "length" | "content-filter" | "other";
      /** The model wrote a tool call as text; it was taken out and is not run. */
      readonly writtenCall?: boolean;
    };

export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
  /** True when the server gave no usage and the counts are guesses. */
  readonly estimated: boolean;
  readonly costUsd?: number;
}
