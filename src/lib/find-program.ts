/** Why a program cannot be used: it is not there, or it is there and cannot be executed. */
import { closeSync, lstatSync, openSync, readlinkSync, readSync, statSync } from "node:fs";

export interface UnusableProgram {
  /** "tmux is not installed", "/usr/bin/tmux cannot be executed: …". */
  readonly text: string;
  /** What is there and cannot be executed. */
  readonly file?: string;
}

/** Undefined when it can be started, as far as its mode says. */
export function unusableProgram(name: string): UnusableProgram | undefined {
  const path = process.env["PATH"] ?? "";
  if (Bun.which(name, { PATH: path }) !== null) return undefined;
  for (const directory of path.split(":")) {
    const file = `${directory || "."}/${name}`;
    const why = whyNotFound(file);
    if (why !== undefined) return cannotBeExecuted(file, why);
  }
  return { text: `${name} is not installed` };
}

/** In words what the system says when it refuses to start this file. */
export function refusedProgram(file: string, error: unknown): UnusableProgram {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return cannotBeExecuted(file, missingInterpreter(file));
  if (code === "ENOEXEC") return cannotBeExecuted(file, "it is not a program for this machine");
  return cannotBeExecuted(file, code === "EACCES" ? NO_PERMISSION : message);
}

function cannotBeExecuted(file: string, why: string): UnusableProgram {
  return { text: `${file} cannot be executed: ${why}`, file };
}

const NO_PERMISSION = "no permission";

/** Undefined as well where the directory is closed to us: PATH can name those of other users. */
function whyNotFound(file: string): string | undefined {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile()) return NO_PERMISSION;
  } catch {
    // A link that leads to itself is looked at below.
  }
  try {
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined;
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ELOOP") return undefined;
  }
  return `it is a link to ${readlinkSync(file)}, which leads nowhere`;
}

/** A script names its interpreter in the first line, another program its loader. */
function missingInterpreter(file: string): string {
  const start = new Uint8Array(256);
  try {
    const opened = openSync(file, "r");
    readSync(opened, start);
    closeSync(opened);
  } catch {
    return "it is gone";
  }
  const interpreter = /^#!\s*(\S+)/.exec(new TextDecoder().decode(start))?.[1];
  return interpreter === undefined ? "its loader is missing" : `its interpreter ${interpreter} is missing`;
}
