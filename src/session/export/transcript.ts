/** A stored session in order: prompts, answers, what ran and who approved it. */
import type { LineTime } from "../../agent/calls/run-times.ts";
import {
  type AgentEvent,
  PROPOSED_HEADING,
  proposedLines,
  resultText,
  type ToolFinishedEvent,
} from "../../agent/events.ts";
import { formatDuration } from "../../lib/durations.ts";
import { foldNames } from "../../lib/names.ts";
import { codeBlock, words } from "../../lib/text.ts";
import { jsonObject } from "../../lib/values.ts";
import type { ToolCall } from "../../model/types.ts";
import { showText } from "../../policy/screen/terminal-text.ts";
import { readEvents } from "../read.ts";

export interface Transcript {
  readonly id: string;
  readonly started: string;
  readonly model: string;
  readonly target: string;
  /** user@host, once the machine has reported it. */
  readonly who: string;
  readonly damaged: number;
  /** Long outputs are read from the log when they are asked for. */
  readonly entries: Iterable<TranscriptEntry>;
}

export type TranscriptEntry =
  | { readonly kind: "prompt"; readonly at: string; readonly text: string }
  | { readonly kind: "answer"; readonly at: string; readonly text: string; readonly reasoning: string }
  | { readonly kind: "tool"; readonly at: string; readonly tool: ToolEntry }
  | { readonly kind: "note"; readonly at: string; readonly text: string };

export interface ToolEntry {
  readonly name: string;
  /** The operator's call, not the model's. */
  readonly own: boolean;
  /** The command (as the operator edited it), path or URL. Empty if the output says more. */
  title: string;
  /** What the model proposed, if the operator edited it. */
  proposed: string | undefined;
  readonly where: string;
  /** The arguments; empty if they are not valid JSON. */
  readonly args: Readonly<Record<string, unknown>>;
  cwd: string | undefined;
  /** Undefined if it did not run. */
  began: string | undefined;
  ended: string | undefined;
  ms: number;
  /** How it went on each of several machines. */
  machines: NonNullable<ToolFinishedEvent["machines"]>;
  /** Id of the full output. */
  outputId: string | undefined;
  /** `output` has only parts of what was printed. */
  outputCut: boolean;
  /** When its lines were printed. */
  lines: readonly LineTime[];
  output: string;
  outcome: string;
  ok: boolean;
  exitCode: number | undefined;
  /** Undefined if it ran without a question. */
  answer: Pick<Answered, "decision" | "by"> | undefined;
  /** Who approved or denied it, and why, in words. */
  approval: string;
}

type Answered = AgentEvent & { type: "approval_answered" };

/** A shell command of the model or the operator. */
export function isCommand({ name }: ToolEntry): boolean {
  return name === "run_shell" || name === OPERATOR;
}

const OPERATOR = "you";

/** It may have changed something: a person or a rule had to approve it, or the operator typed it. */
export function wasApproved({ own, answer }: ToolEntry): boolean {
  return answer !== undefined || own;
}

/** It started, and was not stopped. */
export function ran(tool: ToolEntry): boolean {
  return RAN.has(tool.outcome) || ranOn(tool).length > 0;
}

/** Of several machines, those that it started on. */
export function ranOn({ machines }: ToolEntry): readonly string[] {
  return machines.filter(({ outcome }) => RAN.has(outcome)).map(({ machine }) => machine);
}

const RAN = new Set(words("exited running waiting still-running background done"));

export function readTranscript(path: string, id: string): Transcript {
  const entries: TranscriptEntry[] = [];
  const tools = new Map<string, ToolEntry>();
  const about = { started: "", model: "", target: "", who: "" };
  /** The turn after the operator's own calls only says that they were made. */
  let own = false;

  const show = (tool: ToolEntry): void => void entries.push({ kind: "tool", at: timeOf(tool), tool });
  const add = (event: AgentEvent, again?: () => AgentEvent | undefined): void => {
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
        if (!own) entries.push({ kind: "prompt", at, text: event.shown ?? event.prompt });
        own = false;
        break;
      case "message": {
        const { content, reasoning = "", toolCalls } = event.message;
        if (content || reasoning) entries.push({ kind: "answer", at, text: content ?? "", reasoning });
        for (const call of toolCalls) {
          const tool = newEntry(call, event.target);
          tools.set(call.id, tool);
          const entry = { kind: "tool", at, tool } as const;
          // Its time is that of its effect, once that is known.
          entries.push(Object.defineProperty(entry, "at", { enumerable: true, get: () => timeOf(tool, at) }));
        }
        break;
      }
      case "approval_answered": {
        const tool = tools.get(event.call) ?? ownEntry(event.call, event.target);
        tools.set(event.call, tool);
        if (tool.answer?.decision !== "approved") tool.answer = { decision: event.decision, by: event.by };
        const on = event.machines === undefined ? "" : ` on ${foldNames(event.machines)}`;
        const words = [`${decisionWords(event)}${on}`, event.reason].filter(Boolean).join(": ");
        // A canary is asked about first, then the others.
        tool.approval = [tool.approval, words].filter(Boolean).join("; ");
        if (event.edited !== undefined) {
          tool.proposed = tool.title;
          tool.title = event.edited;
        }
        break;
      }
      case "tool_finished": {
        const known = tools.get(event.call);
        if (known === undefined && event.title === undefined) break;
        const tool = known ?? ownEntry(event.call, event.target);
        if (tool.own) {
          Object.assign(tool, { name: event.tool, title: event.title ?? "" });
          own = true;
        }
        tool.cwd = event.cwd;
        tool.began = event.began;
        tool.ended = at;
        tool.ms = event.ms;
        tool.outputId = event.output_id;
        tool.outputCut = event.output_cut === true;
        tool.lines = event.lines ?? [];
        tool.machines = event.machines ?? [];
        tool.outcome = event.outcome;
        tool.ok = event.ok && (event.exit_code ?? 0) === 0;
        if (tool.approval === "" && tool.own) tool.approval = "your own command";
        else if (tool.approval === "" && event.exit_code !== undefined) tool.approval = "ran without approval";
        tool.exitCode = event.exit_code;
        // The operator's refusal is shown as the approval.
        const refused = tool.answer?.decision === "denied" && tool.answer.by === "operator";
        const text = refused ? "" : resultText(event);
        if (text.length <= MOST_HELD || again === undefined) tool.output = text;
        else Object.defineProperty(tool, "output", { enumerable: true, get: () => outputIn(again()) });
        // A checklist says more than its arguments.
        if (event.display !== undefined && !tool.own && mainArgument(tool.args) === undefined) tool.title = "";
        if (tool.own) show(tool);
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
        own = false;
        if (event.status !== "answered")
          entries.push({ kind: "note", at, text: `The turn ended: ${event.status.replace("_", " ")}` });
        break;
    }
  };
  const { damaged } = readEvents(path, add);
  return { id, ...about, damaged, entries };
}

function outputIn(event: AgentEvent | undefined): string {
  return event?.type === "tool_finished" ? resultText(event) : "";
}

const MOST_HELD = 4096;

function decisionWords({ decision, by }: Answered): string {
  switch (by) {
    case "no-terminal":
      return `${decision}: no terminal to ask on`;
    case "timeout":
      return `${decision}: no answer in time`;
    case "cancelled":
      return `${decision}: stopped before it was answered`;
    case "mode":
      return `auto-${decision}`;
    case "prefix":
      return `${decision}: similar command allowed earlier`;
    case "operator":
      return `${decision} by the operator`;
  }
}

/** A call that no message has. */
function ownEntry(call: string, target: string): ToolEntry {
  return { ...newEntry({ id: call, name: OPERATOR, arguments: "{}" }, target), own: true };
}

function timeOf({ began, ended }: ToolEntry, called = ""): string {
  return began ?? ended ?? called;
}

function newEntry(call: ToolCall, where: string): ToolEntry {
  const args = jsonObject(call.arguments);
  return {
    name: call.name,
    own: false,
    title: args === undefined ? call.arguments : titleOf(args),
    args: args ?? {},
    cwd: undefined,
    began: undefined,
    ended: undefined,
    ms: 0,
    machines: [],
    outputId: undefined,
    outputCut: false,
    lines: [],
    proposed: undefined,
    where,
    output: "",
    outcome: "no result",
    ok: false,
    exitCode: undefined,
    answer: undefined,
    approval: "",
  };
}

function titleOf(args: Readonly<Record<string, unknown>>): string {
  const main = mainArgument(args);
  return typeof main === "string" ? main : JSON.stringify(main ?? args);
}

function mainArgument(args: Readonly<Record<string, unknown>>): unknown {
  return args.command ?? args.path ?? args.url ?? args.query ?? args.keys ?? args.pane ?? args.shell_id;
}

// ── A session as one Markdown document.

/** In pieces, so that a long session is not in memory twice. */
export function* exportMarkdown(transcript: Transcript): Generator<string> {
  const { id, started, model, target, damaged, entries } = transcript;
  const head = [`# buddy session ${id}`, "", `- started: ${started}`, `- model: ${model}`, `- target: ${target}`];
  if (damaged > 0) head.push(`- damaged lines skipped: ${damaged}`);
  yield showText(`${head.join("\n")}\n\n`);
  for (const entry of entries) yield showText(`${section(entry)}\n`);
}

function section(entry: TranscriptEntry): string {
  switch (entry.kind) {
    case "prompt":
      return `## ${entry.at}: prompt\n\n${quote(entry.text)}\n`;
    case "answer":
      return [entry.reasoning && `${quote(`(reasoning) ${entry.reasoning}`)}\n`, entry.text && `${entry.text}\n`]
        .filter(Boolean)
        .join("\n");
    case "tool":
      return toolSection(entry.tool);
    case "note":
      return `${quote(`note: ${entry.text}`)}\n`;
  }
}

function toolSection(tool: ToolEntry): string {
  const facts = [tool.name, `on ${tool.where}`, summaryOf(tool), tool.approval].filter(Boolean).join(" · ");
  const proposed = tool.proposed === undefined ? "" : `# the model proposed: ${tool.proposed}\n`;
  const command = `${proposed}${isCommand(tool) ? `$ ${tool.title}` : tool.title}`;
  return `**${facts}**\n\n${codeBlock([command, tool.output].filter(Boolean).join("\n"), "text")}\n`;
}

export function summaryOf(tool: ToolEntry): string {
  if (tool.machines.length === 0) return ending(tool.exitCode, stopped(tool) ?? tool.outcome);
  const same = Map.groupBy(tool.machines, ({ exit_code, outcome }) => ending(exit_code, outcome));
  return [...same]
    .map(([how, machines]) => `${how} on ${foldNames(machines.map(({ machine }) => machine))}`)
    .join(", ");
}

function ending(exitCode: number | undefined, outcome: string): string {
  return exitCode === undefined ? outcome : `exit code ${exitCode}`;
}

/** It had begun when the operator or a time limit ended it: it may have had effects. */
export function stopped({ began, outcome, ms }: ToolEntry): string | undefined {
  if (began === undefined || (outcome !== "timeout" && outcome !== "cancelled")) return undefined;
  return `${outcome === "timeout" ? "stopped by the time limit" : "stopped"} after ${formatDuration(ms)}`;
}

function quote(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}
