/** trust.json: the operator's answers about files and folders of working directories, each for one exact content. */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isByProcess } from "../lib/byte-names.ts";
import { writeFileAtomic } from "../lib/files.ts";
import type { ConfigFile, Place } from "./find-file.ts";
import { buddyPaths } from "./paths.ts";
import type { WeakSetting } from "./trust.ts";

/** The answer for this content of this file and of the programs next to it that it names. */
export function rememberedAnswer(file: ConfigFile, weak: readonly WeakSetting[], place: Place): boolean | undefined {
  return rememberedTrust(file.path, fingerprint(file, weak), place);
}

/** Returns the error if it could not be stored: then the question is asked again next time. */
export function rememberAnswer(
  file: ConfigFile,
  weak: readonly WeakSetting[],
  { trusted, ...place }: Place & { readonly trusted: boolean },
): unknown {
  return rememberTrust(file.path, fingerprint(file, weak), trusted, place);
}

/** The answer for a file or folder with this path and hash. */
export function rememberedTrust(path: string, sha256: string, place: Place): boolean | undefined {
  if (isByProcess(path)) return undefined;
  const answers = readAnswers(place);
  const answer = Object.hasOwn(answers, path) ? answers[path] : undefined;
  return answer?.sha256 === sha256 ? answer.trusted : undefined;
}

/** Returns the error if it could not be stored. */
export function rememberTrust(name: string, sha256: string, trusted: boolean, place: Place): unknown {
  const path = buddyPaths(place.env)?.trust;
  if (path === undefined) return new Error("HOME is not set");
  if (isByProcess(name)) return new Error("the name of the directory is not UTF-8");
  try {
    const answers = { ...readAnswers(place), [name]: { sha256, trusted } };
    writeFileAtomic(path, `${JSON.stringify({ version: 1, files: answers }, null, 2)}\n`);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** A hash of the file and of the files in its directory that it would run or read. */
function fingerprint({ path, text }: ConfigFile, weak: readonly WeakSetting[]): string {
  const hash = new Bun.CryptoHasher("sha256").update(text);
  for (const [name, content] of namedBeside(dirname(path), weak)) hash.update(`\0${name}\0`).update(content);
  return hash.digest("hex");
}

/** Files in the directory that the settings name: programs, scripts and settings, not data that changes often. */
function namedBeside(directory: string, weak: readonly WeakSetting[]): (readonly [string, Buffer | string])[] {
  const words = weak.flatMap(({ shown }) => shown.match(/[^\s"'`=,;|&()<>[\]{}]+/g) ?? []);
  return [...new Set(words)].toSorted().flatMap((word): (readonly [string, Buffer | string])[] => {
    const file = resolve(directory, word);
    const stat = statSync(file, { throwIfNoEntry: false });
    if (!file.startsWith(`${directory}/`) || stat?.isFile() !== true) return [];
    if ((stat.mode & 0o111) === 0 && !IS_READ.test(word)) return [];
    try {
      return [[word, readFileSync(file)]];
    } catch {
      return [[word, "unreadable"]];
    }
  });
}

const IS_READ =
  /(?:^|\/)[^./]+$|\.(?:[cm]?[jt]sx?|py|rb|pl|php|lua|sh|bash|zsh|fish|awk|jar|wasm|ya?ml|toml|json|ini|cfg|conf|env|pem|crt)$/i;

type Answers = Readonly<Record<string, { readonly sha256: string; readonly trusted: boolean }>>;

/** Empty if the file is missing or damaged: then the questions are asked again, which is safe. */
function readAnswers(place: Place): Answers {
  const path = buddyPaths(place.env)?.trust;
  if (path === undefined) return {};
  try {
    const stored = JSON.parse(readFileSync(path, "utf8")) as { files?: unknown };
    return typeof stored.files === "object" && stored.files !== null ? (stored.files as Answers) : {};
  } catch {
    return {};
  }
}
