/** The directories in which skills are looked for; all that a start pays where there are none. */
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
  // In a home that is a repository, or holds the working directory, the operator's own stay the operator's.
  return places.filter(
    ({ directory }, at) => existsSync(directory) && places.findIndex((other) => other.directory === directory) === at,
  );
}

/** From the working directory to the root of its repository; the directory alone outside one. */
function upToRoot(cwd: string): string[] {
  const chain: string[] = [];
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    chain.push(directory);
    if (existsSync(join(directory, ".git"))) return chain;
    if (directory === dirname(directory)) return [resolve(cwd)];
  }
}

/** A place to look for skills, the strongest first: of two with the same name the first counts. */
export interface SkillPlace {
  readonly directory: string;
  /** Set where the files may be someone else's: the repository they must not leave. */
  readonly repository?: string;
}
