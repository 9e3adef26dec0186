/** The files of a skill's folder: listed, read, hashed and checked, never outside the folder. */
import { shorten } from "../../lib/text.ts";
import { defined } from "../../lib/values.ts";
import { lstatSync, readdirSync, readFileSync, realpathSync, existsSync, statSync } from "node:fs";
import { join, relative, sep, basename, resolve } from "node:path";
import { parseSkill } from "./skill.ts";
import { messageOf } from "../../lib/errors.ts";
import { readTextFile } from "../../lib/files.ts";

export const SKILL_FILE = "SKILL.md";

type Listing =
  /** Relative to the folder, with /. */
  { readonly kind: "files"; readonly files: readonly string[] } | { readonly kind: "refused"; readonly why: string };

/** Every file below the folder, always in the same order; refused if a link leads out of it, or it is too large. */
export function listFolder(folder: string): Listing {
  const root = realpathSync(folder);
  const files: string[] = [];
  let bytes = 0;
  const walk = (directory: string, depth: number): string | undefined => {
    if (depth > MOST_DEPTH) return "its directories are nested too deep";
    for (const name of readdirSync(directory).toSorted(byBytes)) {
      const path = join(directory, name);
      const shown = relative(root, path);
      const stat = lstatSync(path);
      if (stat.isSymbolicLink()) {
        if (!inside(path, root)) return `${shown} is a link out of it`;
        if (lstatSync(realpathSync(path)).isDirectory()) return `${shown} is a link to a directory`;
      }
      if (stat.isDirectory()) {
        const why = walk(path, depth + 1);
        if (why !== undefined) return why;
        continue;
      }
      const real = lstatSync(realpathSync(path));
      if (!real.isFile()) return `${shown} is not a regular file`;
      bytes += real.size;
      files.push(shown.split(sep).join("/"));
      if (files.length > MOST_FILES) return `it has more than ${MOST_FILES} files`;
      if (bytes > MOST_BYTES) return `it has more than ${MOST_BYTES / 1_000_000} MB`;
    }
    return undefined;
  };
  try {
    const why = walk(root, 0);
    return why === undefined ? { kind: "files", files } : { kind: "refused", why };
  } catch (error) {
    return { kind: "refused", why: messageOf(error) };
  }
}

/** One hash of all names, modes and contents; undefined: the folder cannot be read. */
export function hashFolder(folder: string): string | undefined {
  const listing = listFolder(folder);
  if (listing.kind === "refused") return undefined;
  const hash = new Bun.CryptoHasher("sha256");
  try {
    for (const path of listing.files) {
      const full = join(folder, path);
      const content = readFileSync(full);
      const runs = (lstatSync(realpathSync(full)).mode & 0o111) !== 0;
      hash
        .update(`${JSON.stringify(path)} ${runs ? "x" : "-"} ${content.length}\n`)
        .update(content)
        .update("\n");
    }
  } catch {
    return undefined;
  }
  return hash.digest("hex");
}

type FileRead = { readonly kind: "text"; readonly text: string } | { readonly kind: "refused"; readonly why: string };

/** A text file of the folder, by its path relative to it. */
export function readInFolder(folder: string, path: string): FileRead {
  const listing = listFolder(folder);
  if (listing.kind === "refused") return listing;
  const wanted = path.replace(/^(?:\.\/)+/, "");
  if (!listing.files.includes(wanted)) return { kind: "refused", why: `it has no file "${shorten(path, 200)}"` };
  try {
    return { kind: "text", text: readTextFile(join(folder, wanted), MOST_TEXT) };
  } catch (error) {
    return { kind: "refused", why: `${wanted}: ${messageOf(error)}` };
  }
}

/** Whether the real path is the root or below it. */
export function inside(path: string, root: string): boolean {
  try {
    const real = realpathSync(path);
    return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep);
  } catch {
    return false;
  }
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : 1;
}

const MOST_FILES = 500;
const MOST_BYTES = 10_000_000;
const MOST_DEPTH = 8;
/** Of a file that is read as text. */
const MOST_TEXT = 1_000_000;

/** Everything that is wrong with a folder as a skill. */
interface SkillCheck {
  readonly name?: string;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly files: number;
}

export function checkSkill(dir: string): SkillCheck {
  const folder = resolve(dir);
  const wrong = (...problems: string[]): SkillCheck => ({ problems, warnings: [], files: 0 });
  if (!existsSync(folder)) return wrong(`${dir} does not exist`);
  if (!statSync(folder).isDirectory()) return wrong(`${dir} is not a directory`);
  const file = join(folder, SKILL_FILE);
  if (!existsSync(file)) return wrong(`there is no ${SKILL_FILE} in ${dir}`);
  const listing = listFolder(folder);
  if (listing.kind === "refused") return wrong(listing.why);
  if (lstatSync(file).size > MOST_SKILL_TEXT) return wrong(`${SKILL_FILE} has more than ${MOST_SKILL_TEXT} bytes`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch {
    return wrong(`${SKILL_FILE} cannot be read as UTF-8 text`);
  }
  const { skill, problems, warnings } = parseSkill(text, basename(folder));
  const long = text.split("\n").length;
  return {
    ...defined({ name: skill?.name }),
    problems,
    warnings: [
      ...warnings,
      ...(long > ADVISED_LINES ? [`${SKILL_FILE} has ${long} lines; put details into files beside it`] : []),
    ],
    files: listing.files.length,
  };
}

/** What the format recommends. */
const ADVISED_LINES = 500;
export const MOST_SKILL_TEXT = 256 * 1024;
