/** Refuses a path at which something else than a regular file stands: a link would lead elsewhere, a pipe never ends. */
import { lstatSync } from "node:fs";

/** Throws unless each path is a regular file or nothing. */
export function requirePlainFiles(...paths: readonly string[]): void {
  for (const path of paths) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined || stat.isFile()) continue;
    throw new Error(`${path} is ${stat.isSymbolicLink() ? "a link" : "not a regular file"}`);
  }
}
