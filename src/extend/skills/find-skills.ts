/** The skills of a session: the operator's own, those of the repository that are trusted, and the built-in ones. */
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import certificateCheck from "../../../templates/runbooks/certificate-check.md" with { type: "text" };
import diskFull from "../../../templates/runbooks/disk-full.md" with { type: "text" };
import hostSlow from "../../../templates/runbooks/host-slow.md" with { type: "text" };
import { messageOf } from "../../lib/errors.ts";
import { readTextFile } from "../../lib/files.ts";
import { shorten } from "../../lib/text.ts";
import type { LoadedSkill, SkillSource } from "../../tools/skill.ts";
import { runbookUsage } from "../runbook.ts";
import type { SkillPlace } from "./skill-places.ts";
import {
  hashFolder,
  inside,
  listFolder,
  MOST_SKILL_TEXT,
  parseSkill,
  readInFolder,
  SKILL_FILE,
  type SkillText,
} from "./skill.ts";

export interface Skill extends SkillText {
  readonly from: "own" | "repository" | "built-in";
  /** Undefined for the built-in ones. */
  readonly folder?: string;
  /** Of the whole folder when it was trusted; a skill that changed since then is not loaded. */
  readonly hash?: string;
}

interface FoundSkills {
  readonly skills: readonly Skill[];
  /** What was skipped, and why. */
  readonly notices: readonly string[];
}

export interface SkillQuestion {
  readonly repository: string;
  readonly skills: readonly { readonly skill: SkillText; readonly folder: string; readonly files: number }[];
}

export interface SkillTrust {
  /** The answer to this content of this folder; undefined: never asked. */
  remembered(folder: string, hash: string): boolean | undefined;
  remember(folder: string, hash: string, trusted: boolean): void;
  /** Absent without a terminal; resolves undefined without an answer. */
  readonly ask?: ((question: SkillQuestion) => Promise<boolean | undefined>) | undefined;
}

export async function findSkills(
  places: readonly SkillPlace[],
  builtIn: readonly SkillText[],
  trust: SkillTrust,
): Promise<FoundSkills> {
  const notices: string[] = [];
  const found = places.flatMap((place) =>
    foldersOf(place, notices).flatMap((folder) => read(folder, place, notices) ?? []),
  );
  const trusted = await trustedOf(found, trust, notices);
  const skills = new Map<string, Skill>();
  for (const skill of [...trusted, ...builtIn.map((one): Skill => ({ ...one, from: "built-in" }))]) {
    const first = skills.get(skill.name);
    if (first === undefined) skills.set(skill.name, skill);
    else if (skill.folder !== undefined)
      notices.push(`skill ${skill.folder} is not used: ${first.folder ?? "a built-in one"} has the same name`);
  }
  return { skills: [...skills.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)), notices };
}

interface Candidate {
  readonly skill: SkillText;
  readonly folder: string;
  readonly place: SkillPlace;
}

function foldersOf({ directory, repository }: SkillPlace, notices: string[]): string[] {
  try {
    if (repository !== undefined && !inside(directory, realpathSync(repository))) {
      notices.push(`${directory} was not read: it is a link out of the repository`);
      return [];
    }
    const names = readdirSync(directory)
      .filter((name) => !name.startsWith("."))
      .toSorted();
    if (names.length > MOST_SKILLS) notices.push(`${directory}: only the first ${MOST_SKILLS} skills are used`);
    return names
      .slice(0, MOST_SKILLS)
      .map((name) => join(directory, name))
      .filter(isFolder);
  } catch (error) {
    notices.push(`${directory} was not read: ${messageOf(error)}`);
    return [];
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // It leads nowhere, such as a link to itself.
    return false;
  }
}

function read(folder: string, place: SkillPlace, notices: string[]): Candidate | undefined {
  const pass = (why: string): undefined => void notices.push(`skill ${folder} was skipped: ${why}`);
  if (place.repository !== undefined && !inside(folder, realpathSync(place.repository)))
    return pass("it is a link out of the repository");
  const file = join(folder, SKILL_FILE);
  if (!existsSync(file)) return undefined;
  const listing = listFolder(folder);
  if (listing.kind === "refused") return pass(listing.why);
  let text: string;
  try {
    text = readTextFile(file, MOST_SKILL_TEXT);
  } catch (error) {
    return pass(`${SKILL_FILE}: ${messageOf(error)}`);
  }
  const { skill, problems } = parseSkill(text, basename(folder));
  return skill === undefined ? pass(problems.join("; ")) : { skill, folder, place };
}

/** The operator's own, and those of the repository whose present content is trusted. */
async function trustedOf(found: readonly Candidate[], trust: SkillTrust, notices: string[]): Promise<Skill[]> {
  const judged = found.map((one) => {
    const hash = one.place.repository === undefined ? undefined : hashFolder(one.folder);
    return { ...one, hash, trusted: hash === undefined ? undefined : trust.remembered(one.folder, hash) };
  });
  const open = judged.filter(
    ({ place, hash, trusted }) => place.repository !== undefined && hash !== undefined && trusted === undefined,
  );
  let answer: boolean | undefined;
  if (open.length > 0 && trust.ask !== undefined) {
    const skills = open.map(({ skill, folder }) => ({ skill, folder, files: fileCount(folder) }));
    answer = await trust.ask({ repository: open[0]!.place.repository ?? "", skills });
    if (answer !== undefined) for (const { folder, hash } of open) trust.remember(folder, hash ?? "", answer);
  }
  const unasked: string[] = [];
  const usable = judged.flatMap(({ skill, folder, place, hash, trusted }): Skill[] => {
    if (place.repository === undefined) return [{ ...skill, folder, from: "own" }];
    if (hash === undefined) return [];
    if (trusted ?? answer) return [{ ...skill, folder, from: "repository", hash }];
    if (trusted === undefined && answer === undefined) unasked.push(skill.name);
    return [];
  });
  if (unasked.length > 0)
    notices.push(
      `untrusted skills of the repository are not used: ${unasked.join(", ")}; start buddy on a terminal to be asked about them`,
    );
  return usable;
}

function fileCount(folder: string): number {
  const listing = listFolder(folder);
  return listing.kind === "files" ? listing.files.length : 0;
}

const MOST_SKILLS = 200;

/** The runbooks that ship inside the binary. */
export function builtInRunbooks(): readonly SkillText[] {
  return Object.entries(TEXTS).map(([name, text]) => {
    const { skill, problems } = parseSkill(text, name);
    if (skill === undefined) throw new Error(`the built-in runbook ${name} is damaged: ${problems.join("; ")}`);
    return skill;
  });
}

const TEXTS: Readonly<Record<string, string>> = {
  "certificate-check": certificateCheck,
  "disk-full": diskFull,
  "host-slow": hostSlow,
};

/** For people: runbooks first, then the rest. */
export function skillRows(skills: readonly Skill[]): string[] {
  const [runbooks, others] = [skills.filter(isRunbook), skills.filter((skill) => !isRunbook(skill))];
  return [
    ...(runbooks.length === 0 ? [] : ["Runbooks: /run NAME, buddy exec --run NAME"]),
    ...runbooks.flatMap(rows),
    ...(others.length === 0 ? [] : ["Skills: the model loads them when it needs them"]),
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

// ── Skills for the model: a list of names in the system prompt, and the text of one when it asks.

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
