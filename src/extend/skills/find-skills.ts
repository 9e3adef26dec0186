/** The skills of a session: the operator's own, those of the repository that are trusted, and the built-in ones. */
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import certificateCheck from "../../../templates/runbooks/certificate-check.md" with { type: "text" };
import diskFull from "../../../templates/runbooks/disk-full.md" with { type: "text" };
import hostSlow from "../../../templates/runbooks/host-slow.md" with { type: "text" };
import { messageOf } from "../../lib/errors.ts";
import { readTextFile } from "../../lib/files.ts";
import { shorten } from "../../lib/text.ts";
import { runbookUsage } from "../runbook.ts";
import { hashFolder, inside, listFolder, MOST_SKILL_TEXT, SKILL_FILE } from "./skill-folder.ts";
import type { SkillPlace } from "./skill-places.ts";
import { parseSkill, type SkillText } from "./skill.ts";

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
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
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
