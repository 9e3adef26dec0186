/** Reads the events of a session log, passing over what is damaged and counting it. */
import { type AgentEvent, EVENT_VERSION } from "../agent/events.ts";
import { BuddyError } from "../lib/errors.ts";
import { collectAfter } from "../lib/garbage.ts";
import type { LineSigner } from "../lib/line-signer.ts";
import { isRecord } from "../lib/values.ts";
import { lineBytesIn } from "../lib/files.ts";

export interface ReadReport {
  readonly events: number;
  /** Lines that could not be read: torn, overwritten or glued together. */
  readonly damaged: number;
  /** Events that this user's buddy did not write. */
  readonly foreign: number;
}

/** Line by line: a log of any size takes the memory of its longest line. Stops early when `visit` returns false. */
export function readEvents(
  path: string,
  visit: (event: AgentEvent) => boolean | void,
  signer?: LineSigner | undefined,
): ReadReport {
  let events = 0;
  let damaged = 0;
  let foreign = 0;
  const take = (line: Buffer): boolean => {
    if (line.length === 0) return true;
    const whole = parseEvent(line.toString());
    const found = whole === undefined ? salvage(line.toString()) : [{ event: whole, bytes: line }];
    if (whole === undefined) damaged += 1;
    collectAfter(line.length);
    return found.every(({ event, bytes }) => {
      if (signer?.isSigned(bytes) !== true) foreign += 1;
      if (event.v > EVENT_VERSION)
        throw new BuddyError("session", `${path} was written by a newer buddy (format ${event.v})`, {
          hint: "Update buddy to continue this session; the file was left as it is.",
        });
      events += 1;
      return visit(event) !== false;
    });
  };

  for (const { bytes } of lineBytesIn(path)) if (!take(bytes)) break;
  return { events, damaged, foreign };
}

/** Whole events may follow the torn start of another, behind a block of NULs, or next to each other. */
function salvage(line: string): FoundEvent[] {
  const starts: number[] = [];
  for (let at = line.indexOf(START); at >= 0 && starts.length < MOST_GLUED; at = line.indexOf(START, at + 1))
    starts.push(at);
  const ends = [...starts, line.length];
  const found: FoundEvent[] = [];
  for (let first = 0; first < starts.length;) {
    let next = first + 1;
    for (let last = ends.length - 1; last > first; last -= 1) {
      const text = line.slice(starts[first], ends[last]);
      const event = parseEvent(text);
      if (event === undefined) continue;
      found.push({ event, bytes: Buffer.from(text) });
      next = last;
      break;
    }
    first = next;
  }
  return found;
}

const START = '{"v":';
const MOST_GLUED = 32;

interface FoundEvent {
  readonly event: AgentEvent;
  /** As it is in the log. */
  readonly bytes: Buffer;
}

function parseEvent(text: string): AgentEvent | undefined {
  try {
    const { mac: _, ...value } = JSON.parse(text) as Record<string, unknown>;
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

// Whether a parsed line of a log is an event that the rest of buddy can read: damage may leave valid JSON behind.

function isEvent(value: unknown): value is AgentEvent {
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
