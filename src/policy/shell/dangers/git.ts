/** Blind `git add` and forced `git push`. */
import { type Field, HOME, isUnknown, STAR } from "../syntax/field.ts";
import { gitCall } from "../wrappers/git.ts";
import { matchesEverything } from "../syntax/glob.ts";
import { resolved } from "./protected-paths.ts";
import { BLIND_ADD, type Danger, FORCED_PUSH } from "./danger.ts";

export function gitDanger(argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  const call = gitCall(argv);
  switch (call?.subcommand) {
    case "add":
    case "stage":
      return isBlindAdd(call.args, directories) ? BLIND_ADD : undefined;
    case "push":
      if (
        call.config.some(
          ({ key, value }) =>
            (/^remote\..+\.push$/.test(key) && value.startsWith("+")) ||
            (/^remote\..+\.mirror$/.test(key) && value !== "false"),
        )
      )
        return FORCED_PUSH;
      return isForcedPush(call.args) ? FORCED_PUSH : undefined;
    default:
      return undefined;
  }
}

function isBlindAdd(args: readonly Field[], directories: readonly string[]): boolean {
  let all = false;
  let update = false;
  let dry = false;
  let asked = false;
  let excluded = false;
  const paths: string[] = [];
  let options = true;
  for (let i = 0; i < args.length; i++) {
    const word = (args[i] as Field).value;
    if (options && word === "--") options = false;
    else if (options && word.startsWith("--")) {
      if (isPrefix(word, "--all", 4) || isPrefix(word, "--no-ignore-removal", 8)) all = true;
      else if (isPrefix(word, "--update", 4)) update = true;
      else if (isPrefix(word, "--dry-run", 3)) dry = true;
      else if (isPrefix(word, "--patch", 5) || isPrefix(word, "--interactive", 6)) asked = true;
      else if (word === "--chmod" || word === "--pathspec-from-file") i++;
      if (word.startsWith("--pathspec-from-file")) paths.push("named in a file");
    } else if (options && word.startsWith("-") && word.length > 1) {
      if (word.includes("A")) all = true;
      if (word.includes("u")) update = true;
      if (word.includes("n")) dry = true;
      if (/[pi]/.test(word)) asked = true;
    } else if (/^:(?:!|\^|\(exclude\))/.test(word)) excluded = true;
    else paths.push(word);
  }
  // Who is asked about every change does not add blindly.
  if (dry || asked) return false;
  if (all || (update && paths.length === 0) || (excluded && paths.length === 0)) return true;
  return paths.some((path) => isEverything(path, directories));
}

/** A pathspec that covers the working tree, or a parent of where one is. */
function isEverything(path: string, directories: readonly string[]): boolean {
  if (isUnknown(path)) return false;
  const magic = /^:(?:\/|\((?:[a-z,]*(?:top|glob|icase)[a-z,]*)\))([^]*)$/.exec(path);
  const rest = magic === null ? path : (magic[1] ?? "");
  if (magic !== null && rest === "") return true;
  if (path === ":" || path === HOME || path === "/") return true;
  // git reads * in a quoted pathspec itself.
  const pattern = rest.replaceAll("*", STAR);
  for (const cwd of directories) {
    const { parts, from } = resolved(pattern, ".");
    if (parts.length === 0 || (from === "." && parts.every((part) => part === ".."))) return true;
    if (
      parts.every((part) => matchesEverything(part) || part === ".." || /^\uFDD0\.\uFDD0$/.test(part)) &&
      from === "."
    )
      return true;
    if (from !== "." && rest === cwd) return true;
  }
  return false;
}

function isForcedPush(args: readonly Field[]): boolean {
  let forced = false;
  let remove = false;
  let options = true;
  const refs: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const word = (args[i] as Field).value;
    if (options && word === "--") options = false;
    else if (options && word.startsWith("--")) {
      if (word === "--force" || isPrefix(word, "--mirror", 3)) forced = true;
      else if (isPrefix(word, "--delete", 4)) remove = true;
      else if (word === "--no-force" || word === "--no-mirror") forced = false;
      else if (/^--(?:push-option|receive-pack|exec|repo)$/.test(word)) i++;
    } else if (options && word.startsWith("-") && word.length > 1) {
      for (const letter of word.slice(1)) {
        if (letter === "o") {
          if (word.endsWith("o")) i++;
          break;
        }
        if (letter === "f") forced = true;
        if (letter === "d") remove = true;
      }
    } else refs.push(word);
  }
  if (forced || (remove && refs.length < 2)) return true;
  return refs.slice(1).some((ref) => ref.startsWith("+")) || refs[0]?.startsWith("+") === true;
}

/** git takes any unambiguous beginning of a long option. */
function isPrefix(word: string, full: string, least: number): boolean {
  return word.length >= least && full.startsWith(word);
}
