/** Runbooks of a run: found by name, checked against the target, and made into a prompt. */
import { defined } from "../../lib/values.ts";
import type { TurnOptions } from "../../agent/loop.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Skill } from "../../extend/skills/find-skills.ts";
import { BuddyError } from "../../lib/errors.ts";
import { shorten, closestMatch } from "../../lib/text.ts";
import type { Place } from "../../targets/place.ts";
import { knownSkills } from "./extensions.ts";

export interface PreparedRunbook {
  readonly prompt: string;
  /** The machine that its parameters name. */
  readonly target?: string;
  readonly turn: Pick<TurnOptions, "readOnly">;
  /** Throws if it may not run on a target with these names. */
  requireTarget(names: readonly string[]): void;
}

export async function prepareRunbook(
  loaded: LoadedConfig,
  name: string,
  words: readonly string[],
  /** Asks whether to trust those of a repository. */
  ask: boolean,
): Promise<PreparedRunbook> {
  const { skills } = await knownSkills(loaded, { ask });
  const skill = findRunbook(skills, name);
  const { namedTarget, requireTarget, runbookPrompt, runbookValues } = await import("../../extend/runbook.ts");
  await requireUnchanged(skill);
  const values = runbookValues(skill, words);
  const target = namedTarget(skill, values);
  return {
    prompt: runbookPrompt(skill, values),
    ...defined({ target }),
    turn: skill.runbook?.readOnly === true ? { readOnly: true } : {},
    requireTarget: (names) => requireTarget(skill, names),
  };
}

function findRunbook(skills: readonly Skill[], name: string): Skill {
  const skill = skills.find((one) => one.name === name);
  // Any skill can be run, as a runbook without parameters.
  if (skill !== undefined) return skill;
  const names = skills.filter(({ runbook }) => runbook !== undefined).map((one) => one.name);
  const meant = closestMatch(name, names);
  throw new BuddyError(
    "usage",
    `there is no runbook "${shorten(name, 100)}"${meant === undefined ? "" : `; did you mean ${meant}?`}`,
    { hint: `Runbooks: ${names.join(", ")}. See: buddy skills` },
  );
}

async function requireUnchanged({ folder, hash, name }: Skill): Promise<void> {
  if (folder === undefined || hash === undefined) return;
  const { hashFolder } = await import("../../extend/skills/skill.ts");
  if (hashFolder(folder) === hash) return;
  throw new BuddyError("usage", `runbook ${name} has changed since you trusted it`, {
    hint: "Start buddy on a terminal to be asked again.",
  });
}

/** The names of a target, for `on` of a runbook and for a parameter that names the machine. */
export function targetNames({ names, path }: Place, host?: string): string[] {
  const written = path.flatMap((hop) => (hop.kind === "ssh" ? [hop.destination] : []));
  return [...new Set([...names, ...written, ...(host === undefined ? [] : [host])])];
}
