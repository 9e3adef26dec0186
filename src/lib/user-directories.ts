/** Where buddy keeps a user's files: configuration and sign-ins in one directory, state in another. */
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { BuddyError } from "./errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

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
