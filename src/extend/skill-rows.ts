/** Skills and runbooks as lines for a person. */
import type { Skill } from "./find-skills.ts";
import { runbookUsage } from "./runbook.ts";
import { shorten } from "../lib/text.ts";

export function skillRows(skills: readonly Skill[]): string[] {
  const [runbooks, others] = [skills.filter(isRunbook), skills.filter((skill) => !isRunbook(skill))];
  return [
    ...(runbooks.length === 0 ? [] : ["Runbooks: /run NAME, buddy exec --run NAME"]),
    ...runbooks.flatMap(rows),
    ...(others.length === 0 ? [] : ["Skills: the model loads them by itself"]),
    ...others.flatMap(rows),
  ];
}

function isRunbook({ runbook }: Skill): boolean {
  return runbook !== undefined;
}

function rows({ name, description, from, folder, runbook }: Skill): string[] {
  const notes = [
    ...(runbook?.readOnly === true ? ["read-only"] : []),
    ...(runbook === undefined || runbook.on.length === 0 ? [] : [`on ${runbook.on.join(", ")}`]),
    from === "built-in" ? "built in" : from === "repository" ? `repository, ${folder}` : (folder ?? ""),
  ];
  const short = shorten(description, SHORT);
  return [`  ${runbookUsage(name, runbook?.parameters ?? [])}  (${notes.join("; ")})`, `    ${short}`];
}

const SHORT = 200;
