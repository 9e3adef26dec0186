/** What has happened since the operator's last message: the calls that were made and what the tools really said. */
import { isRecord } from "../../lib/is-record.ts";
import type { ScriptedRequest } from "../server/read-request.ts";

export interface Round {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly outcome: Outcome;
  readonly exitCode: number | undefined;
  /** What the tool said, without the first line where that only tells the outcome. */
  readonly text: string;
  /** The payload, where it is not text. */
  readonly value: Readonly<Record<string, unknown>>;
}

export type Outcome =
  "ok" | "failed" | "unfinished" | "timed-out" | "blocked" | "refused" | "dry-run" | "cancelled" | "error";

export function lastPrompt(request: ScriptedRequest): string {
  return request.messages.findLast((message) => message.role === "user")?.content ?? "";
}

export function roundsOf(request: ScriptedRequest): Round[] {
  const from = request.messages.findLastIndex((message) => message.role === "user");
  const recent = request.messages.slice(from + 1);
  const rounds: Round[] = [];
  for (const message of recent) {
    for (const call of message.calls) {
      const result = recent.find((other) => other.role === "tool" && other.callId === call.id);
      if (result) rounds.push({ tool: call.name, args: object(call.arguments), ...read(result.content) });
    }
  }
  return rounds;
}

function object(text: string): Readonly<Record<string, unknown>> {
  const value = parsed(text);
  return isRecord(value) ? value : {};
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function read(content: string): Pick<Round, "outcome" | "exitCode" | "text" | "value"> {
  const envelope = parsed(content);
  const result = isRecord(envelope) && "result" in envelope ? envelope["result"] : (envelope ?? content);
  const value = isRecord(result) ? result : {};
  const whole = typeof result === "string" ? result : textIn(value);
  for (const [outcome, pattern] of OUTCOMES) {
    const found = pattern.exec(whole);
    if (!found) continue;
    const ownLine = outcome === "failed" || outcome === "timed-out" || outcome === "dry-run";
    const text = ownLine ? whole.slice(found[0].length).trimStart() : whole;
    return { outcome, exitCode: found[1] === undefined ? undefined : Number(found[1]), text, value };
  }
  if (typeof value["error"] === "string") return { outcome: "error", exitCode: undefined, text: value["error"], value };
  return { outcome: "ok", exitCode: 0, text: whole === "(no output)" ? "" : whole, value };
}

const OUTCOMES: readonly (readonly [Outcome, RegExp])[] = [
  ["failed", /^\[command failed: exit code (-?\d+)\]/],
  ["timed-out", /^\[command timed out after [^\]]*\]/],
  ["dry-run", /^\[dry run\]/],
  ["cancelled", /^operation cancelled by user/],
  ["blocked", /^Not allowed: /],
  ["refused", /^(The operator refused this|Refused: )/],
  ["error", /^(error|not fetched|not found|not read|the search could not be made):/i],
  ["error", /^DuckDuckGo( blocked this|'s page no longer| answered with HTTP)/],
  // Waiting for input, lost, sent without waiting, a shell that ended: the tool's own words say it best.
  [
    "unfinished",
    /^\[(not run:|the shell ended|lost|waiting for|interactive|full-screen|command incomplete|command sent)/,
  ],
];

/** The readable part of a structured result, under the names tools use for it. */
function textIn(value: Readonly<Record<string, unknown>>): string {
  const parts = ["text", "content", "output", "stdout", "stderr", "results"].flatMap((key) => {
    const part = value[key];
    if (typeof part === "string") return part.trim() === "" ? [] : part;
    return Array.isArray(part) ? part.map((entry) => lineOf(entry)) : [];
  });
  return parts.length > 0
    ? parts.join("\n")
    : Object.keys(value).length === 0
      ? ""
      : JSON.stringify(value, undefined, 2);
}

function lineOf(entry: unknown): string {
  if (!isRecord(entry)) return String(entry);
  return (
    ["title", "url", "snippet"].flatMap((key) => (typeof entry[key] === "string" ? entry[key] : [])).join(" · ") ||
    JSON.stringify(entry)
  );
}
