/** Why a program cannot be used: it is not there, or it is there and may not be executed. */
import { statSync } from "node:fs";

/** Undefined when it can be started, as far as its mode tells. */
export function unusableProgram(name: string): string | undefined {
  const path = process.env["PATH"] ?? "";
  if (Bun.which(name, { PATH: path }) !== null) return undefined;
  for (const directory of path.split(":")) {
    const file = `${directory || "."}/${name}`;
    if (isFile(file)) return `${name} is installed but may not be executed: ${file}`;
  }
  return `${name} is not installed`;
}

/** False as well where nobody may look: PATH can name directories of other users. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
