/** Whether a folder is a valid skill, with everything that is wrong with it. */
import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { listFolder, SKILL_FILE } from "./skill-folder.ts";
import { parseSkill } from "./skill.ts";

export interface SkillCheck {
  readonly name?: string;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly files: number;
}

export function checkSkill(dir: string): SkillCheck {
  const folder = resolve(dir);
  const wrong = (...problems: string[]): SkillCheck => ({ problems, warnings: [], files: 0 });
  if (!existsSync(folder)) return wrong(`${dir} does not exist`);
  if (!statSync(folder).isDirectory()) return wrong(`${dir} is not a directory`);
  const file = join(folder, SKILL_FILE);
  if (!existsSync(file)) return wrong(`there is no ${SKILL_FILE} in ${dir}`);
  const listing = listFolder(folder);
  if (listing.kind === "refused") return wrong(listing.why);
  if (lstatSync(file).size > MOST_TEXT) return wrong(`${SKILL_FILE} has more than ${MOST_TEXT} bytes`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch {
    return wrong(`${SKILL_FILE} cannot be read as UTF-8 text`);
  }
  const { skill, problems, warnings } = parseSkill(text, basename(folder));
  const long = text.split("\n").length;
  return {
    ...(skill === undefined ? {} : { name: skill.name }),
    problems,
    warnings: [
      ...warnings,
      ...(long > ADVISED_LINES ? [`${SKILL_FILE} has ${long} lines; put details into files beside it`] : []),
    ],
    files: listing.files.length,
  };
}

/** The format advises to stay below. */
const ADVISED_LINES = 500;
const MOST_TEXT = 256 * 1024;
