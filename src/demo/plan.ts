/** A plan: stages of tool calls, and an answer from their real results; the conversation shows how far it is. */
import { isRecord, jsonObject } from "../lib/values.ts";
import type { ModelRequest, ToolDefinition } from "../model/types.ts";
import type { PlaybookReply } from "./demo-client.ts";
import { codeBlock, collapseSpaces } from "../lib/text.ts";

export interface Plan {
  /** Each gets the results so far; no calls: the stage is skipped. */
  readonly stages: readonly ((seen: readonly Round[]) => Stage)[];
  answer(seen: readonly Round[]): string;
}

export interface Stage {
  readonly say?: string;
  readonly calls: readonly Call[];
}

export interface Call {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The next calls of these plans, or all their answers. */
export function follow(plans: readonly Plan[], rounds: readonly Round[], request: ModelRequest): PlaybookReply {
  let rest = [...rounds];
  const answers: string[] = [];
  for (const plan of plans) {
    const seen: Round[] = [];
    let missing: string | undefined;
    for (const stage of plan.stages) {
      const { say, calls } = stage(seen);
      if (calls.length === 0) continue;
      missing = calls.find((call) => !request.tools.some((tool) => tool.name === call.tool))?.tool;
      if (missing !== undefined) break;
      if (rest.length < calls.length)
        return { ...(say !== undefined && { text: say }), toolCalls: toolCalls(calls, request.tools) };
      seen.push(...rest.splice(0, calls.length));
    }
    answers.push(missing === undefined ? plan.answer(seen) : notOffered(missing));
  }
  return { text: answers.join("\n\n") };
}

function notOffered(tool: string): string {
  return `I would use the tool \`${tool}\` for that, but it is not offered (switched off in the configuration, or not possible on this target).`;
}

/** Sends only fields that the tool's schema has. */
function toolCalls(calls: readonly Call[], tools: readonly ToolDefinition[]) {
  return calls.map(({ tool, args }) => {
    const properties = tools.find((offered) => offered.name === tool)?.parameters["properties"];
    const known = isRecord(properties)
      ? Object.entries(args).filter(([name]) => name in properties)
      : Object.entries(args);
    return { name: tool, args: Object.fromEntries(known) };
  });
}

// What has happened since the operator's last message: the calls, and what the tools returned.

export interface Round {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly outcome: Outcome;
  readonly exitCode: number | undefined;
  /** What the tool returned, without a first line that only names the outcome. */
  readonly text: string;
  /** The payload, if it is not text. */
  readonly value: Readonly<Record<string, unknown>>;
}

export type Outcome =
  "ok" | "failed" | "unfinished" | "timed-out" | "blocked" | "refused" | "dry-run" | "cancelled" | "error";

export function lastPrompt(request: ModelRequest): string {
  return request.messages.findLast((message) => message.role === "user")?.content ?? "";
}

export function roundsOf(request: ModelRequest): Round[] {
  const from = request.messages.findLastIndex((message) => message.role === "user");
  const recent = request.messages.slice(from + 1);
  const rounds: Round[] = [];
  for (const message of recent) {
    if (message.role !== "assistant") continue;
    for (const call of message.toolCalls) {
      const result = recent.find((other) => other.role === "tool" && other.callId === call.id);
      if (result)
        rounds.push({ tool: call.name, args: jsonObject(call.arguments) ?? {}, ...read(result.content ?? "") });
    }
  }
  return rounds;
}

function read(content: string): Pick<Round, "outcome" | "exitCode" | "text" | "value"> {
  const envelope = jsonObject(content);
  const result = envelope !== undefined && "result" in envelope ? envelope["result"] : (envelope ?? content);
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
  ["error", /^(error|not fetched|not found|not read|the search failed):/i],
  ["error", /^DuckDuckGo( blocked this|'s page no longer| answered with HTTP)/],
  // Waiting for input, lost, sent without waiting, a shell that ended: the tool's own text explains it.
  [
    "unfinished",
    /^\[(not run:|the shell ended|lost|waiting for|interactive|full-screen|command incomplete|command sent)/,
  ],
];

/** The readable part of a structured result. */
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

// A call of run_shell, with its four declared fields.

export function shellCall(command: string, why: string, more: Readonly<Record<string, unknown>> = {}): Call {
  return { tool: "run_shell", args: { command, ...declared(command), why, ...more } };
}

/** A guess from the words of the command; buddy's policy judges for itself, and the stricter view counts. */
function declared(command: string): { risk: "low" | "medium" | "high"; mutation: boolean; privesc: boolean } {
  const privesc = /(^|[\s;&|(])(sudo|su|doas|pkexec)\s/.test(command);
  const dangerous =
    /(^|[\s;&|(])(rm|dd|mkfs\S*|shutdown|reboot|halt|fdisk|parted|wipefs|kill|pkill|killall|chmod|chown|iptables)\s/.test(
      command,
    );
  const looks =
    !privesc && !dangerous && READS.test(command) && !/[>]|\btee\b|-delete\b|-exec\b|\bsed\s+-i/.test(command);
  return { risk: dangerous || privesc ? "high" : looks ? "low" : "medium", mutation: !looks, privesc };
}

const READS =
  /^\s*(ls|cat|head|tail|df|du|free|ps|uptime|uname|hostname|whoami|id|date|pwd|echo|printf|grep|egrep|rg|find|wc|stat|file|which|type|env|printenv|seq|true|false|sleep|sort|uniq|cut|awk|sed|git\s+(status|log|diff|show|branch)|lsblk|lscpu|mount|ip|ss|netstat|vm_stat|sw_vers|test|\[)(\s|$|;)/;

// A tool's real result in plain words.

export function resultWords(what: string, round: Round): string {
  const verb = VERB[round.tool] ?? "answered";
  switch (round.outcome) {
    case "ok":
      return round.text.trim() === ""
        ? `${what} ${verb}; there was no output.`
        : `${what} ${verb}:\n\n${block(round.text)}`;
    case "failed":
      return `${what} failed with exit code ${round.exitCode}${round.text.trim() === "" ? "." : `:\n\n${block(round.text)}`}`;
    case "unfinished":
      return `${what} did not end as usual:\n\n${block(round.text)}`;
    case "timed-out":
      return `${what} did not finish in time:\n\n${block(round.text)}`;
    case "blocked":
      return `${what} was not run, the policy does not allow it: ${collapseSpaces(round.text.replace(/^not allowed:?\s*/i, ""))}`;
    case "refused":
      return `${what} was not run: ${firstSentence(round.text.replace(/^refused:?\s*/i, ""))}`;
    case "dry-run":
      return `${what} was not run, this is a dry run: ${collapseSpaces(round.text)}`;
    case "cancelled":
      return `${what} was cancelled.`;
    case "error":
      return `${what} did not work: ${collapseSpaces(round.text.replace(/^[a-z ]+:\s*/i, ""))}`;
  }
}

const VERB: Readonly<Record<string, string>> = {
  run_shell: "succeeded",
  read_file: "contains",
  fetch_url: "says",
  web_search: "found",
};

const MOST_LINES = 60;

export function block(text: string): string {
  const lines = text.replace(/\s+$/, "").split("\n");
  const shown =
    lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), `… ${lines.length - MOST_LINES} more lines`] : lines;
  return codeBlock(shown.join("\n"));
}

/** What follows it is advice to the model. */
function firstSentence(text: string): string {
  return collapseSpaces(text).split(/(?<=[.!?])\s/)[0] ?? "";
}
