/** Where buddy's files are, which configuration files there are, and how the origin of a value is shown. */
import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { BuddyError } from "../lib/errors.ts";
import { fileError } from "../lib/files.ts";
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
    hint: "Set HOME, or XDG_CONFIG_HOME to one of your directories, or name a file with --config PATH",
  });
}

/** The file of earlier versions, read if the new one is missing. */
function legacyConfig(env: Env): string | undefined {
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

// ── Finds the configuration files: the operator's own, and one of the working directory that is merged over it.

export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

interface ConfigFiles {
  /** Named with --config or BUDDY_CONFIG, or found in the operator's own directory. */
  readonly own?: ConfigFile;
  /** Found in the working directory: not fully trusted. Absent when the operator named a file. */
  readonly directory?: ConfigFile;
}

export interface Place {
  readonly env: Env;
  readonly cwd: string;
}

/** The value of BUDDY_<name>, or of the older AGENT_<name>; an empty one counts as unset. */
export function buddyVariable(env: Env, name: string): { readonly name: string; readonly value: string } | undefined {
  for (const variable of [`BUDDY_${name}`, `AGENT_${name}`]) {
    const value = env[variable];
    if (value !== undefined && value !== "") return { name: variable, value };
  }
  return undefined;
}

export function findConfigFiles(flag: string | undefined, place: Place): ConfigFiles {
  const variable = buddyVariable(place.env, "CONFIG");
  if (flag !== undefined) return { own: namedFile(resolve(place.cwd, flag), "--config", place) };
  if (variable !== undefined) {
    return { own: namedFile(resolve(place.cwd, expandHome(variable.value, place.env)), variable.name, place) };
  }
  const candidates = [buddyPaths(place.env)?.config, legacyConfig(place.env)];
  const own = firstThere(candidates, place);
  const directory = firstThere([join(place.cwd, "buddy.toml"), join(place.cwd, "agent.toml")], place);
  const isOwn = directory !== undefined && candidates.some((path) => path !== undefined && sameFile(path, directory));
  return {
    ...(own === undefined ? {} : { own: foundFile(own, place) }),
    ...(directory === undefined || isOwn ? {} : { directory: foundFile(directory, place) }),
  };
}

function firstThere(paths: readonly (string | undefined)[], place: Place): string | undefined {
  for (const path of paths) if (path !== undefined && isThere(path, place)) return path;
  return undefined;
}

/** A link to a missing file is an error: its settings may be the strict ones. */
function isThere(path: string, place: Place): boolean {
  if (existsSync(path)) return true;
  let target: string;
  try {
    // There is usually nothing, and an exception takes longer than this check.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return false;
    target = readlinkSync(path);
  } catch {
    return false;
  }
  throw new BuddyError("config", `${shownPath(path, place)} is a link to ${target}, which cannot be reached`, {
    hint: "Correct or remove the link, or name another file with --config PATH",
  });
}

/** The operator did not name this file: it may be a pipe in a hostile directory, which would never end. */
function foundFile(path: string, place: Place): ConfigFile {
  const stat = statSync(path);
  if (!stat.isFile() && !stat.isDirectory()) {
    throw new BuddyError("config", `${shownPath(path, place)} is not a regular file`, {
      hint: "Remove it, or name another file with --config PATH",
    });
  }
  return { path, text: read(path, place) };
}

function namedFile(path: string, by: string, place: Place): ConfigFile {
  if (!existsSync(path)) {
    throw new BuddyError("config", `${by}: ${shownPath(path, place)} does not exist`, {
      hint: "Check the path, or write one with: buddy init",
    });
  }
  return { path, text: read(path, place) };
}

/** In characters; parsers take quadratic time for tables of many keys. */
const LARGEST = 256 * 1024;

function read(path: string, place: Place): string {
  let text: string;
  try {
    // Not a Buffer: the first one of a process takes 0.15 ms.
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new BuddyError("config", `cannot read ${shownPath(path, place)}: ${fileError(error)}`, {
      hint:
        (error as NodeJS.ErrnoException).code === "EISDIR"
          ? "Name a file with --config PATH"
          : "Correct its permissions, or name another file with --config PATH",
      cause: error,
    });
  }
  if (text.length > LARGEST) {
    throw new BuddyError("config", `${shownPath(path, place)} is too large for a configuration file`, {
      hint: `At most ${LARGEST / 1024} KiB; name another file with --config PATH`,
    });
  }
  // A replacement character comes from invalid bytes, unless the file itself contains one.
  if (text.includes("\uFFFD") && !process.getBuiltinModule("node:buffer").isUtf8(readFileSync(path))) {
    throw new BuddyError("config", `${shownPath(path, place)} is not UTF-8 text`, { hint: "Save it as UTF-8" });
  }
  return text;
}

function sameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
