/** Compaction: older messages become a summary written by the model. How full the window must be: model/usage.ts. */
import template from "../../templates/compact-prompt.md" with { type: "text" };
import { BuddyError } from "../lib/errors.ts";
import type { Message, ModelClient, Usage } from "../model/types.ts";
import { estimateTokens, windowUse, windowWarning } from "../model/usage.ts";
import { boundText } from "../tools/bound-output.ts";
import type { Agent } from "./agent.ts";
import { summaryMessage } from "./events.ts";
import type { History } from "./history.ts";

export interface Compaction {
  readonly summary: string;
  readonly replaced: number;
  readonly usage: Usage;
}

/** Warns at 80 % of the window, compacts at 90 %, and refuses what cannot fit. */
export async function makeRoom(agent: Agent, signal: AbortSignal): Promise<void> {
  const used = agent.contextUsed;
  const limit = agent.contextLimit;
  const { state } = windowUse(used, limit);
  const warning = windowWarning(used, limit) ?? "";
  if (state === "warn")
    return agent.warnOnce(warning, "At 90 % buddy summarises older turns automatically; /compact does it now.");
  const count = compactable(agent.history.messages, limit, "window");
  if (count === undefined) {
    if (used > limit) throw nothingToCompact();
    return agent.warnOnce(`${warning}, and there is nothing to compact`, GUIDANCE);
  }
  try {
    await compact(agent, count, signal);
  } catch (error) {
    // It still fits: the turn continues without the summary.
    if (!(error instanceof SummaryGrew) || used > limit) throw error;
    agent.publish({ type: "warning", message: error.message, hint: GUIDANCE });
  }
  if (agent.contextUsed > limit) throw nothingToCompact();
}

export async function compact(agent: Agent, count: number, signal: AbortSignal, focus = ""): Promise<void> {
  const before = agent.contextUsed;
  const { summary, replaced, usage } = await summarise(agent.history, count, agent.client, signal, focus);
  const older = estimateTokens(agent.history.messages.slice(0, replaced));
  if (estimateTokens([summaryMessage(summary)]) > older + GROWTH_TOKENS) {
    agent.spend(usage);
    throw new SummaryGrew();
  }
  agent.history.compact(replaced, summary);
  agent.clearWarning();
  agent.publish({
    type: "compacted",
    summary,
    before_tokens: before,
    after_tokens: agent.contextUsed,
    replaced,
  });
  agent.spend(usage);
}

class SummaryGrew extends BuddyError {
  constructor() {
    super("model", "the summary is longer than what it replaces, so nothing was compacted", { hint: GUIDANCE });
  }
}

/** How many messages from the start a summary can replace; undefined: none. */
export function compactable(
  messages: readonly Message[],
  contextLimit: number,
  by: "window" | "hand",
): number | undefined {
  return by === "hand" ? earlierTurns(messages) : allButRecent(messages, Math.floor(contextLimit * KEEP));
}

/** Asks the model for the summary; the history is not touched. */
export async function summarise(
  history: History,
  count: number,
  client: ModelClient,
  signal: AbortSignal,
  focus = "",
): Promise<Compaction> {
  const older = history.messages.slice(0, count);
  const room = Math.max(4_000, Math.floor(client.info.contextLimit * CHARS_PER_TOKEN * TRANSCRIPT));
  const request = {
    messages: [
      {
        role: "system",
        content: `${template.trim()}${focus === "" ? "" : `\n\nThe operator asks to keep especially: ${focus}`}`,
      },
      { role: "user", content: boundText(transcript(older, room), room, () => "left out of this transcript") },
    ] satisfies Message[],
    tools: [],
  };
  for await (const event of client.stream(request, signal)) {
    if (event.type !== "done") continue;
    const text = event.message.content?.trim() ?? "";
    if (text === "") break;
    const pending = currentRequest(history.messages, count);
    const summary =
      pending === undefined ? text : `${text}\n\nThe request being worked on, in the operator's words:\n\n${pending}`;
    return { summary, replaced: count, usage: event.usage };
  }
  throw new BuddyError("model", "the model returned no summary, so the conversation was not compacted", {
    hint: GUIDANCE,
  });
}

function nothingToCompact(): BuddyError {
  return new BuddyError("tool", "the conversation is too large for this model, even compacted", { hint: GUIDANCE });
}

export const GUIDANCE =
  "Start a new session (/new), send less at once (a part of the file, filtered output), or use a model with a larger context (/model, --model).";

/** A summary of a short conversation may be a little longer than what it replaces. */
const GROWTH_TOKENS = 100;
/** Share of the window that recent messages may keep. */
const KEEP = 0.2;
/** Share of the window that the transcript to summarise may take. */
const TRANSCRIPT = 0.6;
const CHARS_PER_TOKEN = 3;
const MOST_OF_A_RESULT = 2_000;
const MOST_OF_A_PROMPT = 8_000;

/** A cut never falls between a call and its results: results directly follow their call. */
const isBoundary = (messages: readonly Message[], index: number) =>
  index === messages.length || messages[index]?.role !== "tool";

function allButRecent(messages: readonly Message[], keepTokens: number): number | undefined {
  if (messages.length < 2) return undefined;
  let cut = messages.length;
  let kept = 0;
  for (let index = messages.length - 1; index > 0; index--) {
    kept += estimateTokens([messages[index]!]);
    if (kept > keepTokens) break;
    if (isBoundary(messages, index)) cut = index;
  }
  // A lone summary or prompt cannot get smaller by being summarised again.
  return cut < 2 && estimateTokens(messages.slice(0, 1)) < keepTokens ? undefined : cut;
}

function earlierTurns(messages: readonly Message[]): number | undefined {
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  if (lastUser >= 2) return lastUser;
  const lastBlock = messages.findLastIndex((message) => message.role === "assistant" && message.toolCalls.length > 0);
  const firstBlock = messages.findIndex((message) => message.role === "assistant" && message.toolCalls.length > 0);
  return lastBlock > firstBlock ? lastBlock : undefined;
}

/** The prompt of the running turn, if the summary replaces it. */
function currentRequest(messages: readonly Message[], count: number): string | undefined {
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  if (lastUser < 0 || lastUser >= count) return undefined;
  const last = messages.at(-1);
  if (last?.role === "assistant" && last.toolCalls.length === 0) return undefined;
  return boundText(messages[lastUser]!.content ?? "", MOST_OF_A_PROMPT, () => "left out");
}

/** Written from both ends until the room is full: the middle of a session of 50 MB is never put together. */
function transcript(messages: readonly Message[], room: number): string {
  const head: string[] = [];
  const tail: string[] = [];
  let first = 0;
  let last = messages.length;
  for (let size = 0; first < last && size <= room; first++)
    size += head[head.push(written(messages[first]!)) - 1]!.length;
  for (let size = 0; last > first && size <= room; last--)
    size += tail[tail.push(written(messages[last - 1]!)) - 1]!.length;
  const middle = first === last ? [] : [`[${last - first} messages left out here]`];
  return [...head, ...middle, ...tail.toReversed()].join("\n\n");
}

function written(message: Message): string {
  const short = (text: string) => boundText(text, MOST_OF_A_RESULT, () => "left out");
  switch (message.role) {
    case "system":
    case "user":
      return `## user\n${boundText(message.content, MOST_OF_A_PROMPT, () => "left out")}`;
    case "assistant":
      return [
        "## assistant",
        ...(message.content ? [message.content] : []),
        ...message.toolCalls.map((call) => `calls ${call.name} ${short(call.arguments)}`),
      ].join("\n");
    case "tool":
      return `## result of ${message.name}\n${short(message.content)}`;
  }
}
