/** Joins the path policy to a target: allowed roots are resolved there, as the paths themselves are. */
import type { LoadedConfig } from "../config/load.ts";
import { buddyPaths } from "../config/paths.ts";
import { judgePath } from "../policy/paths.ts";
import type { Verdict } from "../policy/verdict.ts";
import type { FileAccess, ResolvedPath } from "../targets/target.ts";

export interface WriteRules {
  /** files_allowed_paths. */
  readonly allowedPaths: readonly string[];
  /** buddy's own files on that machine: the configuration in use, the sign-in, the sessions. */
  readonly ownPaths: readonly string[];
}

/** `asked` is the path as the tool was given it. */
export type WriteJudge = (resolved: ResolvedPath, asked: string) => Promise<Verdict>;

export function writeJudge(files: Pick<FileAccess, "resolve">, rules: WriteRules): WriteJudge {
  let roots: Promise<readonly string[]> | undefined;
  return async (resolved, asked) => {
    roots ??= Promise.all(rules.allowedPaths.map(async (root) => (await files.resolve(root)).path));
    try {
      const allowedRoots = await roots;
      return judgePath({ ...resolved, asked }, { allowedRoots, ownPaths: rules.ownPaths });
    } catch (error) {
      // asked again next time: the connection may be back
      roots = undefined;
      throw error;
    }
  };
}

/** For a target on this machine: the files of the configuration and everything else buddy keeps. */
export function ownPaths({ files, env }: Pick<LoadedConfig, "files" | "env">): readonly string[] {
  const paths = buddyPaths(env);
  return [...files, ...(paths === undefined ? [] : [paths.dir])];
}
