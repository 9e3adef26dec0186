/** A stored session as a person would report it: who asked what, what was answered, what ran and who approved it. */
import type { LineTime } from "../../agent/calls/line-times.ts";
import { type AgentEvent, PROPOSED_HEADING, proposedLines } from "../../agent/events.ts";
import type { ToolCall } from "../../model/types.ts";
import { words } from "../../lib/text.ts";
import { isRecord } from "../../lib/values.ts";
import { readEvents } from "../read.ts";

export interface Transcript {
  readonly id: string;
  readonly started: string;
  readonly model: string;
  readonly target: string;
  /** user@host, once the machine has reported it. */
  readonly who: string;
  readonly damaged: number;
  readonly entries: readonly TranscriptEntry[];
}

export type TranscriptEntry =
  | { readonly kind: "prompt"; readonly at: string; readonly text: string }
  | { readonly kind: "answer"; readonly at: string; readonly text: string; readonly reasoning: string }
  | { readonly kind: "tool"; readonly at: string; readonly tool: ToolEntry }
  | { readonly kind: "note"; readonly at: string; readonly text: string };

export interface ToolEntry {
  readonly name: string;
  /** The command, path or URL: as it ran, also when the operator edited it. Empty where the output says it all. */
  title: string;
  /** What the model had proposed, where the operator edited it. */
  proposed: string | undefined;
  readonly where: string;
  /** The arguments, where the model wrote valid JSON. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Where the shell was. */
  cwd: string | undefined;
  /** Times as of the log, and how long it took. */
  ended: string | undefined;
  ms: number;
  /** Machines it ran on, in a run on several. */
  machines: readonly string[];
  /** Under which the whole output is kept. */
  outputId: string | undefined;
  /** When its lines came. */
  lines: readonly LineTime[];
  output: string;
  outcome: string;
  ok: boolean;
  exitCode: number | undefined;
  /** Who approved or denied it, and why. */
  approval: string;
}

/** A command in a shell: the model's, or the operator's own. */
export function isCommand({ name }: ToolEntry): boolean {
  return name === "run_shell" || name === "you";
}

/** It began, and was not stopped before its end. */
export function took(tool: ToolEntry): boolean {
  return TOOK.has(tool.outcome) || tool.machines.length > 0;
}

const TOOK = new Set(words("exited running waiting still-running background done"));

export function readTranscript(path: string, id: string): Transcript {
  const entries: TranscriptEntry[] = [];
  const tools = new Map<string, ToolEntry>();
  const about = { started: "", model: "", target: "", who: "" };
  /** The operator's own command: what it was is in the turn behind it. */
  let own: ToolEntry | undefined;

  const add = (event: AgentEvent): void => {
    const at = event.ts;
    switch (event.type) {
      case "session":
        about.started ||= at;
        about.model = event.profile === event.model ? event.model : `${event.profile} (${event.model})`;
        if (event.user !== undefined) about.who = `${event.user}@${event.host ?? "?"}`;
        about.target = [
          event.user === undefined ? event.target : `${event.target}, ${event.user}@${event.host ?? "?"}`,
          ...[event.label, event.mode].filter((word) => word !== undefined),
        ].join(" ");
        break;
      case "turn":
        if (own !== undefined && event.shown?.startsWith("!") === true) {
          own.title = event.shown.slice(1);
          entries.push({ kind: "tool", at: own.ended ?? at, tool: own });
        } else entries.push({ kind: "prompt", at, text: event.shown ?? event.prompt });
        own = undefined;
        break;
      case "message": {
        const { content, reasoning = "", toolCalls } = event.message;
        if (content || reasoning) entries.push({ kind: "answer", at, text: content ?? "", reasoning });
        for (const call of toolCalls) {
          const tool = newEntry(call, event.target);
          tools.set(call.id, tool);
          entries.push({ kind: "tool", at, tool });
        }
        break;
      }
      case "approval_answered": {
        const tool = tools.get(event.call);
        if (tool === undefined) break;
        tool.approval = [decisionWords(event), event.reason].filter(Boolean).join(": ");
        if (event.edited !== undefined) {
          tool.proposed = tool.title;
          tool.title = event.edited;
        }
        break;
      }
      case "tool_finished": {
        const tool = event.tool === "you" ? (own = ownEntry(event)) : tools.get(event.call);
        if (tool === undefined) break;
        tool.cwd = event.cwd;
        tool.ended = at;
        tool.ms = event.ms;
        tool.outputId = event.output_id;
        tool.lines = event.lines ?? [];
        tool.machines = event.machines?.map(({ machine }) => machine) ?? [];
        tool.outcome = event.outcome;
        tool.ok = event.ok && (event.exit_code ?? 0) === 0;
        if (tool.approval === "" && event.exit_code !== undefined) tool.approval = "ran without approval";
        tool.exitCode = event.exit_code;
        // What the operator answered is already shown with the call.
        tool.output = tool.approval.startsWith("denied by the operator")
          ? ""
          : (event.display ?? payload(event.result));
        // A checklist says more than the arguments it was made of.
        if (event.display !== undefined && mainArgument(tool.args) === undefined) tool.title = "";
        break;
      }
      case "compacted":
        entries.push({ kind: "note", at, text: `Earlier messages were summarised:\n\n${event.summary}` });
        break;
      case "proposed":
        entries.push({ kind: "note", at, text: [PROPOSED_HEADING, ...proposedLines(event.changes)].join("\n") });
        break;
      case "warning":
      case "notice":
      case "error":
        entries.push({ kind: "note", at, text: event.message });
        break;
      case "done":
        if (event.status !== "answered")
          entries.push({ kind: "note", at, text: `The turn ended: ${event.status.replace("_", " ")}` });
        break;
    }
  };
  const { damaged } = readEvents(path, add);
  return { id, ...about, damaged, entries };
}

function decisionWords({ decision, by }: AgentEvent & { type: "approval_answered" }): string {
  switch (by) {
    case "nobody":
      return `${decision}: no terminal to ask on`;
    case "timeout":
      return `${decision}: no answer in time`;
    case "cancelled":
      return `${decision}: stopped before it was answered`;
    case "mode":
      return `auto-${decision}`;
    case "prefix":
      return `${decision}: allowed before`;
    case "operator":
      return `${decision} by the operator`;
  }
}

function ownEntry({ call, target }: AgentEvent & { type: "tool_finished" }): ToolEntry {
  const entry = newEntry({ id: call, name: "you", arguments: "{}" }, target);
  return { ...entry, approval: "your own command" };
}

function newEntry(call: ToolCall, where: string): ToolEntry {
  return {
    name: call.name,
    title: titleOf(call),
    args: argumentsOf(call),
    cwd: undefined,
    ended: undefined,
    ms: 0,
    machines: [],
    outputId: undefined,
    lines: [],
    proposed: undefined,
    where,
    output: "",
    outcome: "no result",
    ok: false,
    exitCode: undefined,
    approval: "",
  };
}

function titleOf(call: ToolCall): string {
  try {
    const args = JSON.parse(call.arguments) as Record<string, unknown>;
    const main = mainArgument(args);
    return typeof main === "string" ? main : JSON.stringify(main ?? args);
  } catch {
    return call.arguments;
  }
}

function mainArgument(args: Readonly<Record<string, unknown>>): unknown {
  return args.command ?? args.path ?? args.url ?? args.query ?? args.keys ?? args.pane ?? args.shell_id;
}

function argumentsOf(call: ToolCall): Readonly<Record<string, unknown>> {
  try {
    const args: unknown = JSON.parse(call.arguments);
    return isRecord(args) ? args : {};
  } catch {
    return {};
  }
}

/** The text inside the result envelope. */
function payload(envelope: string): string {
  try {
    const { result } = JSON.parse(envelope) as { result?: unknown };
    return typeof result === "string" ? result : JSON.stringify(result ?? null, null, 2);
  } catch {
    return envelope;
  }
}
