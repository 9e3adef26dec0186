/** The built-in `demo` model: a script that understands a few requests, uses the real tools and reports the results. */
import type { ModelRequest } from "../model/types.ts";
import type { Playbook, PlaybookReply } from "./demo-client.ts";
import { GUIDED_TASKS } from "./guided-tasks.ts";
import { follow, lastPrompt, roundsOf, type Call, type Plan, type Round, shellCall, resultWords } from "./plan.ts";
import { isRecord } from "../lib/values.ts";

export const demo: Playbook = (request) => {
  const reply = answerTo(request);
  if (!request.outputSchema || reply.toolCalls) return reply;
  return { ...reply, text: JSON.stringify(exampleOf(request.outputSchema, reply.text ?? "")) };
};

function answerTo(request: ModelRequest): PlaybookReply {
  const prompt = lastPrompt(request);
  const [first] = request.messages;
  if (request.tools.length === 0 && first?.role === "system" && /compact|summar/i.test(first.content))
    return { text: summary(prompt) };
  const directives = directivesIn(prompt);
  const own = ownWords(prompt);
  const plans =
    directives.length > 0
      ? directives.map(planFor)
      : GUIDED_TASKS.filter((task) => task.about.test(own)).map((task) => task.plan);
  return plans.length > 0 ? follow(plans, roundsOf(request), request) : { text: HELP };
}

const HELP = `I am buddy's built-in demo model: a script, not a language model. I understand a few things, do them with the real tools, and report the results.

- \`run: <command>\` runs a command (\`background: <command>\` detached)
- \`read: <path>\` reads a file
- \`fetch: <url>\` gets a web page
- \`search: <words>\` searches the web
- or ask about the disk, the memory, the processes, or this repository

For real conversations choose a model: \`buddy login\`, a key in BUDDY_API_KEY, or a local server. \`buddy doctor\` shows what works.`;

/** What was asked and done, from the transcript of a session. */
function summary(log: string): string {
  const lines = log.split("\n").flatMap((line, at, all) => {
    if (all[at - 1] === "## user") return `- asked: ${line.slice(0, 200)}`;
    return line.startsWith("calls ") ? `- ${line.slice(0, 200)}` : [];
  });
  return ["Summary made by the demo script:", ...lines.slice(-40)].join("\n");
}

// Lines such as `run: uptime` in a prompt, each as a separate plan.

export interface Directive {
  readonly verb: Verb;
  readonly value: string;
}

const VERBS = ["run", "background", "read", "fetch", "search"] as const;
type Verb = (typeof VERBS)[number];
const LINE = new RegExp(`^\\s*(${VERBS.join("|")}):\\s*(.*)$`, "i");

/** What buddy adds below the operator's own words: piped text, the schema of the answer, notes about the machine. */
const ADDED =
  /^\s*(?:```|~~~|<stdin)|^Text from standard input \(data|^Answer with one JSON value only|^\[What the operator wrote/m;

/** The operator's own words: attached text may mention anything. */
export function ownWords(prompt: string): string {
  return prompt.split(ADDED, 1)[0] ?? "";
}

/** A command continues up to the next directive, so that here-documents work; attached text is data. */
function directivesIn(prompt: string): Directive[] {
  const found: { verb: Verb; lines: string[] }[] = [];
  for (const line of ownWords(prompt).split("\n")) {
    const match = LINE.exec(line);
    if (match) found.push({ verb: match[1]!.toLowerCase() as Verb, lines: [match[2] ?? ""] });
    else if (found.at(-1)?.verb === "run") found.at(-1)?.lines.push(line);
  }
  return found.map(({ verb, lines }) => ({ verb, value: lines.join("\n").trim() })).filter(({ value }) => value !== "");
}

function planFor(directive: Directive): Plan {
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

// The smallest value that fits a JSON Schema, with the answer in its first text.

function exampleOf(schema: unknown, answer: string): unknown {
  let unused: string | undefined = answer;
  return build(schema, 0);

  function build(node: unknown, depth: number): unknown {
    if (!isRecord(node) || depth > 16) return null;
    if ("const" in node) return node["const"];
    if (Array.isArray(node["enum"])) return node["enum"][0];
    const choice = [node["anyOf"], node["oneOf"], node["allOf"]].find(Array.isArray);
    if (choice) return build(choice[0], depth + 1);
    if (typeof node["$ref"] === "string") return build(resolve(node["$ref"]), depth + 1);
    const type: unknown = Array.isArray(node["type"])
      ? node["type"][0]
      : (node["type"] ?? (node["properties"] ? "object" : "string"));
    switch (type) {
      case "object":
        return buildObject(node, depth);
      case "array":
        return Array.from({ length: size(node["minItems"]) }, () => build(node["items"], depth + 1));
      case "integer":
      case "number":
        return typeof node["minimum"] === "number" ? Math.ceil(node["minimum"]) : 0;
      case "boolean":
        return false;
      case "null":
        return null;
      default:
        return buildText(node);
    }
  }

  function buildObject(node: Record<string, unknown>, depth: number): unknown {
    const properties = isRecord(node["properties"]) ? node["properties"] : {};
    const required = Array.isArray(node["required"]) ? node["required"].map(String) : [];
    const names = new Set([...required, ...Object.keys(properties)]);
    return Object.fromEntries([...names].map((name) => [name, build(properties[name] ?? {}, depth + 1)]));
  }

  function buildText(node: Record<string, unknown>): string {
    const text = unused ?? "";
    unused = undefined;
    const most = typeof node["maxLength"] === "number" ? node["maxLength"] : text.length;
    return text.slice(0, most).padEnd(size(node["minLength"]), "-");
  }

  function resolve(ref: string): unknown {
    return ref
      .split("/")
      .slice(1)
      .reduce<unknown>((node, part) => (isRecord(node) ? node[part] : undefined), schema);
  }
}

function size(value: unknown): number {
  return typeof value === "number" ? Math.min(value, 1000) : 0;
}
