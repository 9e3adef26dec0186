/** Directories of the user: where buddy keeps configuration and state, and the repository they work in. */
import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { BuddyError } from "./errors.ts";
import type { Environment } from "./values.ts";

/** $XDG_CONFIG_HOME/buddy or ~/.config/buddy. */
export function configDirectory(env: Environment = process.env): string {
  return join(xdg(env, "XDG_CONFIG_HOME", ".config"), "buddy");
}

/** $XDG_STATE_HOME/buddy or ~/.local/state/buddy; undefined without a home. */
export function stateDirectory(env: Environment = process.env): string | undefined {
  try {
    return join(xdg(env, "XDG_STATE_HOME", ".local/state"), "buddy");
  } catch {
    return undefined;
  }
}

/** `~` and `~/…`, as a shell reads them. */
export function expandTilde(path: string, home: string | undefined): string {
  return home === undefined ? path : path.replace(/^~(?=\/|$)/, () => home);
}

/** XDG requires that a relative path is ignored. */
function xdg(env: Environment, variable: string, below: string): string {
  const set = env[variable];
  if (set !== undefined && isAbsolute(set)) return set;
  const home = env.HOME;
  if (home === undefined || !isAbsolute(home))
    throw new BuddyError("config", "HOME is not set, so buddy has no directory for its files", {
      hint: `Set HOME, or ${variable} to an absolute path.`,
    });
  // Otherwise buddy would create the whole path of a mistyped HOME.
  if (!homes.has(home) && !existsSync(home))
    throw new BuddyError("config", `the home directory ${home} does not exist`, {
      hint: `Create it, or set ${variable} to an absolute path.`,
    });
  homes.add(home);
  return join(home, below);
}

/** Those that were there: a start asks nine times. */
const homes = new Set<string>();

/**
 * Directories from the repository root to `cwd`; only `cwd` outside a repository. A repository that another user made
 * above it, as anyone can in /tmp, does not count.
 */
export function repositoryDirectories(cwd: string): string[] {
  const chain: string[] = [];
  for (let dir = resolve(cwd); ; dir = dirname(dir)) {
    chain.unshift(dir);
    const git = join(dir, ".git");
    if (existsSync(git) && (dir === chain.at(-1) || owners(cwd).has(statSync(git).uid))) return chain;
    if (dir === dirname(dir)) return [resolve(cwd)];
  }
}

/** The user, root, and the owner of the directory that the user chose to work in. */
function owners(cwd: string): ReadonlySet<number | undefined> {
  return new Set([0, process.getuid?.(), statSync(cwd, { throwIfNoEntry: false })?.uid]);
}
