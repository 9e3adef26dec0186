/** `buddy skills`: what there is to load and to run, and whether a folder is a valid skill. */
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { log } from "../../../lib/log.ts";
import { defineCommand } from "../../command.ts";
import { plural } from "../../../lib/text.ts";

export const command = defineCommand({
  name: "skills",
  args: {
    action: {
      type: "positional",
      required: false,
      choices: ["list", "check"],
      description: "list (default), or check a folder",
    },
    dir: { type: "positional", required: false, description: "with check: the folder that holds SKILL.md" },
    json: { type: "boolean", description: "print as JSON" },
  },
  examples: [
    ["buddy skills", "skills and runbooks, and where they come from"],
    ["buddy skills check .agents/skills/deploy", "is it a valid skill?"],
  ],
  async run({ args: { action = "list", dir, json }, globals }) {
    if (action === "check") {
      if (dir === undefined)
        throw new BuddyError("usage", "buddy skills check needs a folder", { hint: "buddy skills check DIR" });
      return check(dir, json === true);
    }
    if (dir !== undefined) throw new BuddyError("usage", `too many arguments: "${dir}"`);
    const { loadConfiguration } = await import("../../../app/configuration.ts");
    const { knownSkills } = await import("../../../app/extensions/extensions.ts");
    const { skills, notices } = await knownSkills(await loadConfiguration(globals, { create: false }));
    const { showLine } = await import("../../../policy/screen/terminal-text.ts");
    for (const notice of notices) log.warn(showLine(notice));
    if (json === true) {
      const rows = skills.map(({ name, description, from, folder, runbook }) => ({
        name,
        description,
        from,
        folder: folder ?? null,
        runbook: runbook ?? null,
      }));
      await print([jsonText(rows, 2)]);
      return EXIT.ok;
    }
    const { skillRows } = await import("../../../extend/skills/find-skills.ts");
    await print([`${skillRows(skills).map(showLine).join("\n")}\n`]);
    return EXIT.ok;
  },
});

async function check(dir: string, json: boolean): Promise<ExitCode> {
  const { checkSkill } = await import("../../../extend/skills/skill.ts");
  const { showLine } = await import("../../../policy/screen/terminal-text.ts");
  const { name, problems, warnings, files } = checkSkill(dir);
  if (json) await print([jsonText({ valid: problems.length === 0, name: name ?? null, problems, warnings, files }, 2)]);
  else {
    const lines = [
      ...problems.map((text) => `problem: ${text}`),
      ...warnings.map((text) => `warning: ${text}`),
      problems.length === 0
        ? `${name ?? dir} is a valid skill (${plural(files, "file")})`
        : `${dir} is not a valid skill`,
    ];
    await print([`${lines.map(showLine).join("\n")}\n`]);
  }
  return problems.length === 0 ? EXIT.ok : EXIT.failure;
}
