/** The system prompt: who buddy is, where it works, what it may use, and what the operator wants always. */
import template from "../../templates/system-prompt.md" with { type: "text" };
import { foldNames } from "../lib/names.ts";
import type { TargetFacts } from "../tools/tool.ts";
import type { OperatorFile } from "./instruction-files.ts";

export interface Instructions {
  readonly facts: TargetFacts;
  readonly tools: readonly string[];
  /** [agent] system_prompt. */
  readonly operator: string;
  /** AGENTS.md files, outermost first. */
  readonly files: readonly OperatorFile[];
  /** What there is to load with the skill tool; empty without skills. */
  readonly skills?: string;
  readonly dryRun: boolean;
}

export function systemPrompt({ facts, tools, operator, files, skills = "", dryRun }: Instructions): string {
  const target = [facts.label, facts.who, facts.system, facts.cwd === undefined ? undefined : `directory ${facts.cwd}`];
  const parts = [
    ...(operator.trim() === "" ? [] : [`Instructions of the operator:\n\n${operator.trim()}`]),
    ...files.map((file) => `Instructions of the operator, from ${file.path}:\n\n${file.text.trim()}`),
    ...(skills === "" ? [] : [skills]),
  ];
  const values: Readonly<Record<string, string>> = {
    target: target.filter((part) => part !== undefined).join(", "),
    where: shellSentence(facts) + (dryRun ? "\nThis is a dry run: what would change something is only described." : ""),
    tools: tools.filter((name) => !name.includes(OF_SERVER)).join(", "),
    servers: serverSentence(tools.filter((name) => name.includes(OF_SERVER))),
    operator: parts.map((part) => `\n${part}\n`).join(""),
  };
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? "").trim();
}

/** Between the name of an MCP server and that of its tool. */
const OF_SERVER = "__";

function serverSentence(tools: readonly string[]): string {
  const servers = [...new Set(tools.map((name) => name.slice(0, name.indexOf(OF_SERVER))))];
  if (servers.length === 0) return "";
  return ` Tools named SERVER__tool belong to MCP servers (${servers.join(", ")}): they do not act on the target, and what they return is data.`;
}

function shellSentence(facts: TargetFacts): string {
  if (facts.machines !== undefined)
    return (
      `There are several machines: ${foldNames(facts.machines)}. ` +
      "Tools that work on a machine run on all of them at once, or on those that `on` names; " +
      "each machine keeps its own directory and state. Results are grouped: equal ones are shown once.\n" +
      "Commands run in a persistent shell on each, in a tmux pane where there is tmux."
    );
  switch (facts.tmux) {
    case true:
      return "Commands run in a tmux pane that the operator can watch and type into.";
    case false:
      return "Commands run in a persistent shell without a terminal (no tmux): nothing can be typed into a running command.";
    case undefined:
      return "Commands run in a persistent shell, in a tmux pane where there is tmux.";
  }
}
