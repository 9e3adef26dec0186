/** What extends a run: skills and MCP servers, loaded only if there are any. */
import type { LoadedConfig } from "../../config/load.ts";
import { buddyPaths } from "../../config/paths.ts";
import type { SkillQuestion } from "../../extend/skills/find-skills.ts";
import { skillPlaces } from "../../extend/skills/skill-places.ts";
import { isTerminal } from "../../lib/terminal.ts";
import { isLocal, labelOfPath, type Place } from "../../targets/place.ts";
import type { SkillSource } from "../../tools/skill.ts";
import type { RunServers } from "./mcp-servers.ts";
import { shorten, plural } from "../../lib/text.ts";
import { messageOf } from "../../lib/errors.ts";

export interface Extensions {
  /** For the system prompt; without the built-in skills, which are for people. Empty without skills. */
  readonly instructions: string;
  readonly source?: SkillSource;
  readonly mcp?: RunServers;
  readonly notices: readonly string[];
}

/** For a run without extensions: the guided demo, a command without a model. */
export const NO_EXTENSIONS: Extensions = { instructions: "", notices: [] };

export interface ExtensionParts {
  /** Where commands run now. */
  place(): Place;
  /** Gets news from servers, at any time. */
  notice(text: string): void;
}

export async function loadExtensions(loaded: LoadedConfig, parts: ExtensionParts): Promise<Extensions> {
  const enabled = Object.values(loaded.config.mcp).some((server) => server.enabled);
  const mcp = enabled ? (await import("./mcp-servers.ts")).runServers(loaded, parts.notice) : undefined;
  const skills = mayHaveSkills(loaded) ? await loadSkills(loaded, parts) : NO_EXTENSIONS;
  return mcp === undefined ? skills : { ...skills, mcp };
}

function mayHaveSkills({ config: { tools }, env, cwd }: LoadedConfig): boolean {
  // Instructions are useless without a tool that can follow them.
  if (!tools.shell_enabled && !tools.files_enabled) return false;
  return skillPlaces(buddyPaths(env)?.dir, env.HOME, cwd).length > 0;
}

async function loadSkills(loaded: LoadedConfig, { place }: ExtensionParts): Promise<Extensions> {
  const { skills, notices } = await knownSkills(loaded, { builtIn: false });
  if (skills.length === 0) return { ...NO_EXTENSIONS, notices };
  const { skillInstructions, skillSource } = await import("../../extend/skills/find-skills.ts");
  const label = () => (isLocal(place()) ? undefined : labelOfPath(place().path));
  return { notices, instructions: skillInstructions(skills), source: skillSource(skills, label) };
}

/** Every skill that may be used; asks whether to trust those of a repository. */
export async function knownSkills(
  loaded: LoadedConfig,
  { builtIn = true, ask = true }: { readonly builtIn?: boolean; readonly ask?: boolean } = {},
) {
  const [{ builtInRunbooks, findSkills }, { rememberedTrust, rememberTrust }] = await Promise.all([
    import("../../extend/skills/find-skills.ts"),
    import("../../config/trust.ts"),
  ]);
  const problems: string[] = [];
  const places = skillPlaces(buddyPaths(loaded.env)?.dir, loaded.env.HOME, loaded.cwd);
  const found = await findSkills(places, builtIn ? await builtInRunbooks() : [], {
    remembered: (folder, hash) => rememberedTrust(folder, hash, loaded),
    remember: (folder, hash, trusted) => {
      const failure = rememberTrust(folder, hash, trusted, loaded);
      if (failure !== undefined && problems.length === 0)
        problems.push(`the answer cannot be remembered: ${messageOf(failure)}`);
    },
    ...(ask && isTerminal(2) ? { ask: askOnTerminal } : {}),
  });
  return { skills: found.skills, notices: [...found.notices, ...problems] };
}

async function askOnTerminal({ repository, skills }: SkillQuestion): Promise<boolean | undefined> {
  const [{ yesOnTerminal }, { showLine }] = await Promise.all([
    import("../../ui/questions/confirm-on-terminal.ts"),
    import("../../policy/screen/terminal-text.ts"),
  ]);
  const lines = skills.map(({ skill: { name, description, runbook }, folder, files }) => {
    const what = runbook === undefined ? "skill" : "runbook";
    return `  ${name} (${what}, ${plural(files, "file")}, ${folder}): ${shorten(description, 200)}`;
  });
  const text = [`The repository ${repository} contains skills. The model follows them as your instructions:`, ...lines];
  return yesOnTerminal(
    `${text.map(showLine).join("\n")}\nTrust ${skills.length === 1 ? "it? You will be asked again if it changes" : "them? You will be asked again if they change"}.`,
  );
}
