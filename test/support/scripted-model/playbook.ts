/** What a scripted model answers; each answer may have the quirks and faults of real servers. */
import type { ScriptedRequest } from "./read-request.ts";

export interface Playbook {
  reply(request: ScriptedRequest): ScriptedReply | Promise<ScriptedReply>;
}

/** Turns in order, one per request (a retry is a request, too); a function gets the request. */
export function script(turns: readonly Turn[]): Playbook {
  let next = 0;
  return {
    reply: (request) => {
      const turn = turns[next++];
      if (turn === undefined) {
        const message = `the script has ${turns.length} turns, and this is request ${next}`;
        return { fault: { status: 400, body: { error: { message, code: "script_over" } } } };
      }
      return typeof turn === "function" ? turn(request) : turn;
    },
  };
}

export type Turn = ScriptedReply | ((request: ScriptedRequest) => ScriptedReply | Promise<ScriptedReply>);

export interface ScriptedReply {
  readonly text?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedCall[];
  readonly finish?: "stop" | "tool_calls" | "length" | "content_filter";
  /** Unknown fields of the message (chat completions); each entry of a list is sent as a delta. */
  readonly extra?: Fields | readonly Fields[];
  /** For the reasoning item (responses). */
  readonly encrypted?: string;
  /** false: none is sent. */
  readonly usage?: ScriptedUsage | false;
  readonly quirks?: Quirks;
  readonly fault?: Fault | undefined;
  /** Characters per delta; 24 by default. */
  readonly pieceChars?: number;
  /** The body is written in pieces of this many bytes, even inside a character. */
  readonly chunkBytes?: number;
  /** Before each written piece. */
  readonly delayMs?: number;
  /** Sent instead of a rendered answer: a recorded or damaged body. */
  readonly raw?: { readonly body: string | Uint8Array; readonly type?: string };
}

export type Fields = Readonly<Record<string, unknown>>;

export interface ScriptedCall {
  readonly name: string;
  /** Made into JSON. */
  readonly args?: unknown;
  /** Sent unchanged, even if it is not JSON. */
  readonly arguments?: string;
  readonly id?: string;
  readonly extra?: Fields;
}

export interface ScriptedUsage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly reasoning?: number;
}

/** What real servers do and a client must cope with. */
export interface Quirks {
  readonly noIndex?: boolean;
  readonly indexZero?: boolean;
  readonly noId?: boolean;
  readonly noDone?: boolean;
  readonly repeatRole?: boolean;
  readonly usageTwice?: boolean;
  /** A plain JSON answer to a request that asked for a stream. */
  readonly plainJson?: boolean;
  /** The field for readable reasoning (chat completions). */
  readonly reasoningField?: "reasoning" | "reasoning_content" | "thinking";
  /** The closing event has no items (responses), as at the login endpoint. */
  readonly emptyOutput?: boolean;
  /** Comments between the events. */
  readonly pings?: boolean;
  /** Line ends of the stream. */
  readonly newline?: "\n" | "\r\n" | "\r";
}

export type Fault =
  | "silence" // takes the request and never answers
  | "slow-headers" // answers after `delayMs`
  | "reset-before-headers"
  | "reset-after-headers"
  | "reset-midway" // in the middle of whatever is being sent
  | "truncated" // the chunked body ends without its last chunk
  | "stall" // half of the answer, then nothing
  | "malformed-event"
  | "html" // a web page with status 200
  | "error-object" // status 200 and an `error` in the JSON
  | "error-event" // an error inside the stream
  | "failed" // response.failed (chat completions: finish_reason "error")
  | "never-ends" // text without end
  | "pings-forever" // comments without end
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown };
