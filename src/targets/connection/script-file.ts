/** Gives a shell a script that `ps` does not show: in a private file on this machine, on stdin elsewhere. */
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOADER, loaderLine } from "../script-line.ts";
import type { ShellScript } from "../target.ts";
import { privateDirectory } from "./socket-directory.ts";

export interface ScriptStart {
  readonly argv: readonly string[];
  /** What the shell must read first. */
  readonly stdin: string;
}

export function scriptOnStdin(shell: readonly string[], script: ShellScript): ScriptStart {
  return {
    argv: [...shell, "-c", LOADER, script.name],
    stdin: loaderLine(script.text, script.args, script.name),
  };
}

/** A shell reads a pipe one byte at a time (1 ms for 1 KB) and a file at once. */
export function scriptInFile(shell: readonly string[], script: ShellScript): ScriptStart {
  const args = script.args ?? [];
  // The runtime passes arguments as UTF-8; names of files may not be.
  const file = args.every((word) => word.isWellFormed()) ? scriptFile(script.text) : undefined;
  if (file === undefined) return scriptOnStdin(shell, script);
  // bash starts each error message with its name: a path there would only distract.
  if (/(?:^|\/)bash$/.test(shell[0] ?? ""))
    return { argv: [...shell, "-c", FROM_FILE, script.name, file, ...args], stdin: "" };
  return { argv: [...shell, file, ...args], stdin: "" };
}

const FROM_FILE = `IFS= read -r -d "" l <"$1"; shift; eval "$l"`;
const written = new Map<string, string | undefined>();

/** Named after its content, so that all versions of buddy share the files; undefined if none can be written. */
function scriptFile(text: string): string | undefined {
  const known = written.get(text);
  if (known !== undefined && existsSync(known)) return known;
  let file: string | undefined;
  try {
    const directory = privateDirectory();
    if (directory === undefined) return undefined;
    file = join(directory, `script-${Bun.hash(text).toString(36)}.sh`);
    if (!existsSync(file)) {
      const partial = `${file}.${process.pid}`;
      try {
        writeFileSync(partial, text, { mode: 0o600, flag: "wx" });
        renameSync(partial, file);
      } finally {
        rmSync(partial, { force: true });
      }
    }
  } catch {
    // A full or read-only disk: stdin works, too.
    file = undefined;
  }
  written.set(text, file);
  return file;
}
