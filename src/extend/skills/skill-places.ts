/** The directories with skills; without any, this is all that a start runs of them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { repositoryDirectories } from "../../lib/user-directories.ts";

/** Those that exist, the strongest first. */
export function skillPlaces(config: string | undefined, home: string | undefined, cwd: string): SkillPlace[] {
  const places: SkillPlace[] = [];
  if (config !== undefined) places.push({ directory: join(config, "skills") });
  if (home !== undefined) places.push({ directory: join(home, ".agents/skills") });
  const directories = repositoryDirectories(cwd);
  const repository = directories[0] ?? cwd;
  for (const directory of directories.toReversed())
    for (const name of [".buddy/skills", ".agents/skills"])
      places.push({ directory: join(directory, name), repository });
  // A directory of the operator's own stays theirs, also in a home that is a repository.
  return places.filter(
    ({ directory }, at) => existsSync(directory) && places.findIndex((other) => other.directory === directory) === at,
  );
}

/** Of two skills with the same name, that of the first place counts. */
export interface SkillPlace {
  readonly directory: string;
  /** The repository that the files belong to and must not leave; such skills need trust. */
  readonly repository?: string;
}
