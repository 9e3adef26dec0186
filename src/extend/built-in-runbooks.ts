/** The runbooks that ship inside the binary. */
import certificateCheck from "../../templates/runbooks/certificate-check.md" with { type: "text" };
import diskFull from "../../templates/runbooks/disk-full.md" with { type: "text" };
import hostSlow from "../../templates/runbooks/host-slow.md" with { type: "text" };
import { parseSkill, type SkillText } from "./skill.ts";

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
