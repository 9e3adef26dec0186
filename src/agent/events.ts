/** Everything that happens in a run: what the REPL, `exec`, `exec --json` and the session log read. */
import type { ApprovalAnswer } from "../policy/approvals.ts";
import type { LineTime } from "./calls/run-times.ts";
import type { AssistantMessage, Usage, UserMessage } from "../model/types.ts";
import type { MachineOutcome } from "../tools/tool.ts";
import type { Hop } from "../targets/place.ts";
import { foldNames } from "../lib/names.ts";
import { collapseSpaces } from "../lib/text.ts";
import { jsonObject } from "../lib/values.ts";

/** Version of the public event format (docs/events.md). */
export const EVENT_VERSION = 1;

/** On every event. */
export interface EventStamp {
  readonly v: typeof EVENT_VERSION;
  /** ISO 8601 with milliseconds, UTC. */
  readonly ts: string;
  readonly session: string;
  /** Label and identity of the target, e.g. "ssh deploy@web1"; "local". */
  readonly target: string;
}

export type AgentEvent = AgentEventBody & EventStamp;

export type AgentEventBody =
  | SessionEvent
  | MachineEvent
  | TurnEvent
  | TextEvent
  | ReasoningEvent
  | DiscardEvent
  | MessageEvent
  | ToolStartedEvent
  | ToolOutputEvent
  | MachineFinishedEvent
  | ToolFinishedEvent
  | ApprovalAskedEvent
  | ApprovalAnsweredEvent
  | ProposedEvent
  | UsageEvent
  | RetryEvent
  | WarningEvent
  | NoticeEvent
  | CompactedEvent
  | ErrorEvent
  | DoneEvent;

/** First event of a run; again after a resume, a model switch or when the target's identity becomes known. */
export interface SessionEvent {
  readonly type: "session";
  readonly buddy: string;
  readonly profile: string;
  readonly model: string;
  readonly api: "completions" | "responses" | "anthropic";
  readonly cwd: string;
  readonly user?: string;
  readonly host?: string;
  readonly machine?: string;
  /** What the rules call the machine, and its mode where that is not normal. */
  readonly label?: string;
  readonly mode?: "guarded" | "read-only";
  readonly attach?: string;
  /** The machines by name and by what leads to them, from this one inwards; absent on this machine. */
  readonly places?: readonly StoredPlace[];
  readonly resumed?: boolean;
}

/** One of several machines is open, or cannot be reached. */
export interface MachineEvent {
  readonly type: "machine";
  /** Its name in the run. */
  readonly machine: string;
  readonly state: "open" | "unreachable";
  readonly label: string;
  readonly user?: string;
  readonly host?: string;
  /** machine-id, container id or the nearest thing the system has. */
  readonly id?: string;
  readonly attach?: string;
  /** Why it cannot be reached. */
  readonly message?: string;
}

export interface StoredPlace {
  readonly name: string;
  readonly path: readonly Hop[];
}

export interface TurnEvent {
  readonly type: "turn";
  readonly turn: number;
  readonly prompt: string;
  /** What the operator typed, where the prompt holds more: attached files, a schema. */
  readonly shown?: string;
}

export interface TextEvent {
  readonly type: "text";
  readonly delta: string;
}

export interface ReasoningEvent {
  readonly type: "reasoning";
  readonly delta: string;
}

/** Text and reasoning since the last `message` belong to an attempt that failed: drop them. */
export interface DiscardEvent {
  readonly type: "discard";
}

/** A whole assistant message, as it goes into the history. */
export interface MessageEvent {
  readonly type: "message";
  readonly message: AssistantMessage;
}

export interface ToolStartedEvent {
  readonly type: "tool_started";
  readonly call: string;
  readonly tool: string;
  /** One line for people: the command, the path, the URL. */
  readonly title: string;
  readonly args: unknown;
  /** Where a run has several machines: those it runs on. */
  readonly machines?: readonly string[];
}

export interface ToolOutputEvent {
  readonly type: "tool_output";
  readonly call: string;
  readonly stream: "stdout" | "stderr" | "info";
  readonly text: string;
  /** Where a run has several machines: the one that printed it. */
  readonly machine?: string;
}

/** One machine of several has its result for a call, which continues on the others. */
export interface MachineFinishedEvent extends MachineOutcome {
  readonly type: "machine_finished";
  readonly call: string;
  /** Machines that have a result by now, and how many there are. */
  readonly done: number;
  readonly of: number;
  /** Some of the machines that have no result yet, the slowest first. */
  readonly waiting: readonly string[];
}

export interface ToolFinishedEvent {
  readonly type: "tool_finished";
  readonly call: string;
  readonly tool: string;
  readonly ok: boolean;
  /** exited, running, waiting, denied, invalid, failed, cancelled, ... */
  readonly outcome: string;
  readonly exit_code?: number;
  /** Where the shell was when a command began. */
  readonly cwd?: string;
  /** When it began to run, after any question; absent if it did not run. */
  readonly began?: string;
  /** How long it ran, without the time of questions. */
  readonly ms: number;
  /** Of the operator's own call, which no message has: the command, the change. */
  readonly title?: string;
  /** The envelope exactly as the model gets it. */
  readonly result: string;
  /** For people, where it differs from the result: a diff, a file list, what happened without advice to the model. */
  readonly display?: string;
  /** In `exec --json` only: the result as plain text, without the envelope. */
  readonly output?: string;
  /** What people see of the output has only parts of it. */
  readonly output_cut?: boolean;
  /** Then: how many lines there are in all. */
  readonly output_lines?: number;
  /** The id of the stored full output. */
  readonly output_id?: string;
  /** When its lines arrived, unless all at once: milliseconds before the end, and how many by then. */
  readonly lines?: readonly LineTime[];
  /** Where a run has several machines: how it went on each. */
  readonly machines?: readonly MachineOutcome[];
}

export type Risk = "low" | "medium" | "high";

export interface ApprovalAskedEvent {
  readonly type: "approval_asked";
  readonly approval: string;
  readonly call: string;
  readonly tool: string;
  /** user@host of the machine it would happen on. */
  readonly where: string;
  /** A question for several machines: their names. */
  readonly machines?: readonly string[];
  /** The command, or what would be done. */
  readonly action: string;
  readonly diff?: string;
  readonly risk: Risk;
  readonly mutation: boolean;
  readonly privesc: boolean;
  /** The model's reason. */
  readonly why: string;
  /** What the policy derived. */
  readonly policy: string;
  /** The model declared less than the policy derived. */
  readonly understated: boolean;
  /** Only a person answers this, no mode and nothing remembered; `typed`: with the name of the machine. */
  readonly answer?: "in-person" | "typed";
  /** What the rules call the machine: PROD. */
  readonly label?: string;
}

export interface ApprovalAnsweredEvent {
  readonly type: "approval_answered";
  readonly approval: string;
  readonly call: string;
  /** A question for several machines: those it was answered for (all, those that were chosen, or the canary). */
  readonly machines?: readonly string[];
  readonly decision: "approved" | "denied";
  /** Who decided; `prefix`: an earlier “always”; `no-terminal`: there was no terminal to ask on. */
  readonly by: "operator" | "mode" | "prefix" | "timeout" | "cancelled" | "no-terminal";
  readonly reason?: string;
  /** The command as the operator changed it. */
  readonly edited?: string;
}

/** At the end of a turn: changes for a person to make, because the machine or the runbook is read-only. */
export interface ProposedEvent {
  readonly type: "proposed";
  readonly changes: readonly ProposedChange[];
}

export interface ProposedChange {
  /** The name of the machine, where the run has several. */
  readonly machine?: string;
  /** user@host of the machine. */
  readonly where: string;
  readonly label?: string;
  readonly directory?: string;
  /** To be copied; a line that begins with # describes what is not a command. */
  readonly command: string;
  /** The model's reason. */
  readonly why?: string;
}

/** As lines for a shell: what is not a command is a comment. The same change on many machines is listed once. */
export function proposedLines(changes: readonly ProposedChange[]): string[] {
  const same = Map.groupBy(changes, ({ machine, where, label, directory, why, command }) =>
    JSON.stringify([machine === undefined ? where : "", label, directory, why, command]),
  );
  return [...same.values()].flatMap((group) => {
    const [{ machine, where, label, directory, why, command }] = group as [ProposedChange];
    const machines = group.flatMap((one) => one.machine ?? []);
    const who =
      machines.length > 1 ? `${foldNames(machines)} (${machines.length})` : [machine, where].filter(Boolean).join(", ");
    const place = `${who}${label === undefined ? "" : ` ${label}`}${directory === undefined ? "" : `, in ${directory}`}`;
    return [`# ${[place, ...(why ? [collapseSpaces(why)] : [])].join(": ")}`, ...command.split("\n")];
  });
}

export const PROPOSED_HEADING = "Not done (read-only). To do it by hand:";

export interface UsageEvent extends Omit<Usage, "costUsd"> {
  readonly type: "usage";
  readonly cost_usd?: number;
  readonly context_used: number;
  readonly context_limit: number;
  readonly total_input: number;
  readonly total_output: number;
  readonly total_cost_usd?: number;
}

export interface RetryEvent {
  readonly type: "retry";
  readonly attempt: number;
  readonly of: number;
  readonly host: string;
  readonly reason: string;
  readonly wait_ms: number;
}

export interface WarningEvent {
  readonly type: "warning";
  readonly message: string;
  readonly hint?: string;
}

/** News from the target: reconnected, a pane was recreated, the operator ran something. */
export interface NoticeEvent {
  readonly type: "notice";
  readonly kind: string;
  readonly message: string;
  /** Where a run has several machines: the one it is about. */
  readonly machine?: string;
}

export interface CompactedEvent {
  readonly type: "compacted";
  readonly summary: string;
  readonly before_tokens: number;
  readonly after_tokens: number;
  /** Messages of the history, counted from its start and without the system prompt, that the summary replaces. */
  readonly replaced: number;
}

/** What a person reads of a result: what was written for people, or what the model gets, without its envelope. */
export function resultText({ display, result }: Pick<ToolFinishedEvent, "display" | "result">): string {
  if (display !== undefined) return display;
  const value = jsonObject(result)?.["result"];
  if (value === undefined) return result;
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
}

/** The message that replaces what a `compacted` event removed, also in a resumed session. */
export function summaryMessage(summary: string): UserMessage {
  return {
    role: "user",
    content: `Summary of the conversation so far (older messages were removed to save room):\n\n${summary}`,
  };
}

export interface ErrorEvent {
  readonly type: "error";
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

export interface DoneEvent {
  readonly type: "done";
  readonly turn: number;
  readonly status: "answered" | "failed" | "cancelled" | "timeout" | "max_iterations" | "approval_needed";
  readonly text: string;
  readonly iterations: number;
  readonly ms: number;
}

/** Why a question is withdrawn from a front: another one was first. */
export class AnsweredElsewhere extends Error {
  readonly by: string;
  readonly answer: ApprovalAnswer | undefined;

  constructor(by: string, answer?: ApprovalAnswer) {
    super(`answered: ${by}`);
    this.by = by;
    this.answer = answer;
  }
}
