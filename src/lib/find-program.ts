/** Why a program cannot be used: it is not there, or it is there and may not be executed. */
import { statSync } from "node:fs";

/** Undefined when it can be started, as far as its mode tells. */
export function unusableProgram(name: string): string | undefined {
  if (Bun.which(name, { PATH: process.env["PATH"] ?? "" }) !== null) return undefined;
  const file = notExecutable(name);
  return file === undefined ? `${name} is not installed` : `${name} is installed but may not be executed: ${file}`;
}

/** The file of that name in PATH that may not be executed, where none may. */
export function notExecutable(name: string): string | undefined {
  const path = process.env["PATH"] ?? "";
  if (Bun.which(name, { PATH: path }) !== null) return undefined;
  return path
    .split(":")
    .map((directory) => `${directory || "."}/${name}`)
    .find(isFile);
}

/** False as well where the directory is closed to us: PATH can name those of other users. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
