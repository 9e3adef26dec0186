/** Reads the events of a session log, passing over what is damaged and counting it. */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { type AgentEvent, EVENT_VERSION } from "../agent/events.ts";
import { BuddyError } from "../lib/errors.ts";
import { type LineSigner, splitLine } from "../lib/line-signer.ts";
import { isRecord } from "../lib/values.ts";

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
  const take = (line: string): boolean => {
    if (line === "") return true;
    const whole = parseEvent(line);
    const found = whole === undefined ? salvage(line) : [whole];
    if (whole === undefined) damaged += 1;
    return found.every(({ event, text }) => {
      if (signer?.verify(splitLine(text)) !== true) foreign += 1;
      if (event.v > EVENT_VERSION)
        throw new BuddyError("session", `${path} was written by a newer buddy (format ${event.v})`, {
          hint: "Update buddy to continue this session; the file was left as it is.",
        });
      events += 1;
      return visit(event) !== false;
    });
  };

  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const chunk = Buffer.allocUnsafe(1 << 20);
    let rest: Buffer[] = [];
    for (let count = 0; (count = readSync(file, chunk)) > 0;) {
      let from = 0;
      for (let at = 0; (at = chunk.subarray(0, count).indexOf(10, from)) >= 0; from = at + 1) {
        const piece = chunk.subarray(from, at);
        const line = rest.length === 0 ? piece : Buffer.concat([...rest, piece]);
        rest = [];
        if (!take(line.toString())) return { events, damaged, foreign };
      }
      if (from < count) rest.push(Buffer.from(chunk.subarray(from, count)));
    }
    if (rest.length > 0) take(Buffer.concat(rest).toString());
  } finally {
    closeSync(file);
  }
  return { events, damaged, foreign };
}

/** Whole events may follow the torn start of another, behind a block of NULs, or side by side. */
function salvage(line: string): FoundEvent[] {
  const starts: number[] = [];
  for (let at = line.indexOf(START); at >= 0 && starts.length < MOST_GLUED; at = line.indexOf(START, at + 1))
    starts.push(at);
  const ends = [...starts, line.length];
  const found: FoundEvent[] = [];
  for (let first = 0; first < starts.length;) {
    let next = first + 1;
    for (let last = ends.length - 1; last > first; last -= 1) {
      const event = parseEvent(line.slice(starts[first], ends[last]));
      if (event === undefined) continue;
      found.push(event);
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
  /** As it stands in the log. */
  readonly text: string;
}

function parseEvent(text: string): FoundEvent | undefined {
  try {
    const value: unknown = JSON.parse(splitLine(text).json);
    return isEvent(value) ? { event: value, text } : undefined;
  } catch {
    return undefined;
  }
}

// Whether a parsed line of a log is an event that the rest of buddy can read: damage may leave valid JSON behind.

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
