/** Where buddy's files are, and how the origin of a value is shown. */
import { isAbsolute, join } from "node:path";
import { BuddyError } from "../lib/errors.ts";
import { configDirectory } from "../lib/user-directories.ts";

export type Env = Readonly<Record<string, string | undefined>>;

interface BuddyPaths {
  readonly dir: string;
  readonly config: string;
  readonly auth: string;
  readonly history: string;
  /** Which configuration files of working directories the user trusts. */
  readonly trust: string;
}

/** Undefined if neither HOME nor XDG_CONFIG_HOME is usable. */
export function buddyPaths(env: Env): BuddyPaths | undefined {
  const dir = configDir(env);
  if (dir === undefined) return undefined;
  return {
    dir,
    config: `${dir}/buddy.toml`,
    auth: `${dir}/auth.json`,
    history: `${dir}/history`,
    trust: `${dir}/trust.json`,
  };
}

/** Throws if there is no configuration directory; `what` completes "there is no place for". */
export function requirePaths(env: Env, what: string, code: "config" | "auth" = "config"): BuddyPaths {
  const paths = buddyPaths(env);
  if (paths !== undefined) return paths;
  throw new BuddyError(code, `HOME ${env.HOME ? "does not exist" : "is not set"}, so there is no place for ${what}`, {
    hint: "Set HOME, or XDG_CONFIG_HOME to a directory of yours, or name a file with --config PATH",
  });
}

/** The file of earlier versions, read if the new one is missing. */
export function legacyConfig(env: Env): string | undefined {
  const dir = configDir(env);
  return dir === undefined ? undefined : join(dir, "../agent/agent.toml");
}

/** Replaces a leading `~`. */
export function expandHome(path: string, env: Env): string {
  if (path !== "~" && !path.startsWith("~/")) return path;
  const home = absolute(env.HOME);
  if (home === undefined) {
    throw new BuddyError("config", `HOME is not set, so "${path}" cannot be resolved`, {
      hint: "Set HOME or write the full path",
    });
  }
  return join(home, path.slice(1));
}

/** Shows the home directory as ~. */
export function shortenHome(path: string, env: Env): string {
  const home = absolute(env.HOME);
  return home !== undefined && home !== "/" && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

function configDir(env: Env): string | undefined {
  try {
    return configDirectory(env);
  } catch {
    return undefined;
  }
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

/** Where a value came from, for errors and `doctor`. */
export type Origin =
  | { readonly kind: "default" }
  | { readonly kind: "file"; readonly file: string; readonly line: number | undefined }
  | { readonly kind: "env"; readonly name: string }
  | { readonly kind: "flag"; readonly flag: string };

/** Ends a sentence: "from ./buddy.toml line 12", "from BUDDY_MODEL", "from --model", "by default". */
export function describeOrigin(origin: Origin, place: { readonly cwd: string; readonly env: Env }): string {
  switch (origin.kind) {
    case "default":
      return "by default";
    case "file": {
      const file = shownPath(origin.file, place);
      return origin.line === undefined ? `from ${file}` : `from ${file} line ${origin.line}`;
    }
    case "env":
      return `from ${origin.name}`;
    case "flag":
      return `from ${origin.flag}`;
  }
}

/** For people: ./ for files of the working directory, ~ for those of home. */
export function shownPath(file: string, { cwd, env }: { readonly cwd: string; readonly env: Env }): string {
  if (cwd !== "/" && file.startsWith(`${cwd}/`) && !file.slice(cwd.length + 1).includes("/")) {
    return `./${file.slice(cwd.length + 1)}`;
  }
  return shortenHome(file, env);
}
