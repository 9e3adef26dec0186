/**
 * A session as the draft of a runbook (SKILL.md), to be edited by a person: the prompts, the commands that worked, and
 * the values that look like parameters.
 */
import { codeBlock, shorten } from "../../lib/text.ts";
import { isCommand, ran, type Transcript, wasApproved } from "./transcript.ts";

export function exportRunbook(transcript: Transcript): string {
  const { id, entries, started, target } = transcript;
  const prompts: string[] = [];
  for (const entry of entries) if (entry.kind === "prompt") prompts.push(entry.text);
  const steps = stepsOf(transcript);
  const parameters = parametersOf(
    prompts,
    steps.flatMap(({ commands }) => commands),
  );
  const fill = (text: string): string => parameters.reduce(withPlaceholder, text);
  const title = firstLine(prompts[0] ?? "") || `Session ${id}`;
  const front = [
    "---",
    `name: ${nameOf(title, id)}`,
    `description: ${JSON.stringify(shorten(`${fill(title)}. Use when … (say when).`, MOST_DESCRIPTION))}`,
    ...(steps.every(({ changes }) => !changes) ? ["mode: read-only"] : []),
    ...(parameters.length === 0 ? ["parameters: {}"] : ["parameters:", ...parameters.flatMap(parameterLines)]),
    "---",
  ];
  const body = [
    `# ${fill(title)}`,
    "",
    `<!-- A draft from buddy session ${id} (${started.slice(0, 10)}, ${target.replaceAll("--", "—")}): edit it before you use it. -->`,
    "",
    ...steps.flatMap(({ prompt, commands }, index) => [
      `## ${index + 1}. ${shorten(firstLine(fill(prompt)), 100)}`,
      "",
      codeBlock(commands.map(fill).join("\n"), "sh"),
      "",
    ]),
    ...(steps.length === 0 ? ["No command of this session worked: write down the steps.", ""] : []),
  ];
  return `${[...front, ...body].join("\n").trimEnd()}\n`;
}

interface Step {
  readonly prompt: string;
  readonly commands: string[];
  changes: boolean;
}

/** The commands that worked, each once, by the prompt they belong to. */
function stepsOf({ entries }: Transcript): Step[] {
  const steps: Step[] = [];
  const seen = new Set<string>();
  let current: Step = { prompt: "", commands: [], changes: false };
  for (const entry of entries) {
    if (entry.kind === "prompt") current = { prompt: entry.text, commands: [], changes: false };
    if (entry.kind !== "tool") continue;
    const { tool } = entry;
    if (ran(tool) && wasApproved(tool)) current.changes = true;
    if (!isCommand(tool) || !ran(tool) || !tool.ok || seen.has(tool.title)) continue;
    seen.add(tool.title);
    current.commands.push(tool.title);
    if (!steps.includes(current)) steps.push(current);
  }
  return steps;
}

interface FoundParameter {
  readonly name: string;
  readonly value: string;
  readonly description: string;
}

/** Words of the prompts that are also words of commands and look like values: addresses, paths, names, numbers. */
function parametersOf(prompts: readonly string[], commands: readonly string[]): FoundParameter[] {
  const words = new Set(
    prompts.flatMap((prompt) => prompt.split(/[\s,;:!?"'`()[\]{}]+/).map((word) => word.replace(/\.+$/, ""))),
  );
  const found: FoundParameter[] = [];
  for (const value of words) {
    const kind = KINDS.find(({ pattern }) => pattern.test(value));
    if (kind === undefined || value.length < 2 || value.length > 200) continue;
    if (!commands.some((command) => asWord(value).test(command))) continue;
    const same = found.filter(({ name }) => name.replace(/-\d+$/, "") === kind.name).length;
    found.push({ name: same === 0 ? kind.name : `${kind.name}-${same + 1}`, value, description: kind.description });
    if (found.length === MOST_PARAMETERS) break;
  }
  // Longest first: one value may be the beginning of another.
  return found.sort((a, b) => b.value.length - a.value.length);
}

const KINDS = [
  { name: "address", pattern: /^\d{1,3}(?:\.\d{1,3}){3}(?:\/\d+)?$/, description: "an address" },
  { name: "url", pattern: /^https?:\/\/\S+$/, description: "a URL" },
  { name: "path", pattern: /^(?:~|\.{1,2})?\/[\w./@+-]+$/, description: "a path" },
  { name: "unit", pattern: /^[\w@-]+\.(?:service|timer|socket|mount|target)$/, description: "a systemd unit" },
  { name: "host", pattern: /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+$/i, description: "a host name" },
  { name: "name", pattern: /^(?=.*[\d_-])[A-Za-z][\w-]+$/, description: "a name" },
  { name: "number", pattern: /^\d{2,}$/, description: "a number" },
] as const;

function asWord(value: string): RegExp {
  return new RegExp(`(?<![\\w.@/-])${value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w-])`, "g");
}

function withPlaceholder(text: string, { name, value }: FoundParameter): string {
  return text.replace(asWord(value), () => `{{${name}}}`);
}

function parameterLines({ name, value, description }: FoundParameter): string[] {
  return [`  ${name}:`, `    description: ${description}`, `    default: ${JSON.stringify(value)}`];
}

/** A valid name of a skill: lower-case letters, digits and single hyphens. */
function nameOf(title: string, id: string): string {
  const name = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .split("-")
    .filter((word) => word !== "" && !FILLERS.has(word))
    .slice(0, 5)
    .join("-")
    .slice(0, 48)
    .replace(/-+$/, "");
  return name === "" ? `session-${id.slice(0, 4)}` : name;
}

const FILLERS = new Set("the a an is are was why what how please and or of to in on for my our it".split(" "));

function firstLine(text: string): string {
  return (
    text
      .trim()
      .split("\n")[0]
      ?.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ")
      .trim()
      .replace(/[.?!]+$/, "") ?? ""
  );
}

const MOST_PARAMETERS = 8;
const MOST_DESCRIPTION = 900;
