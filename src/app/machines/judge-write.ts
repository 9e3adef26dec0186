/** Judges writes by the path policy; allowed directories are resolved on the target, like the paths themselves. */
import { basename, dirname, join } from "node:path/posix";
import type { LoadedConfig } from "../../config/load.ts";
import { buddyPaths } from "../../config/paths.ts";
import { type PathRules, judgePath } from "../../policy/files/paths.ts";
import type { Verdict } from "../../policy/verdict.ts";
import type { FileAccess, ResolvedPath } from "../../targets/target.ts";

export interface WriteRules {
  /** files_allowed_paths. */
  readonly allowedPaths: readonly string[];
  /** buddy's own files on that machine: the configuration in use, the sign-in, the sessions. */
  readonly ownPaths: readonly string[];
  /** [safety] lockout. */
  readonly lockout: NonNullable<PathRules["lockout"]>;
}

/** `asked` is the path as the tool was given it; `sudo`: it would be written as root. */
export type WriteJudge = (resolved: ResolvedPath, asked: string, sudo?: boolean) => Promise<Verdict>;

export function writeJudge(files: Pick<FileAccess, "resolve">, rules: WriteRules): WriteJudge {
  const real = (paths: readonly string[]): Promise<string[]> =>
    Promise.all(paths.map(async (path) => (await files.resolve(path)).path));
  const look = async (): Promise<Known> => {
    const [realHome, allowedRoots, own] = await Promise.all([
      files.resolve("~"),
      real(rules.allowedPaths),
      real(rules.ownPaths),
    ]);
    return {
      realHome: realHome.path,
      rules: { allowedRoots, ownPaths: [...rules.ownPaths, ...own], lockout: rules.lockout },
    };
  };
  let known: Promise<Known> | undefined;
  return async (resolved, asked, sudo = false) => {
    known ??= look();
    try {
      const { realHome, rules } = await known;
      return judgePath({ ...resolved, realHome, asked: await located(asked, files), sudo }, rules);
    } catch (error) {
      // Looked up again next time: the connection may be back.
      known = undefined;
      throw error;
    }
  };
}

interface Known {
  readonly realHome: string;
  readonly rules: PathRules;
}

/** A relative path made absolute, its last component not followed: `.bashrc` in the home is a start-up file. */
async function located(asked: string, files: Pick<FileAccess, "resolve">): Promise<string> {
  if (/^[/~]/.test(asked)) return asked;
  return join((await files.resolve(dirname(asked))).path, basename(asked));
}

/** For a target on this machine: the files of the configuration and everything else buddy keeps. */
export function ownPaths({ files, env }: Pick<LoadedConfig, "files" | "env">): readonly string[] {
  const paths = buddyPaths(env);
  return [...files, ...(paths === undefined ? [] : [paths.dir])];
}
