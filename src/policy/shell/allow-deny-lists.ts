/** The lists of the operator: `shell_allow` with the `developer` preset, and `shell_denylist`. */
import { matchesGlob } from "../../lib/names.ts";
import { words as wordList } from "../../lib/text.ts";
import { unlistedOption } from "./known-options.ts";
import { isFixed, isUnknown, programName } from "./syntax/field.ts";
import type { FoundCommand } from "./syntax/findings.ts";
import { gitCall } from "./wrappers/git.ts";

/** The entry that allows the command. Every word of the command must be known. */
export function allowedBy(command: FoundCommand, entries: readonly string[]): string | undefined {
  if (command.writes.length > 0 || command.assigns.length > 0) return undefined;
  const words = command.argv.map((word) => word.value);
  if (!words.every((word) => isFixed(word) || !word.includes("\uFDD2"))) return undefined;
  return entries.find((entry) => matches(words, wordsOf(entry), 0)) ?? coveredBy(command, entries);
}

/** An entry for a wrapper that includes words of the inner command allows that command: `sudo systemctl restart`. */
function coveredBy(command: FoundCommand, entries: readonly string[]): string | undefined {
  const { by } = command;
  if (by?.at === undefined) return undefined;
  const words = by.command.argv.map((word) => word.value);
  const { at } = by;
  return entries.find((entry) => wordsOf(entry).length > at && matches(words, wordsOf(entry), at));
}

/** The words start with the entry, and no option of the program at index `program` can run something. */
function matches(words: readonly string[], entry: readonly string[], program: number): boolean {
  if (entry.length === 0 || !entry.every((word, index) => words[index] === word && isFixed(word))) return false;
  return unlistedOption(words.slice(program), entry) === undefined;
}

const wordsOf = (entry: string) => entry.split(/\s+/).filter((word) => word !== "");

/** Everyday building, testing and version control: nothing that publishes or deletes. */
export function allowedForDevelopers(command: FoundCommand): boolean {
  const git = gitCall(command.argv);
  if (git === undefined) return allowedBy(command, DEVELOPER) !== undefined;
  if (git.odd || git.config.length > 0 || git.options.some((option) => option !== "--no-pager")) return false;
  const args = git.args.map((word) => word.value);
  return (
    git.subcommand !== undefined &&
    Object.hasOwn(GIT, git.subcommand) &&
    (GIT[git.subcommand]?.(args) ?? false) &&
    allowedBy(command, ["git"]) !== undefined
  );
}

const without = (pattern: RegExp) => (args: readonly string[]) => !args.some((word) => pattern.test(word));
const FORCED = /^(?:-[a-zA-Z]*f|--force|--discard-changes|--force-create|-C)/;
/** A refspec that overwrites, or an address instead of a configured remote. */
const OTHER_PLACE = /^\+|:|^-[a-zA-Z]*f|^--force/;
const GIT: Readonly<Record<string, (args: readonly string[]) => boolean>> = {
  add: without(FORCED),
  commit: () => true,
  switch: without(FORCED),
  checkout: (args) =>
    args.length <= 2 &&
    args.every((word) => word === "-b" || /^[\w./-]+$/.test(word)) &&
    !args.some((word) => /^-(?!b$)|^\.$|^--$/.test(word)),
  stash: (args) => args.length === 0 || /^(?:push|list|show|apply|pop)$/.test(args[0] as string),
  fetch: without(OTHER_PLACE),
  pull: without(OTHER_PLACE),
  merge: () => true,
  mv: without(FORCED),
  restore: (args) => args[0] === "--staged",
};

/** Prefixes of the preset: programs, and programs with subcommands. Each has a row of known options. */
export const DEVELOPER: readonly string[] = [
  ...wordList(`make ninja ctest just task gofmt pytest tox nox ruff black mypy pyright flake8 isort tsc eslint prettier
    biome oxlint vitest jest phpunit shellcheck shfmt mkdir touch`),
  ...[
    ["cmake", "--build"],
    ["meson", "compile test"],
    ["npm", "test run ci install ls"],
    ["pnpm", "test run install"],
    ["yarn", "test run install build"],
    ["bun", "test run install"],
    ["deno", "test check lint fmt"],
    ["cargo", "build check test clippy fmt doc bench"],
    ["go", "build test vet fmt"],
    ["go mod", "tidy download"],
    ["python -m", "pytest"],
    ["python3 -m", "pytest"],
    ["uv", "sync"],
    ["uv run", "pytest"],
    ["poetry", "install"],
    ["poetry run", "pytest"],
    ["npx", "tsc eslint prettier vitest jest"],
    ["mvn", "test compile package verify"],
    ["gradle", "build test check"],
    ["./gradlew", "build test check"],
    ["dotnet", "build test"],
    ["swift", "build test"],
    ["mix", "test compile"],
    ["bundle exec", "rspec"],
    ["bundle", "install"],
    ["rake", "test"],
    ["composer", "install"],
    ["terraform", "fmt validate"],
  ].flatMap(([program, subcommands = ""]) => subcommands.split(" ").map((name) => `${program} ${name}`)),
];

// ── `shell_denylist`: word prefixes of any command, with the wildcards `*` and `?`, or `/regex/` for the whole text.

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
