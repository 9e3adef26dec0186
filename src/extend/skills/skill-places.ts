/** The directories with skills; without any, this is all that a start runs of them. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Those that exist, the strongest first. */
export function skillPlaces(config: string | undefined, home: string | undefined, cwd: string): SkillPlace[] {
  const places: SkillPlace[] = [];
  if (config !== undefined) places.push({ directory: join(config, "skills") });
  if (home !== undefined) places.push({ directory: join(home, ".agents/skills") });
  const chain = upToRoot(cwd);
  const repository = chain.at(-1) ?? cwd;
  for (const directory of chain)
    for (const name of [".buddy/skills", ".agents/skills"])
      places.push({ directory: join(directory, name), repository });
  // A directory of the operator's own stays theirs, also in a home that is a repository.
  return places.filter(
    ({ directory }, at) => existsSync(directory) && places.findIndex((other) => other.directory === directory) === at,
  );
}

/** From the working directory to the root of its repository; outside a repository, the directory alone. */
function upToRoot(cwd: string): string[] {
  const chain: string[] = [];
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    chain.push(directory);
    if (existsSync(join(directory, ".git"))) return chain;
    if (directory === dirname(directory)) return [resolve(cwd)];
  }
}

/** Of two skills with the same name, that of the first place counts. */
export interface SkillPlace {
  readonly directory: string;
  /** The repository that the files belong to and must not leave; such skills need trust. */
  readonly repository?: string;
}
