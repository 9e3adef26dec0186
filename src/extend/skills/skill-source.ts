/** Skills for the model: a list of names in the system prompt, and the text of one when it asks. */
import type { LoadedSkill, SkillSource } from "../../tools/skill.ts";
import type { Skill } from "./find-skills.ts";
import { runbookUsage } from "../runbook.ts";
import { hashFolder, listFolder, readInFolder, SKILL_FILE } from "./skill-folder.ts";
import { parseSkill } from "./skill.ts";
import { shorten } from "../../lib/text.ts";

/** For the system prompt: bounded, and the same bytes for the same skills. */
export function skillInstructions(skills: readonly Skill[]): string {
  const lines: string[] = [];
  let room = MOST_LISTED;
  for (const { name, description } of skills) {
    const short = shorten(description, MOST_DESCRIPTION);
    const line = room > short.length ? `- ${name}: ${short}` : `- ${name}`;
    room -= line.length;
    if (room < 0) {
      lines.push(`- and ${skills.length - lines.length} more, which the operator can name`);
      break;
    }
    lines.push(line);
  }
  return `Skills: the operator's instructions for certain tasks. If one fits, load it with the skill tool first.\n\n${lines.join("\n")}`;
}

/** `label` names a target that is another machine, which does not have the files of a skill. */
export function skillSource(skills: readonly Skill[], label: () => string | undefined): SkillSource {
  return { load: (name, file) => Promise.resolve(load(skills, label(), name, file)) };
}

function load(
  skills: readonly Skill[],
  label: string | undefined,
  name: string,
  file: string | undefined,
): LoadedSkill {
  const skill = skills.find((one) => one.name === name);
  if (skill === undefined) {
    const names = skills.map((one) => one.name).slice(0, 100);
    return { kind: "refused", why: `there is no skill "${name}". Available: ${names.join(", ")}` };
  }
  const { folder } = skill;
  const heading = `Skill ${name}${folder === undefined ? " (built in)" : `, ${folder}`}`;
  if (folder === undefined) {
    if (file !== undefined) return { kind: "refused", why: `the built-in skill ${name} has no files` };
    return { kind: "loaded", heading, text: skill.body, notes: [] };
  }
  const wanted = file ?? SKILL_FILE;
  const content = readInFolder(folder, wanted);
  // Checked after the read, so that what was read is what was trusted.
  if (skill.hash !== undefined && hashFolder(folder) !== skill.hash)
    return {
      kind: "refused",
      why: `skill ${name} has changed since the operator trusted it; buddy asks about it at its next start`,
    };
  if (content.kind === "refused") return { kind: "refused", why: `skill ${name}: ${content.why}` };
  if (file !== undefined) return { kind: "loaded", heading: `${heading}: ${wanted}`, text: content.text, notes: [] };
  const { skill: now, problems } = parseSkill(content.text, name);
  if (now === undefined) return { kind: "refused", why: `skill ${name}: ${problems.join("; ")}` };
  return { kind: "loaded", heading, text: now.body, notes: [...parameterNote(now), ...fileNotes(folder, label)] };
}

function parameterNote({ name, runbook }: Pick<Skill, "name" | "runbook">): string[] {
  if (runbook === undefined) return [];
  const readOnly = runbook.readOnly ? " It is read-only: change nothing." : "";
  const on = runbook.on.length === 0 ? "" : ` It is meant for: ${runbook.on.join(", ")}.`;
  return [`This is a runbook: ${runbookUsage(name, runbook.parameters)}.${on}${readOnly}`];
}

function fileNotes(folder: string, label: string | undefined): string[] {
  const listing = listFolder(folder);
  const files = listing.kind === "files" ? listing.files.filter((path) => path !== SKILL_FILE) : [];
  if (files.length === 0) return [];
  const names = files.slice(0, MOST_FILES);
  const more = files.length > names.length ? `, and ${files.length - names.length} more` : "";
  const where =
    label === undefined
      ? `They are in ${folder}: run scripts from there with run_shell, like any command.`
      : `They are not on the target (${label}): read one with the skill tool and \`file\`, then use its content there.`;
  return [`Files beside it: ${names.join(", ")}${more}. ${where}`];
}

const MOST_LISTED = 8_000;
const MOST_DESCRIPTION = 500;
const MOST_FILES = 50;
