/** Completes paths in the REPL: the entries of a directory, and all files below the shell's directory. */
import { readdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { LoadedConfig } from "../../config/load.ts";
import { isLocal } from "../../targets/place.ts";
import type { ScriptResult, Target } from "../../targets/target.ts";
import type { DirectoryEntry } from "../../ui/repl/host.ts";
import type { Run } from "../run.ts";

export async function entriesOf(
  run: Run,
  loaded: LoadedConfig,
  path: string,
  signal: AbortSignal,
): Promise<DirectoryEntry[]> {
  const target = run.target.opened;
  const cwd = target?.shell.cwd ?? loaded.cwd;
  if (isLocal(run.place)) return await localEntries(path, cwd, loaded.env.HOME);
  return target === undefined ? [] : await remoteEntries(target, path, cwd, signal);
}

/** In a repository, the files that git lists; elsewhere, what find lists outside hidden and vendored directories. */
export async function filesBelow(run: Run, signal: AbortSignal): Promise<readonly string[]> {
  const target = run.target.opened;
  if (target === undefined) return [];
  const listed = await target.transport.run(FILES_BELOW, { args: [target.shell.cwd], timeoutMs: 5_000, signal });
  return linesOf(listed).map((line) => line.replace(/^\.\//, ""));
}

// The repository may not be trusted: its configuration must not start a program. Names are not quoted.
const FILES_BELOW = `cd "$1" && {
git -c core.fsmonitor=false -c core.quotePath=false ls-files -co --exclude-standard 2>/dev/null ||
find . -name '.?*' -prune -o -name node_modules -prune -o -type f -print 2>/dev/null
} | head -n 20000`;

async function localEntries(path: string, cwd: string, home: string | undefined): Promise<DirectoryEntry[]> {
  const expanded = home !== undefined && /^~(\/|$)/.test(path) ? join(home, path.slice(1)) : path;
  const full = isAbsolute(expanded) ? expanded : join(cwd, expanded);
  const entries = await readdir(full, { withFileTypes: true });
  return entries.map((entry) => ({ name: entry.name, directory: entry.isDirectory() }));
}

async function remoteEntries(
  target: Target,
  path: string,
  cwd: string,
  signal: AbortSignal,
): Promise<DirectoryEntry[]> {
  // Through the persistent script runner: a process for every key typed would exceed the server's session limit.
  const listed = await target.transport.run('cd "$1" && ls -1Ap -- "$2"', {
    args: [cwd, path.startsWith("-") ? `./${path}` : path],
    signal,
  });
  return linesOf(listed).map((line) => ({ name: line.replace(/\/$/, ""), directory: line.endsWith("/") }));
}

function linesOf({ stdout }: ScriptResult): string[] {
  return stdout
    .toString()
    .split("\n")
    .filter((line) => line !== "");
}
