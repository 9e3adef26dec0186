/** Reads the events of a session log; damaged lines are skipped and counted. */
import { type AgentEvent, EVENT_VERSION, type StoredPlace, summaryMessage } from "../agent/events.ts";
import { BuddyError } from "../lib/errors.ts";
import { bytesOf, lineBytesIn } from "../lib/files.ts";
import { collectAfter } from "../lib/large-texts.ts";
import type { LineSigner } from "../lib/line-signer.ts";
import { isRecord, jsonObject } from "../lib/values.ts";
import type { AssistantMessage, Message, ToolCall } from "../model/types.ts";

interface ReadReport {
  readonly events: number;
  /** Lines that are not one event: cut off, overwritten or joined. */
  readonly damaged: number;
  /** Events that this user's buddy did not write. */
  readonly foreign: number;
}

/**
 * Uses the memory of the longest line only. Stops when `visit` returns false; throws NewerLog. `again` reads the event
 * once more, so that it need not be kept; undefined for one from a damaged line.
 */
export function readEvents(
  path: string,
  visit: (event: AgentEvent, again?: () => AgentEvent | undefined) => boolean | void,
  signer?: LineSigner | undefined,
): ReadReport {
  let events = 0;
  let damaged = 0;
  let foreign = 0;
  const take = (line: Buffer, begin: number): boolean => {
    if (line.length === 0) return true;
    const again = reader(path, begin, line.length);
    const whole = parseEvent(line.toString());
    const found = whole === undefined ? salvage(line.toString()) : [{ event: whole, bytes: line }];
    if (whole === undefined) damaged += 1;
    collectAfter(line.length);
    return found.every(({ event, bytes }) => {
      if (signer?.isSigned(bytes) !== true) foreign += 1;
      if (event.v > EVENT_VERSION) throw new NewerLog(path, event.v);
      events += 1;
      return visit(event, whole === undefined ? undefined : again) !== false;
    });
  };

  for (const { bytes, begin } of lineBytesIn(path)) if (!take(bytes, begin)) break;
  return { events, damaged, foreign };
}

/** Apart from the event itself, which it must not keep in memory. */
function reader(path: string, begin: number, length: number): () => AgentEvent | undefined {
  return () => {
    collectAfter(length * COPIES);
    return parseEvent(bytesOf(path, begin, length).toString());
  };
}

/** Of a line that is read once more to be written in another form. */
const COPIES = 2;

/** The log has events of a later format than this buddy knows. */
export class NewerLog extends BuddyError {
  /** For a list, which names the session itself. */
  readonly problem: string;

  constructor(path: string, format: number) {
    const problem = `written by a newer buddy (format ${format})`;
    super("session", `${path} was ${problem}`, {
      hint: "Update buddy to continue this session; the file was left as it is.",
    });
    this.problem = problem;
  }
}

/**
 * Whole events may follow half an event, a block of NULs, or each other on one line. The work is bounded for the line
 * as a whole: each half event can be as long as the rest of it.
 */
function salvage(line: string): FoundEvent[] {
  const found: FoundEvent[] = [];
  let budget = Math.max(MIN_SALVAGE, SALVAGE_TIMES * line.length);
  for (let at = line.indexOf(START); at >= 0 && found.length < MAX_JOINED && budget > 0;) {
    const end = objectEnd(line, at, at + budget);
    budget -= (end ?? line.length) - at;
    const text = end === undefined ? "" : line.slice(at, end);
    const event = parseEvent(text);
    if (event !== undefined) found.push({ event, bytes: Buffer.from(text) });
    at = line.indexOf(START, event === undefined ? at + 1 : at + text.length);
  }
  return found;
}

/** Where the JSON object that begins at `at` ends; undefined if it does not, before `limit`. */
function objectEnd(line: string, at: number, limit: number): number | undefined {
  let depth = 0;
  for (let here = at; here < line.length && here < limit; here++) {
    const code = line.charCodeAt(here);
    if (code === QUOTE) {
      for (here++; here < line.length && line.charCodeAt(here) !== QUOTE; here++)
        if (line.charCodeAt(here) === BACKSLASH) here++;
    } else if (code === OPEN) depth++;
    else if (code === CLOSE && --depth === 0) return here + 1;
  }
  return undefined;
}

const START = '{"v":';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const MAX_JOINED = 32;
/** Characters looked at for a line, as a multiple of its length; a short line may have more. */
const SALVAGE_TIMES = 3;
const MIN_SALVAGE = 4 * 1024 * 1024;

interface FoundEvent {
  readonly event: AgentEvent;
  readonly bytes: Buffer;
}

function parseEvent(text: string): AgentEvent | undefined {
  const { mac: _, ...value } = jsonObject(text) ?? {};
  return isEvent(value) ? value : undefined;
}

/** Damage may leave valid JSON that is not an event. */
function isEvent(value: unknown): value is AgentEvent {
  if (!isRecord(value) || typeof value.v !== "number" || typeof value.type !== "string") return false;
  // The caller rejects a newer version; every reader skips unknown types.
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

/** The fields that replay, list and transcript require. */
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

/** Rebuilds the state of a session from its events: the messages as the model saw them, its target and its model. */
export class Replay {
  readonly messages: Message[] = [];
  profile = "";
  model = "";
  target = "";
  cwd = "";
  /** Empty for this machine, and in logs of older versions. */
  places: readonly StoredPlace[] = [];
  host = "";
  machine = "";
  firstPrompt = "";
  turns = 0;
  totals = { input: 0, output: 0, costUsd: 0 };
  contextUsed = 0;
  /** Tool calls whose result was never written, by what they do; a note replaces it. */
  readonly unfinished: string[] = [];
  #open: { message: AssistantMessage; results: Map<string, string> } | undefined;

  add(event: AgentEvent): void {
    switch (event.type) {
      case "session":
        this.profile = event.profile;
        this.model = event.model;
        this.target = event.target;
        this.cwd = event.cwd;
        this.places = event.places ?? [];
        this.host = event.host ?? this.host;
        this.machine = event.machine ?? this.machine;
        break;
      case "turn":
        this.#settle();
        this.turns += 1;
        this.firstPrompt ||= event.prompt;
        this.messages.push({ role: "user", content: event.prompt });
        break;
      case "message":
        this.#settle();
        this.messages.push(event.message);
        if (event.message.toolCalls.length > 0) this.#open = { message: event.message, results: new Map() };
        break;
      case "tool_finished":
        this.#open?.results.set(event.call, event.result);
        break;
      case "compacted":
        this.#settle();
        this.messages.splice(0, event.replaced, summaryMessage(event.summary));
        this.contextUsed = event.after_tokens;
        break;
      case "usage":
        this.totals = {
          input: event.total_input,
          output: event.total_output,
          costUsd: event.total_cost_usd ?? 0,
        };
        this.contextUsed = event.context_used;
        break;
      case "done":
        this.#settle();
        break;
    }
  }

  /** To be called after the last event: a crash may have left tool calls without a result. */
  finish(): this {
    this.#settle();
    return this;
  }

  /** For a session of someone else, which must not choose the machine or the model. */
  forgetChoices(): void {
    this.profile = this.model = this.target = this.cwd = this.host = this.machine = "";
    this.places = [];
  }

  #settle(): void {
    if (this.#open === undefined) return;
    for (const call of this.#open.message.toolCalls) {
      const result = this.#open.results.get(call.id);
      if (result === undefined) this.unfinished.push(titleOf(call));
      this.messages.push({ role: "tool", callId: call.id, name: call.name, content: result ?? LOST_RESULT });
    }
    this.#open = undefined;
  }
}

/** The command, or the name of the tool. */
function titleOf({ name, arguments: given }: ToolCall): string {
  const { command } = jsonObject(given) ?? {};
  return typeof command === "string" ? command : name;
}

const LOST_RESULT = JSON.stringify({
  result:
    "[result lost: buddy stopped before it was stored. The call may or may not have taken effect; check before repeating it]",
});
