/** `shell_denylist`: word prefixes of any command, with the wildcards `*` and `?`, or `/regex/` for the whole text. */
import { matchesGlob } from "../../lib/names.ts";
import { isUnknown, programName } from "./syntax/field.ts";
import { gitCall } from "./wrappers/git.ts";
import type { FoundCommand } from "./syntax/findings.ts";

type Denied = "yes" | "no" | "maybe";

/** The entry that matches, and whether that is certain. */
export function deniedBy(
  command: FoundCommand,
  entries: readonly string[],
): { entry: string; certain: boolean } | undefined {
  let maybe: string | undefined;
  let forms: readonly (readonly string[])[] | undefined;
  for (const entry of entries) {
    if (regexOf(entry) !== undefined) continue;
    const words = entry.split(/\s+/).filter((word) => word !== "");
    const match = prefixMatch((forms ??= formsOf(command)), words);
    if (match === "yes") return { entry, certain: true };
    if (match === "maybe") maybe ??= entry;
  }
  return maybe === undefined ? undefined : { entry: maybe, certain: false };
}

export function textDeniedBy(text: string, entries: readonly string[]): { entry: string; broken: boolean } | undefined {
  for (const entry of entries) {
    const source = regexOf(entry);
    if (source === undefined) continue;
    try {
      if (new RegExp(source.body, source.flags).test(text)) return { entry, broken: false };
    } catch {
      return { entry, broken: true };
    }
  }
  return undefined;
}

/** `/…/` and `/…/i`; a path such as /usr/bin/x is a word. */
function regexOf(entry: string): { body: string; flags: string } | undefined {
  const match = /^\/([^]+)\/([imsu]*)$/.exec(entry.trim());
  return match === null ? undefined : { body: match[1] as string, flags: match[2] as string };
}

/** The words of a command, with and without its options. */
function formsOf(command: FoundCommand): readonly (readonly string[])[] {
  const given = command.argv.map((word) => word.value);
  const isOption = (word: string | undefined) => word?.startsWith("-") === true;
  const forms = [
    given,
    given.filter((word, index) => index === 0 || !isOption(word)),
    // `-n prod`, `--context x`: options whose value is the next word.
    given.filter((word, index) => {
      const before = given[index - 1] ?? "";
      return index === 0 || !(isOption(word) || (isOption(before) && !before.includes("=")));
    }),
  ];
  const git = gitCall(command.argv);
  if (git?.subcommand !== undefined) forms.push(["git", git.subcommand, ...git.args.map((word) => word.value)]);
  return forms;
}

function prefixMatch(forms: readonly (readonly string[])[], words: readonly string[]): Denied {
  if (words.length === 0) return "no";
  let best: Denied = "no";
  for (const form of forms) {
    const match = startsWith(form, words);
    if (match === "yes") return "yes";
    if (match === "maybe") best = "maybe";
  }
  return best;
}

function startsWith(given: readonly string[], words: readonly string[]): Denied {
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as string;
    if (word === "*" && index === words.length - 1) return "yes";
    const actual = given[index];
    if (actual === undefined) return "no";
    if (isUnknown(actual)) return "maybe";
    if (!matchesGlob(word, actual) && !(index === 0 && !word.includes("/") && matchesGlob(word, programName(actual))))
      return "no";
  }
  return "yes";
}
