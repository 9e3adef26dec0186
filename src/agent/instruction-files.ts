/** AGENTS.md: the operator's standing instructions, global ones first, then from the repository root down to the working directory. */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { boundText } from "../tools/bound-output.ts";

export interface OperatorFile {
  readonly path: string;
  readonly text: string;
  readonly bytes: number;
}

/** `cwd` only for local targets: elsewhere the directory tree is another machine's. */
export function operatorFiles(configDirectory: string | undefined, cwd: string | undefined): OperatorFile[] {
  const places = [
    ...(configDirectory === undefined ? [] : [join(configDirectory, NAME)]),
    ...(cwd === undefined ? [] : fromRoot(cwd).map((dir) => join(dir, NAME))),
  ];
  const files: OperatorFile[] = [];
  const seen = new Set<string>();
  let room = MOST_TOGETHER;
  for (const path of places) {
    const file = read(path, Math.min(MOST_OF_ONE, room), seen);
    if (file === undefined) continue;
    files.push(file);
    room -= file.text.length;
    if (room <= 0) break;
  }
  return files;
}

/** Directories from the repository root to `cwd`; only `cwd` outside a repository. */
function fromRoot(cwd: string): string[] {
  const chain: string[] = [];
  for (let dir = resolve(cwd); ; dir = dirname(dir)) {
    chain.unshift(dir);
    if (existsSync(join(dir, ".git"))) return chain;
    if (dir === dirname(dir)) return [resolve(cwd)];
  }
}

function read(path: string, most: number, seen: Set<string>): OperatorFile | undefined {
  // Nearly always missing, and an error that is thrown and caught takes longer than the look.
  if (!existsSync(path)) return undefined;
  try {
    const real = realpathSync(path);
    const { size } = statSync(real);
    if (seen.has(real) || size === 0 || !statSync(real).isFile()) return undefined;
    seen.add(real);
    const text = readFileSync(real, "utf8");
    if (text.includes("\0") || text.trim() === "") return undefined;
    return { path, bytes: size, text: boundText(text, most, () => `read the rest in ${path}`) };
  } catch {
    // Unreadable: no instructions there.
    return undefined;
  }
}

const NAME = "AGENTS.md";
const MOST_OF_ONE = 16_000;
const MOST_TOGETHER = 32_000;
