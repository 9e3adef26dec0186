/** Whether a parsed line of a log is an event that the rest of buddy can read: damage may leave valid JSON behind. */
import { type AgentEvent, EVENT_VERSION } from "../agent/events.ts";
import { isRecord } from "../lib/is-record.ts";

export function isEvent(value: unknown): value is AgentEvent {
  if (!isRecord(value) || typeof value.v !== "number" || typeof value.type !== "string") return false;
  // Events of a newer buddy are judged by their version; every reader skips unknown ones.
  if (value.v > EVENT_VERSION || !Object.hasOwn(FIELDS, value.type)) return true;
  const fields = FIELDS[value.type as keyof typeof FIELDS];
  return (
    typeof value.ts === "string" &&
    typeof value.target === "string" &&
    Object.entries(fields).every(([name, is]) => is(value[name]))
  );
}

const text = (value: unknown): boolean => typeof value === "string";
const number = (value: unknown): boolean => typeof value === "number" && value >= 0;
const message = (value: unknown): boolean =>
  isRecord(value) &&
  value.role === "assistant" &&
  (value.content === null || text(value.content)) &&
  Array.isArray(value.toolCalls) &&
  value.toolCalls.every((call) => isRecord(call) && text(call.id) && text(call.name) && text(call.arguments));

/** What replay, list and transcript rely on; everything else is optional there. */
const FIELDS = {
  session: { profile: text, model: text, cwd: text },
  turn: { prompt: text },
  message: { message },
  tool_finished: { call: text, outcome: text, result: text },
  approval_answered: { call: text, decision: text, by: text },
  usage: { total_input: number, total_output: number, context_used: number },
  compacted: { summary: text, replaced: number, after_tokens: number },
  warning: { message: text },
  notice: { message: text },
  error: { message: text },
  done: { status: text },
} as const satisfies Partial<Record<AgentEvent["type"], Record<string, (value: unknown) => boolean>>>;
