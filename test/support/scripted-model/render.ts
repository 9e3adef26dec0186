/** What the renderings of a scripted reply share. */
import type { Json } from "../../../src/model/protocols/protocol.ts";
import type { ScriptedCall, ScriptedReply, ScriptedUsage } from "./playbook.ts";
import type { ScriptedRequest } from "./read-request.ts";

export interface Rendered {
  readonly events: readonly WireEvent[];
  readonly document: Json;
  readonly errorEvent: WireEvent;
  readonly failedEvent: WireEvent;
}

export interface WireEvent {
  readonly name?: string;
  /** A string is sent unchanged. */
  readonly data: Json | string;
}

export function eventBytes(event: WireEvent, newline: string): string {
  const data = typeof event.data === "string" ? event.data : JSON.stringify(event.data);
  return `${event.name === undefined ? "" : `event: ${event.name}${newline}`}data: ${data}${newline}${newline}`;
}

/** Never cut inside a character; `chunkBytes` does that. */
export function pieces(text: string, { pieceChars = 24 }: ScriptedReply): string[] {
  const list: string[] = [];
  let piece = "";
  let length = 0;
  for (const character of text) {
    piece += character;
    if (++length < pieceChars) continue;
    list.push(piece);
    piece = "";
    length = 0;
  }
  if (piece !== "") list.push(piece);
  return list;
}

export function argumentsOf(call: ScriptedCall): string {
  return call.arguments ?? JSON.stringify(call.args ?? {});
}

let calls = 0;
const ids = new WeakMap<ScriptedCall, string>();

/** Always the same for a call, and unique. */
export function callId(call: ScriptedCall, at: number): string {
  if (call.id !== undefined) return call.id;
  const known = ids.get(call) ?? `call_${++calls}_${at}`;
  ids.set(call, known);
  return known;
}

export function finishOf(reply: ScriptedReply): string {
  return reply.finish ?? (reply.toolCalls && reply.toolCalls.length > 0 ? "tool_calls" : "stop");
}

export function usageOf(reply: ScriptedReply, request: ScriptedRequest): ScriptedUsage | undefined {
  if (reply.usage === false) return undefined;
  if (reply.usage) return reply.usage;
  const written =
    (reply.text ?? "").length + (reply.toolCalls ?? []).reduce((sum, call) => sum + argumentsOf(call).length, 0);
  return { input: Math.ceil(request.text.length / 4), output: Math.max(1, Math.ceil(written / 4)) };
}
