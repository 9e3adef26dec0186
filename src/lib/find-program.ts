/** A file of that name on the PATH that cannot be executed: `Bun.which` passes over it as if it were not there. */
import { statSync } from "node:fs";

export function findProgram(name: string): string | undefined {
  for (const directory of (process.env["PATH"] ?? "").split(":")) {
    const path = `${directory || "."}/${name}`;
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return path;
  }
  return undefined;
}
