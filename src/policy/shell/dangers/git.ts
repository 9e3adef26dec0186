/** Blind `git add`, forced `git push` and permanent deletion by git, also with abbreviated options and plumbing. */
import { words } from "../../../lib/text.ts";
import { type Field, HOME, isUnknown, matchesEverything, ONE, STAR } from "../syntax/field.ts";
import { gitCall } from "../wrappers/git.ts";
import { BLIND_ADD, type Danger, FORCED_PUSH } from "./danger.ts";
import { deletesData } from "./data.ts";
import { resolved } from "./protected-paths.ts";

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
      if (isForcedPush(call.args)) return FORCED_PUSH;
      return deletesRef(call.args) ? deletesData("deletes branches or tags of a remote repository") : undefined;
    case "clean":
      return cleans(call.args) ? deletesData("deletes files that git does not track") : undefined;
    case "stash":
      return /^(?:drop|clear)$/.test(call.args[0]?.value ?? "") ? deletesData("deletes stashed changes") : undefined;
    case "reflog":
      return /^(?:expire|delete)$/.test(call.args[0]?.value ?? "") ? deletesData(FORGETS) : undefined;
    case "prune":
    case "gc":
      return prunes(call.subcommand, call.args) ? deletesData(FORGETS) : undefined;
    case "send-pack":
    case "http-push":
      return isForcedPush(call.args) ? FORCED_PUSH : undefined;
    default:
      return undefined;
  }
}

interface GitOptions {
  /** Full long names, and short letters; a later `--no-…` removes one. */
  readonly on: ReadonlySet<string>;
  readonly operands: readonly string[];
}

/** git's options may appear anywhere before `--`, bundled or abbreviated. */
function optionsOf(
  args: readonly Field[],
  long: readonly string[],
  values: { letters: string; long: RegExp },
): GitOptions {
  const on = new Set<string>();
  const operands: string[] = [];
  let options = true;
  for (let i = 0; i < args.length; i++) {
    const word = (args[i] as Field).value;
    if (!options || !word.startsWith("-") || word === "-") operands.push(word);
    else if (word === "--") options = false;
    else if (word.startsWith("--")) {
      const name = word.slice(2).replace(/=[^]*/, "");
      const off = name.startsWith("no-");
      const whole = (text: string) => long.find((full) => full === text) ?? long.find((full) => full.startsWith(text));
      const plain = whole(name);
      const taken = off ? whole(name.slice(3)) : undefined;
      if (taken !== undefined) on.delete(taken);
      if (plain !== undefined) on.add(plain);
      if (values.long.test(word)) i++;
    } else
      for (let at = 1; at < word.length; at++) {
        const letter = word[at] as string;
        if (values.letters.includes(letter)) {
          if (at === word.length - 1) i++;
          break;
        }
        on.add(LETTERS[letter] ?? letter);
      }
  }
  return { on, operands };
}

/** Short options that have a long name with the same meaning. */
const LETTERS: Readonly<Record<string, string>> = {
  A: "all",
  u: "update",
  n: "dry-run",
  p: "patch",
  i: "interactive",
  e: "edit",
  f: "force",
  d: "delete",
};

function isBlindAdd(args: readonly Field[], directories: readonly string[]): boolean {
  const { on, operands } = optionsOf(
    args,
    words("all no-ignore-removal update dry-run patch interactive edit refresh pathspec-from-file"),
    { letters: "", long: /^--(?:chmod|pathspec-from-file)$/ },
  );
  // These add nothing, or ask the operator about every change.
  if (["dry-run", "patch", "interactive", "edit", "refresh"].some((name) => on.has(name))) return false;
  if (on.has("all") || on.has("no-ignore-removal")) return true;
  const excluded = operands.filter((path) => EXCLUDES.test(path));
  const paths = operands.filter((path) => !EXCLUDES.test(path));
  if (paths.length === 0 && !on.has("pathspec-from-file")) return on.has("update") || excluded.length > 0;
  return paths.some((path) => isEverything(path, directories));
}

const EXCLUDES = /^:(?:[!^/]*[!^]|\([^)]*exclude[^)]*\))/;

/** A pathspec that covers the working tree, or a parent of the directory. */
function isEverything(path: string, directories: readonly string[]): boolean {
  if (isUnknown(path)) return false;
  const magic = /^:(?:\/+|\([^)]*\))([^]*)$/.exec(path);
  const rest = magic === null ? path : (magic[1] ?? "");
  if (rest === "" && path !== "") return true;
  if (path === ":" || path === HOME || path === "/") return true;
  // git reads *, ? and [ ] in a quoted pathspec itself, and * also across directories.
  const pattern = rest.replaceAll("*", STAR).replace(/\?|\[[^\]]*\]/g, ONE);
  for (const cwd of directories) {
    const { parts, from } = resolved(pattern, ".");
    if (parts.length === 0 || (from === "." && parts.every((part) => part === ".."))) return true;
    if (from === "." && parts.every((part) => part === ".." || coversNames(part))) return true;
    if (from !== "." && (rest === cwd || `${cwd}/`.startsWith(`${rest.replace(/\/+$/, "")}/`))) return true;
  }
  return false;
}

/** `*`, `?*`, `[a-z]*`, `*.*`. */
function coversNames(part: string): boolean {
  return matchesEverything(part) || /^[\uFDD0\uFDD1]*\uFDD0[\uFDD0\uFDD1]*\.?[\uFDD0\uFDD1]*$/.test(part);
}

const FORGETS = "deletes what is needed to recover lost commits";

function cleans(args: readonly Field[]): boolean {
  const { on } = optionsOf(args, words("force dry-run interactive quiet exclude"), {
    letters: "e",
    long: /^--e(?:xclude|xclud|xclu|xcl|xc|x)?$/,
  });
  return !on.has("dry-run") && !on.has("interactive");
}

/** Not a dry run, and not limited to what is older than git's default of two weeks. */
function prunes(subcommand: "prune" | "gc", args: readonly Field[]): boolean {
  const given = args.map(({ value }) => value);
  return subcommand === "gc"
    ? given.some((word) => word.startsWith("--prune="))
    : !given.some((word) => /^(?:-n|--dry-run|-h|--help)$/.test(word));
}

/** `--delete x`, `--prune`, `:x`. */
function deletesRef(args: readonly Field[]): boolean {
  const { on, operands } = pushOptions(args);
  if (on.has("dry-run")) return false;
  return on.has("delete") || on.has("prune") || operands.some((ref) => /^:./.test(ref));
}

function pushOptions(args: readonly Field[]): GitOptions {
  return optionsOf(
    args,
    words("force mirror delete prune force-with-lease force-if-includes follow-tags dry-run porcelain progress"),
    { letters: "o", long: /^--(?:push-option|receive-pack|exec|repo)$/ },
  );
}

function isForcedPush(args: readonly Field[]): boolean {
  const { on, operands } = pushOptions(args);
  if (on.has("force") || on.has("mirror") || (on.has("delete") && operands.length < 2)) return true;
  return operands.some((ref) => ref.startsWith("+"));
}
