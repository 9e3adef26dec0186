/** One result of many machines: equal answers together, the others as a diff against the largest group. */
import { foldNames } from "../lib/names.ts";
import { boundText } from "./bound-output.ts";
import { unifiedDiff } from "./diff.ts";
import { withNotes } from "./notes.ts";
import type { ToolResult } from "./tool.ts";
import { plural } from "../lib/text.ts";

export interface MachineResult {
  readonly machine: string;
  readonly result: ToolResult;
  readonly ms: number;
  /** Of the whole output, if the result has only parts of it. */
  readonly digest?: string;
}

export interface ResultGroup {
  readonly machines: readonly string[];
  /** The result of the first, for all of them. */
  readonly sample: MachineResult;
  /** What it printed, or what happened instead. */
  readonly text: string;
}

/**
 * Groups with the same outcome and text, the largest first; machines without an answer come last. `answerOf`: what must
 * be equal, if the text is only a summary of it.
 */
export function groupResults(
  results: readonly MachineResult[],
  textOf: (one: MachineResult) => string = printedBy,
  answerOf = textOf,
): ResultGroup[] {
  const groups = new Map<string, { machines: string[]; sample: MachineResult; text: string }>();
  for (const one of results) {
    const answer = answerOf(one);
    const { outcome, exitCode, outputs = [], images = [] } = one.result;
    // Ids and the machine's own name in a message do not make answers different.
    const unnumbered = outputs.reduce((rest, id) => rest.replaceAll(id, SAME), answer);
    const named = renamed(one, unnumbered, () => SAME);
    // A newline at the end of the output makes no difference.
    const neutral = one.result.printed === undefined ? named : withEnd(named);
    const hashes = images.map(({ data }) => String(Bun.hash(data)));
    const key = JSON.stringify([outcome, exitCode, neutral, one.digest, hashes]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { machines: [one.machine], sample: one, text: textOf(one) });
    else group.machines.push(one.machine);
  }
  const rank = ({ sample }: ResultGroup): number => (answered(sample) ? 0 : 1);
  return [...groups.values()]
    .map((group) => ({ ...group, text: renamed(group.sample, group.text, () => foldNames(group.machines)) }))
    .sort((a, b) => rank(a) - rank(b) || b.machines.length - a.machines.length);
}

/**
 * Replaces the machine's name in what buddy says about it: in the whole text if the machine gave no answer; in the line
 * before the output if the command did not end.
 */
function renamed(one: MachineResult, text: string, name: () => string): string {
  const { ok, exitCode, printed } = one.result;
  if (printed !== undefined || (answered(one) && (ok || exitCode !== undefined))) return text;
  const end = answered(one) ? text.indexOf("\n") : -1;
  const words = end < 0 ? text : text.slice(0, end);
  return words.replace(wholeName(one.machine), name) + text.slice(words.length);
}

/** The tool ran on the machine, with or without success. */
export function answered({ result }: MachineResult): boolean {
  return !UNANSWERED.has(result.outcome);
}

const UNANSWERED = new Set(["unreachable", "not-run", "left-out", "denied", "cancelled", "still-running"]);

export function groupedResult(results: readonly MachineResult[], budget: number): ToolResult {
  const outcomes = new Set(results.map(({ result }) => result.outcome));
  const codes = new Set(results.map(({ result }) => result.exitCode));
  const [outcome = "done"] = outcomes;
  const [code] = codes;
  const groups = groupResults(results);
  // What a command printed is shown to people as it is.
  const shown = results.every(({ result }) => result.printed !== undefined)
    ? groups
    : groupResults(results, shownBy, (one) => shownBy(one) + printedBy(one));
  // In the order of the groups, so that it is clear which machine each is from.
  const images = groups.flatMap(({ sample }) => sample.result.images ?? []);
  return {
    ok: results.every(({ result }) => result.ok),
    outcome: outcomes.size === 1 ? outcome : "mixed",
    ...(codes.size === 1 && code !== undefined ? { exitCode: code } : {}),
    result: groupedText(results, groups, budget, false),
    display: groupedText(results, shown, PEOPLE, true),
    outputs: results.flatMap(({ result }) => result.outputs ?? []),
    ...(images.length === 0 ? {} : { images: images.slice(0, MOST_IMAGES) }),
  };
}

/** Providers accept about twenty in a request. */
const MOST_IMAGES = 8;

/** Characters for people; the whole output is stored. */
const PEOPLE = 8_000;

/** `people`: without advice to the model. */
function groupedText(
  results: readonly MachineResult[],
  groups: readonly ResultGroup[],
  budget: number,
  people: boolean,
): string {
  const first = groups[0];
  const bodies = groups.map((group) => body(group, first));
  const summary = summaryLine(results, groups);
  const shown: string[] = [];
  let room = budget - summary.length;
  for (const [at, group] of groups.entries()) {
    const left = groups.length - at;
    const share = Math.max(LEAST_BODY, Math.floor(room / (at === 0 ? Math.min(2, left) : left)));
    if (room < LEAST_BODY && left > 1) {
      shown.push(restLine(groups.slice(at), people));
      break;
    }
    const text = section(group, bodies[at]!, share, people);
    room -= text.length + 2;
    shown.push(text);
  }
  return shown.reduce((all, text, at) => {
    const short = !text.includes("\n") && !(shown[at - 1] ?? summary).includes("\n");
    return `${all}${short && at > 0 ? "\n" : "\n\n"}${text}`;
  }, summary);
}

/** `12 machines: 9 ok, 2 failed, 1 unreachable (web05)`. */
function summaryLine(results: readonly MachineResult[], groups: readonly ResultGroup[]): string {
  const parts: string[] = [];
  const count = (what: string, fits: (one: MachineResult) => boolean): void => {
    const machines = results.filter(fits).map(({ machine }) => machine);
    if (machines.length === 0) return;
    parts.push(`${machines.length} ${what}${what === "ok" ? "" : ` (${foldNames(machines)})`}`);
  };
  count("ok", (one) => answered(one) && one.result.ok);
  const notOk = new Map(results.filter((one) => !answered(one) || !one.result.ok).map((one) => [one, notOkWords(one)]));
  for (const what of new Set(["failed", ...notOk.values()])) count(what, (one) => notOk.get(one) === what);
  const answers = groups.filter(({ sample }) => answered(sample)).length;
  const kinds = answers > 1 ? `; ${answers} different answers` : "";
  return `${plural(results.length, "machine")}: ${parts.join(", ")}${kinds}`;
}

function notOkWords({ result: { outcome } }: MachineResult): string {
  return OUTCOME_WORDS[outcome] ?? (UNANSWERED.has(outcome) ? outcome : "failed");
}

const OUTCOME_WORDS: Readonly<Record<string, string>> = {
  "not-run": "not run",
  "left-out": "left out",
  "still-running": "still running",
  running: "still running",
  waiting: "waiting for input",
  lost: "lost",
};

interface Body {
  readonly text: string;
  readonly diff: boolean;
}

/** A diff where it is shorter than the text. */
function body(group: ResultGroup, first: ResultGroup | undefined): Body {
  const whole = { text: group.text, diff: false };
  if (first === undefined || group === first || !answered(group.sample) || !answered(first.sample)) return whole;
  if (lineCount(group.text) < LINES_WORTH_A_DIFF) return whole;
  const diff = unifiedDiff(withEnd(first.text), withEnd(group.text));
  return diff !== "" && diff.length < group.text.length ? { text: diff, diff: true } : whole;
}

function section(group: ResultGroup, { text, diff }: Body, room: number, people: boolean): string {
  const { machines, sample } = group;
  const names = foldNames(machines);
  const { exitCode, outcome, outputId } = sample.result;
  const facts = [
    ...(machines.length > 1 ? [`${machines.length} machines`] : []),
    ...(exitCode !== undefined ? (exitCode === 0 ? [] : [`exit code ${exitCode}`]) : outcomeWords(outcome)),
    ...(diff ? ["only the difference from the first group is shown"] : []),
    ...((diff || text.length > room) && outputId !== undefined ? [`full text: ${outputName(outputId, people)}`] : []),
  ];
  const head = facts.length === 0 ? names : `${names} (${facts.join("; ")})`;
  const how = (offset: number): string =>
    outputId === undefined
      ? "ask one machine with on"
      : people
        ? `output ${outputId}`
        : `get them with shell_output output_id="${outputId}" offset=${diff ? 0 : offset}`;
  const bounded = boundText(text.replace(/\n$/, ""), room, how);
  if (bounded === "") return head;
  return bounded.includes("\n") ? `${head}:\n${bounded}` : `${head}: ${bounded}`;
}

function outcomeWords(outcome: string): string[] {
  return outcome === "done" || outcome === "exited" ? [] : [OUTCOME_WORDS[outcome] ?? outcome];
}

function outputName(id: string, people: boolean): string {
  return people ? `output ${id}` : `output_id="${id}"`;
}

function restLine(groups: readonly ResultGroup[], people: boolean): string {
  const machines = groups.flatMap((group) => group.machines);
  const ids = groups.flatMap(({ machines: [name = ""], sample: { result } }) =>
    result.outputId === undefined ? [] : [`${name} ${result.outputId}`],
  );
  const known = ids.slice(0, MOST_IDS).join(", ");
  const more = ids.length > MOST_IDS ? ", …" : "";
  const how = people ? "" : " Narrow the command, or ask fewer machines with on.";
  return boundText(
    `[${groups.length} more different answers of ${machines.length} machines are not shown: ${foldNames(machines)}.${how}${known === "" ? "" : ` Full texts by id: ${known}${more}.`}]`,
    MOST_REST,
    () => "left out",
  );
}

/** With the notes, so that machines that differ only in what buddy says are not one group. */
export function printedBy({ result }: MachineResult): string {
  const { result: text, printed } = withNotes(result);
  if (printed === undefined) return typeof text === "string" ? text : JSON.stringify(text);
  return String(withNotes({ ...result, result: printed }).result);
}

function shownBy(one: MachineResult): string {
  const { printed, display } = withNotes(one.result);
  return printed === undefined ? (display ?? printedBy(one)) : printedBy(one);
}

/** Not inside another word: a machine may be called `n`. */
function wholeName(name: string): RegExp {
  return new RegExp(String.raw`(?<![\w-])${RegExp.escape(name)}(?![\w-])`, "g");
}

function withEnd(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}

function lineCount(text: string): number {
  return text.split("\n", LINES_WORTH_A_DIFF + 1).length;
}

/** Stands for what may differ. */
const SAME = "\u0001";
const LINES_WORTH_A_DIFF = 4;
const LEAST_BODY = 160;
const MOST_IDS = 20;
const MOST_REST = 1_500;
