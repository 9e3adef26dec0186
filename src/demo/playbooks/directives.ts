/** Lines such as `run: uptime` in a prompt, each as a plan of its own. */
import type { Call, Plan } from "./plan.ts";
import type { Round } from "./rounds.ts";
import { shellCall } from "./shell-call.ts";
import { resultWords } from "./result-words.ts";

export interface Directive {
  readonly verb: Verb;
  readonly value: string;
}

const VERBS = ["run", "background", "read", "fetch", "search"] as const;
type Verb = (typeof VERBS)[number];
const LINE = new RegExp(`^\\s*(${VERBS.join("|")}):\\s*(.*)$`, "i");

/** What `buddy exec` puts below the operator's own words: piped text, and the schema of the answer. */
const ADDED = /^\s*(?:```|~~~|<stdin)|^Text from standard input \(data|^Answer with one JSON value only/m;

/** The operator's own words: attached text may mention anything. */
export function ownWords(prompt: string): string {
  return prompt.split(ADDED, 1)[0] ?? "";
}

/** A command continues to the next directive, so here-documents work; attached text is data. */
export function directivesIn(prompt: string): Directive[] {
  const found: { verb: Verb; lines: string[] }[] = [];
  for (const line of ownWords(prompt).split("\n")) {
    const match = LINE.exec(line);
    if (match) found.push({ verb: match[1]!.toLowerCase() as Verb, lines: [match[2] ?? ""] });
    else if (found.at(-1)?.verb === "run") found.at(-1)?.lines.push(line);
  }
  return found.map(({ verb, lines }) => ({ verb, value: lines.join("\n").trim() })).filter(({ value }) => value !== "");
}

export function planFor(directive: Directive): Plan {
  const call = callFor(directive);
  return { stages: [() => ({ calls: [call] })], answer: ([round]) => (round ? answerFor(directive, round) : "") };
}

function callFor({ verb, value }: Directive): Call {
  switch (verb) {
    case "run":
      return shellCall(value, "the operator asked for this command");
    case "background":
      return shellCall(value, "the operator asked for this command in the background", { mode: "background" });
    case "read":
      return { tool: "read_file", args: { path: value } };
    case "fetch":
      return { tool: "fetch_url", args: { url: value } };
    case "search":
      return { tool: "web_search", args: { query: value } };
  }
}

function answerFor({ verb, value }: Directive, round: Round): string {
  const id = round.value["shell_id"];
  if (verb === "background" && typeof id === "string") {
    return `\`${value}\` runs in the background as ${id}, pid ${String(round.value["pid"])}; its output goes to ${String(round.value["output_file"])}.`;
  }
  return resultWords(TITLE[verb](value), round);
}

const TITLE: Record<Verb, (value: string) => string> = {
  run: (value) => (value.includes("\n") ? `The script of ${value.split("\n").length} lines` : `\`${value}\``),
  background: (value) => `\`${value}\``,
  read: (value) => `\`${value}\``,
  fetch: (value) => value,
  search: (value) => `The search for “${value}”`,
};
