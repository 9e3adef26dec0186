/** The built-in `demo` model: a script that understands a few requests, uses the real tools and reports the results. */
import { isRecord } from "../lib/values.ts";
import type { ModelRequest } from "../model/types.ts";
import type { Playbook, PlaybookReply } from "./demo-client.ts";
import {
  block,
  type Call,
  follow,
  lastPrompt,
  type Plan,
  resultWords,
  type Round,
  roundsOf,
  shellCall,
} from "./plan.ts";

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

interface Directive {
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
function ownWords(prompt: string): string {
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

// ── The questions that the demo model can answer: disk, memory, processes, this repository.

interface GuidedTask {
  readonly about: RegExp;
  readonly plan: Plan;
}

const GUIDED_TASKS: readonly GuidedTask[] = [
  {
    about: /\b(disks?|storage|file ?systems?|space|df)\b/i,
    plan: {
      stages: [() => ({ calls: [shellCall("df -hP", "see how full the disks are")] })],
      answer: ([df]) => diskWords(df),
    },
  },
  {
    about: /\b(memory|ram|swap|oom)\b/i,
    plan: {
      stages: [
        () => ({ calls: [shellCall("free -m", "see how much memory is in use")] }),
        // A small Linux has no free; macOS has neither free nor /proc.
        ([free]) => ({
          calls:
            free?.outcome === "failed"
              ? [shellCall("cat /proc/meminfo 2>/dev/null || vm_stat", "see how much memory is in use")]
              : [],
        }),
      ],
      answer: (seen) => memoryWords(seen.at(-1)),
    },
  },
  {
    about: /\b(process(es)?|cpu|load|busy|slow|running|ps|top)\b/i,
    plan: {
      stages: [
        () => ({
          calls: [
            shellCall("uptime", "see the load"),
            shellCall("ps -eo pid,user,pcpu,pmem,comm --sort=-pcpu | head -n 6", "see the busiest processes"),
          ],
        }),
        // BusyBox and macOS know other options.
        ([, ps]) => ({
          calls:
            ps && processRows(ps).length === 0 && ps.outcome !== "refused"
              ? [shellCall("ps", "see the processes")]
              : [],
        }),
      ],
      answer: (seen) => processWords(seen),
    },
  },
  {
    about: /\b(repo(sitory)?|git|commits?|branch|project|code ?base|director(y|ies)|folder)\b/i,
    plan: {
      stages: [
        () => ({
          calls: [
            shellCall("git status --short --branch", "see the state of the repository"),
            shellCall("git log --oneline -n 5", "see the latest commits"),
            shellCall("ls -1", "see what is here"),
          ],
        }),
      ],
      answer: (seen) => repositoryWords(seen),
    },
  },
];

function diskWords(df: Round | undefined): string {
  if (!df) return "";
  const all = df.text.split("\n").flatMap((line) => {
    const found = /^(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\d+)%\s+(\/.*)$/.exec(line.trim());
    if (!found) return [];
    const [, of, size, used, free, percent, at] = found as unknown as string[];
    return { of: of!, size: size!, used: used!, free: free!, percent: Number(percent), at: at! };
  });
  const disks = all.filter(({ of }) => !/^(tmpfs|devtmpfs|udev|shm|none|efivarfs)$/.test(of));
  // A chroot may have no others.
  const rows = disks.length > 0 ? disks : all;
  if (df.outcome !== "ok" || rows.length === 0) return resultWords("`df -hP`", df);
  const fullest = rows.toSorted((a, b) => b.percent - a.percent).slice(0, 5);
  const lines = fullest.map(
    (row) => `- ${row.at} is ${row.percent} % full: ${row.used} of ${row.size} used, ${row.free} free`,
  );
  const worst = fullest[0]!;
  const verdict =
    worst.percent >= 90
      ? `${worst.at} is nearly full and needs attention.`
      : `No file system is nearly full; the fullest is ${worst.at}.`;
  return `${verdict}\n\n${lines.join("\n")}`;
}

function memoryWords(round: Round | undefined): string {
  if (!round) return "";
  const row = (name: string) =>
    new RegExp(`^${name}:?\\s+(.*)$`, "m").exec(round.text)?.[1]?.trim().split(/\s+/).map(Number);
  const mem = row("Mem") ?? fromMeminfo(row);
  if (round.outcome !== "ok" || !mem || mem.length < 3)
    return resultWords(`\`${String(round.args["command"])}\``, round);
  const gib = (mib: number | undefined) => `${((mib ?? 0) / 1024).toFixed(1)} GiB`;
  const [swapKib] = row("SwapTotal") ?? [];
  const swap = swapKib === undefined ? row("Swap") : [swapKib / 1024, (swapKib - (row("SwapFree")?.[0] ?? 0)) / 1024];
  const swapWords = swap?.[0] ? `Swap: ${gib(swap[1])} of ${gib(swap[0])} used.` : "There is no swap.";
  return `Memory: ${gib(mem[1])} of ${gib(mem[0])} used, ${gib(mem[5] ?? mem[2])} available to programs. ${swapWords}`;
}

/** Like the columns of `free -m`: total, used, and in the sixth place available. */
function fromMeminfo(row: (name: string) => number[] | undefined): number[] | undefined {
  const [total] = row("MemTotal") ?? [];
  const [available] = row("MemAvailable") ?? row("MemFree") ?? [];
  if (total === undefined || available === undefined) return undefined;
  return [total / 1024, (total - available) / 1024, 0, 0, 0, available / 1024];
}

interface ProcessRow {
  readonly pid: string;
  readonly user: string;
  readonly cpu: string;
  readonly memory: string;
  readonly name: string;
}

function processRows(ps: Round): ProcessRow[] {
  return ps.text.split("\n").flatMap((line) => {
    const found = /^\s*(\d+)\s+(\S+)\s+(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)\s+(.+)$/.exec(line);
    return found ? { pid: found[1]!, user: found[2]!, cpu: found[3]!, memory: found[4]!, name: found[5]!.trim() } : [];
  });
}

function processWords(seen: readonly Round[]): string {
  const [uptime, ps, plain] = seen;
  if (!uptime || !ps) return "";
  const load = /load averages?:\s*([\d.,]+)[, ]+\s*([\d.,]+)[, ]+\s*([\d.,]+)/.exec(uptime.text);
  const loadWords = load
    ? `The load over 1, 5 and 15 minutes is ${load.slice(1).join(", ").replaceAll(",,", ",")}.`
    : resultWords("`uptime`", uptime);
  const rows = processRows(ps);
  if (rows.length === 0) return `${loadWords}\n\n${resultWords("`ps`", plain ?? ps)}`;
  const lines = rows.map(
    (row) => `- ${row.name} (pid ${row.pid}, ${row.user}): ${row.cpu} % CPU, ${row.memory} % memory`,
  );
  return `${loadWords} The busiest processes:\n\n${lines.join("\n")}`;
}

function repositoryWords([status, log, files]: readonly Round[]): string {
  if (!status || !log || !files) return "";
  const entries = files.text.split("\n").filter((name) => name.trim() !== "");
  const named =
    entries.length === 0
      ? "The directory is empty."
      : `${entries.length === 1 ? "One entry" : `${entries.length} entries`} here:\n\n${block(entries.join("\n"))}`;
  const listing = files.outcome === "ok" ? named : resultWords("`ls -1`", files);
  if (status.outcome === "failed") return `This directory is not a git repository. ${listing}`;
  if (status.outcome !== "ok") return resultWords("`git status`", status);
  const [first = "", ...changes] = status.text.trimEnd().split("\n");
  const branch = first.replace(/^## /, "").replace(/^No commits yet on /, "");
  const state =
    changes.length === 0
      ? "the working tree is clean"
      : `${changes.length} ${changes.length === 1 ? "path is" : "paths are"} changed`;
  const commits =
    log.outcome === "ok" && log.text.trim() !== ""
      ? `The latest commits:\n\n${block(log.text)}`
      : "There are no commits yet.";
  return `The branch is \`${branch}\` and ${state}. ${commits}\n\n${listing}`;
}
