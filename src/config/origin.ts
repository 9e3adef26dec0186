/** Where a value came from, so that errors and `doctor` can say it. */
import { type Env, shortenHome } from "./paths.ts";

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

/** ./ for files of the working directory, ~ for those of home. */
export function shownPath(file: string, { cwd, env }: { readonly cwd: string; readonly env: Env }): string {
  if (cwd !== "/" && file.startsWith(`${cwd}/`) && !file.slice(cwd.length + 1).includes("/")) {
    return `./${file.slice(cwd.length + 1)}`;
  }
  return shortenHome(file, env);
}
