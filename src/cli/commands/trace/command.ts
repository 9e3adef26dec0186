/** `buddy trace summary FILE`: what happened in the runs of a trace, and where the time went. */
import { realpathSync, statSync } from "node:fs";
import { TRACE_VERSION } from "../../../app/tracing.ts";
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { fileError, linesIn } from "../../../lib/files.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { clip, collapseSpaces, plural, printable } from "../../../lib/text.ts";
import { isRecord, jsonObject } from "../../../lib/values.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "trace",
  args: {
    action: {
      type: "positional",
      choices: ["summary"],
      description: "what to print: requests, tools, decisions, time",
    },
    file: { type: "positional", path: true, description: "a file written with --trace" },
    json: { type: "boolean", description: "print as JSON, one object per run" },
  },
  examples: [
    ['buddy exec --trace t.jsonl "…"', "keep a trace; BUDDY_TRACE_FILE does the same"],
    ["buddy trace summary t.jsonl", "its requests, tools, decisions and times"],
  ],
  notes:
    "A trace holds prompts, commands and answers. Keys, and text that looks like\n" +
    "one, are masked; still, read it before you attach it to a bug report.",
  async run({ args: { file, json } }) {
    const { runs, damaged } = readTrace(file ?? "");
    const summaries = runs.map(summarize);
    if (json === true) await print(summaries.map((one) => jsonText(one)));
    else await print([summaryText(summaries, damaged)]);
    return EXIT.ok;
  },
});

// ── What a reader of a bug report wants to know first, from a trace: requests, tools, decisions, errors, times.

type Row = Readonly<Record<string, unknown>>;

interface TraceRuns {
  /** The rows of each run, in the order of the first. */
  readonly runs: readonly (readonly Row[])[];
  /** Lines that are not JSON: cut off by a full disk or a kill. */
  readonly damaged: number;
}

function readTrace(path: string): TraceRuns {
  const runs = new Map<string, Row[]>();
  let damaged = 0;
  for (const line of linesOf(path)) {
    if (line.trim() === "") continue;
    const row = parse(line);
    if (row === undefined) damaged++;
    else {
      const rows = runs.get(String(row["run"])) ?? [];
      rows.push(row);
      runs.set(String(row["run"]), rows);
    }
  }
  if (runs.size === 0)
    throw new BuddyError("usage", `${path} is not a trace`, { hint: "buddy exec --trace FILE writes one" });
  return { runs: [...runs.values()], damaged };
}

function parse(line: string): Row | undefined {
  const row = jsonObject(line);
  return row?.["v"] === TRACE_VERSION && typeof row["kind"] === "string" ? row : undefined;
}

function* linesOf(path: string): Generator<string> {
  try {
    if (!statSync(path).isFile()) throw new BuddyError("usage", `${path} is not a file`);
    for (const { text } of linesIn(realpathSync(path))) yield text;
  } catch (error) {
    if (error instanceof BuddyError) throw error;
    throw new BuddyError("usage", `${path} cannot be read: ${fileError(error)}`, { cause: error });
  }
}

interface RequestSummary {
  readonly request: number;
  readonly attempt: number;
  readonly model: string;
  readonly host: string;
  readonly bytes: number;
  readonly outcome: string;
  readonly first_ms?: number;
  readonly whole_ms?: number;
  readonly input?: number;
  readonly output?: number;
}

interface ToolSummary {
  readonly tool: string;
  readonly title: string;
  readonly outcome: string;
  readonly exit_code?: number;
  readonly ms: number;
  /** How the call was decided on: run, denied, dry-run; and why. */
  readonly decision: string;
  readonly why?: string;
}

interface RunSummary {
  readonly buddy: string;
  readonly bun: string;
  readonly system: string;
  readonly argv: readonly string[];
  readonly started: string;
  /** Undefined: it did not end, or the trace was cut off. */
  readonly code?: number;
  readonly profile: string;
  readonly target: string;
  readonly requests: readonly RequestSummary[];
  readonly tools: readonly ToolSummary[];
  readonly problems: readonly string[];
  readonly ms: {
    readonly whole: number;
    readonly model: number;
    readonly tools: number;
    readonly questions: number;
    readonly retries: number;
  };
}

function summarize(rows: readonly Row[]): RunSummary {
  const start = rows.find(({ kind }) => kind === "start") ?? {};
  const end = rows.find(({ kind }) => kind === "end");
  const events = rows
    .filter(({ kind }) => kind === "event")
    .map(({ event, ms }): Row => ({ ...record(event), at: ms }));
  const requests = rows.filter(({ kind }) => kind === "request").map((row) => requestSummary(row, rows));
  const tools = events.filter(({ type }) => type === "tool_finished").map((event) => toolSummary(event, events, rows));
  const session = record(events.find(({ type }) => type === "session"));
  const waits = events.filter(({ type }) => type === "retry").map((event) => number(event["wait_ms"]) ?? 0);
  return {
    buddy: text(start["buddy"]),
    bun: text(start["bun"]),
    system: text(start["system"]),
    argv: Array.isArray(start["argv"]) ? start["argv"].map(text) : [],
    started: text(rows[0]?.["ts"]),
    ...(end === undefined ? {} : { code: number(end["code"]) ?? 0 }),
    profile: session["profile"] === undefined ? "" : `${text(session["profile"])} (${text(session["model"])})`,
    target: text(session["target"]),
    requests,
    tools,
    problems: events
      .filter(({ type }) => type === "error" || type === "warning")
      .map((event) => text(event["message"])),
    ms: {
      whole: (number(rows.at(-1)?.["ms"]) ?? 0) - (number(rows[0]?.["ms"]) ?? 0),
      model: sum(requests.map(({ whole_ms = 0 }) => whole_ms)),
      tools: sum(tools.map(({ ms }) => ms)),
      questions: questionMs(events),
      retries: sum(waits),
    },
  };
}

function requestSummary(row: Row, rows: readonly Row[]): RequestSummary {
  const of = (kind: string) => rows.find((one) => one["kind"] === kind && one["request"] === row["request"]);
  const answer = of("response");
  const failure = of("failure");
  const usage = record(answer?.["usage"]);
  const times = answer ?? failure ?? {};
  return {
    request: number(row["request"]) ?? 0,
    attempt: number(row["attempt"]) ?? 1,
    model: text(row["model"]),
    host: URL.parse(text(row["url"]))?.host ?? "",
    bytes: number(row["bytes"]) ?? 0,
    outcome:
      answer === undefined ? (failure === undefined ? "no answer" : text(failure["message"])) : text(answer["finish"]),
    ...numbers({ first_ms: times["first_ms"], whole_ms: times["whole_ms"] }),
    ...numbers({ input: usage["input"], output: usage["output"] }),
  };
}

function toolSummary(event: Row, events: readonly Row[], rows: readonly Row[]): ToolSummary {
  const started = events.find(({ type, call }) => type === "tool_started" && call === event["call"]);
  const decision = rows.find(({ kind, call }) => kind === "decision" && call === event["call"]) ?? {};
  const answered = events.find(({ type, call }) => type === "approval_answered" && call === event["call"]);
  const asked = answered === undefined ? undefined : `${text(answered["decision"])} by ${text(answered["by"])}`;
  const why = asked ?? (decision["why"] === undefined ? undefined : text(decision["why"]));
  return {
    tool: text(event["tool"]),
    title: text(started?.["title"]),
    outcome: text(event["outcome"]),
    ...numbers({ exit_code: event["exit_code"] }),
    ms: number(event["ms"]) ?? 0,
    decision: text(decision["decision"]) || "not run",
    ...(why === undefined ? {} : { why }),
  };
}

/** From each question to its answer. */
function questionMs(events: readonly Row[]): number {
  return sum(
    events
      .filter(({ type }) => type === "approval_asked")
      .map(({ approval, at }) => {
        const answered = events.find((one) => one["type"] === "approval_answered" && one["approval"] === approval);
        return answered === undefined ? 0 : (number(answered["at"]) ?? 0) - (number(at) ?? 0);
      }),
  );
}

function summaryText(runs: readonly RunSummary[], damaged: number): string {
  const parts = runs.map((run) => runText(run).join("\n"));
  if (damaged > 0) parts.push(`${plural(damaged, "line")} could not be read`);
  return `${parts.join("\n\n")}\n`;
}

function runText(run: RunSummary): string[] {
  const { ms } = run;
  const rest = Math.max(0, ms.whole - ms.model - ms.tools - ms.questions - ms.retries);
  return [
    `buddy ${run.buddy}, ${run.system}, Bun ${run.bun}, ${run.started.slice(0, 19).replace("T", " ")} UTC`,
    `  command    ${line(["buddy", ...run.argv].join(" "), 100)}`,
    ...(run.profile === "" ? [] : [`  model      ${line(run.profile, 100)}`, `  target     ${line(run.target, 100)}`]),
    `  exit code  ${run.code ?? "none: it did not end, or the trace was cut off"}`,
    `  time       ${seconds(ms.whole)}: model ${seconds(ms.model)}, tools ${seconds(ms.tools)}, ` +
      `questions ${seconds(ms.questions)}, waits for retries ${seconds(ms.retries)}, other ${seconds(rest)}`,
    ...(run.requests.length === 0 ? [] : [`  requests   ${run.requests.length}`]),
    ...run.requests.map((one) => `    ${requestText(one)}`),
    ...(run.tools.length === 0 ? [] : [`  tools      ${run.tools.length}`]),
    ...run.tools.map((one) => `    ${toolText(one)}`),
    ...run.problems.map((problem) => `  problem    ${line(problem, 200)}`),
  ];
}

function requestText({
  request,
  attempt,
  host,
  outcome,
  first_ms,
  whole_ms,
  input,
  output,
  bytes,
}: RequestSummary): string {
  const times = [
    ...(first_ms === undefined ? [] : [`first piece ${seconds(first_ms)}`]),
    ...(whole_ms === undefined ? [] : [`whole ${seconds(whole_ms)}`]),
  ];
  const tokens = input === undefined ? [] : [`${input} tokens in, ${output ?? "?"} out`];
  const again = attempt > 1 ? ` (attempt ${attempt})` : "";
  return [
    `${request}${again} ${printable(host)}: ${line(outcome, 80)}`,
    ...times,
    ...tokens,
    `${bytes} bytes sent`,
  ].join(", ");
}

function toolText({ tool, title, outcome, exit_code, ms, decision, why }: ToolSummary): string {
  const code = exit_code === undefined ? "" : ` ${exit_code}`;
  const reason = why === undefined ? "" : ` (${line(why, 60)})`;
  return `${printable(tool)} ${line(title, 60)}: ${printable(outcome)}${code}, ${seconds(ms)}; ${printable(decision)}${reason}`;
}

function line(value: string, columns: number): string {
  return clip(printable(collapseSpaces(value)), columns);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function numbers<K extends string>(values: Record<K, unknown>): Partial<Record<K, number>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => typeof value === "number")) as Partial<
    Record<K, number>
  >;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}
