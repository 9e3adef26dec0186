/** The lists of the operator: `shell_allow` with the `developer` preset, `shell_denylist`, and what "always" adds. */
import { matchesGlob } from "../../lib/names.ts";
import { words as wordList } from "../../lib/text.ts";
import type { CommandPrefix } from "../approvals.ts";
import { judgePath } from "../files/paths.ts";
import type { ShellJudgement } from "../verdict.ts";
import { resolved } from "./dangers/protected-paths.ts";
import { readOptions, rowOf, unlistedOption } from "./known-options.ts";
import { isFixed, isUnknown, programName, readable } from "./syntax/field.ts";
import type { FoundCommand } from "./syntax/findings.ts";
import { outsideCommonGrammar } from "./syntax/parse.ts";
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

/** The preset is for work in a project: why it does not cover a command that names a sensitive place. */
export function outsideProject({ argv, directories }: FoundCommand, cwd: string | undefined): string | undefined {
  const words = argv.slice(1).flatMap(({ value }) => [value, value.replace(/^-(?:-[\w-]+=|[A-Za-z])/, "")]);
  const isSensitive = (word: string, place: string): boolean => {
    if (word.startsWith("-") || (place === "." && !/[/\uFDD3]/.test(word))) return false;
    let path = resolved(word, place);
    if (path.from === "." && path.parts[0] === ".." && cwd !== undefined) path = resolved(`${place}/${word}`, cwd);
    if (path.from === ".") return path.parts.includes(".git");
    const full = `${path.from === "~" ? A_HOME : ""}/${path.parts.join("/")}`;
    return judgePath({ path: full, home: A_HOME, caseInsensitive: false }, { allowedRoots: [] }).kind !== "allow";
  };
  const word = words.find((one) => directories.some((place) => isSensitive(one, place)));
  return word === undefined ? undefined : `${readable(word)} is not a place for everyday work in a project`;
}

const A_HOME = "/home/user";

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

// ── What "always" remembers of a command: a narrow word prefix, so that the operator knows what was allowed.

/**
 * The prefixes to allow for this text to run unasked. Undefined if "always" must not be offered: for uncertain,
 * dangerous or privileged texts, and those with redirections, expansions or groups.
 */
export function prefixesOf(text: string, judgement: ShellJudgement): readonly CommandPrefix[] | undefined {
  const { verdict, risk, privesc, uncertain, commands } = judgement;
  if (verdict.kind !== "ask" || risk === "high" || privesc || uncertain.length > 0) return undefined;
  // Words do not include redirections and assignments; a remembered `make` must not cover `make > ~/.profile`.
  if (/[<>`$(){}]/.test(text) || /(^|[\s;&|])[A-Za-z_]\w*=/.test(text)) return undefined;
  // It runs in the operator's shell, which may be fish, where \x2d is a dash.
  if (outsideCommonGrammar(text) !== undefined) return undefined;
  const asking = commands.filter((command) => command.verdict !== "allow");
  if (asking.length === 0 || asking.some((command) => command.verdict === "deny" || command.words.length === 0))
    return undefined;
  const prefixes = asking.map((command) => prefixOf(command.words));
  return [...new Map(prefixes.map((prefix) => [JSON.stringify(prefix), prefix])).values()];
}

function prefixOf(words: readonly string[]): CommandPrefix {
  const exact: CommandPrefix = { words, open: false };
  const [program = "", second, third] = words;
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (OPEN.has(name)) return opened([program], words, 1);
  if (TARGETS.has(name)) return opened([program], words, Number.POSITIVE_INFINITY);
  const nested = SUBCOMMANDS[name];
  if (nested === undefined || second === undefined || !isSubcommand(second) || RUNNERS.has(second)) return exact;
  if (RUNNERS.has(`${name} ${second}`)) return exact;
  if (!nested.includes(second)) return opened([program, second], words, REMOTES.has(`${name} ${second}`) ? 1 : 0);
  return third !== undefined && isSubcommand(third) ? opened([program, second, third], words, 0) : exact;
}

/**
 * The first words, the operands that decide what is done, the options with their values, and operands that are sources
 * or destinations: addresses, refspecs that overwrite or delete, files or repositories to install from.
 */
function opened(first: readonly string[], words: readonly string[], operands: number): CommandPrefix {
  const read = readOptions(words, first.length, rowOf(words)?.row);
  const options = read.options.map(({ name, value, known }) =>
    value === undefined || (known && !isPlace(value)) ? name : `${name} ${value}`,
  );
  const name = programName(first[0] ?? "");
  if (OPEN.has(name)) return { words: first, open: true, options: unique(options) };
  const installs = name !== "git" && INSTALLS.has(first.at(-1) ?? "");
  const places = read.operands.slice(operands).filter((word) => /^\+|:/.test(word) || (installs && isPlace(word)));
  const decisive = read.operands.slice(0, operands);
  // Installing what a project lists does not allow installing other packages.
  const open = !(installs && read.operands.length === 0);
  return { words: [...first, ...decisive], open, options: unique([...options, ...places]) };
}

const unique = (list: readonly string[]) => [...new Set(list)].toSorted();

/** A value that names a file or a program, rather than text. */
const isPlace = (value: string) => /^[.~/]|\//.test(value);
const isSubcommand = (word: string) => /^[a-z][a-z0-9:_-]*$/i.test(word);

/** Programs that do the same with any operands. */
const OPEN = new Set(wordList("mkdir touch pytest tsc eslint prettier jest vitest"));
/** Programs whose operands decide what is done. */
const TARGETS = new Set(wordList("make ninja just task"));
/** The first operand is the source or destination of data. */
const REMOTES = new Set(["git fetch", "git pull", "git push", "git clone"]);

/** Subcommands that install by name from a registry, or from any path or address, and run what they install. */
const INSTALLS = new Set(wordList("install i add upgrade update up reinstall pull get ci sync"));

/** Subcommands that run or set what follows them: only exactly the same words are remembered. */
const RUNNERS = new Set([
  ...wordList("exec dlx x config debug attach cp filter-branch rebase"),
  ...["docker", "podman"].flatMap((name) => [`${name} run`, `${name} create`, `${name} build`]),
  ...["run", "install"].flatMap((name) => [`cargo ${name}`, `go ${name}`]),
  ...["run", "apply", "create"].map((name) => `kubectl ${name}`),
  "go generate",
]);

/** Programs with subcommands, and those of their subcommands that have subcommands themselves. */
const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  git: wordList("remote stash worktree submodule notes bisect"),
  docker: wordList("compose container image network volume"),
  podman: wordList("compose container image network volume pod"),
  npm: ["run"],
  pnpm: ["run"],
  yarn: ["run"],
  bun: ["run"],
  go: ["mod"],
  kubectl: wordList("rollout config set"),
  helm: ["repo"],
  terraform: wordList("state workspace"),
  gh: wordList("pr issue repo run release"),
  ...Object.fromEntries(
    wordList("docker-compose cargo systemctl apt apt-get dnf yum apk brew pip pip3 mvn gradle gradlew").map((name) => [
      name,
      [],
    ]),
  ),
};
