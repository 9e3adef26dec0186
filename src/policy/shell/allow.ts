/** `shell_allow` and the `developer` preset: word prefixes a command may start with to run unasked. */
import { isFixed } from "./syntax/field.ts";
import { gitCall } from "./wrappers/git.ts";
import type { FoundCommand } from "./syntax/findings.ts";

/** The entry that allows the command, or undefined. Every word of it must be known. */
export function allowedBy(command: FoundCommand, entries: readonly string[]): string | undefined {
  if (command.writes.length > 0 || command.assigns.length > 0) return undefined;
  const words = command.argv.map((word) => word.value);
  if (!words.every((word) => isFixed(word) || !word.includes("\uFDD2"))) return undefined;
  return entries.find((entry) => matches(words, wordsOf(entry))) ?? coveredBy(command, entries);
}

/** A wrapper allowed by an entry that reaches into the command it runs allows that command: `sudo systemctl restart`. */
function coveredBy(command: FoundCommand, entries: readonly string[]): string | undefined {
  const { by } = command;
  if (by?.at === undefined) return undefined;
  const words = by.command.argv.map((word) => word.value);
  const { at } = by;
  return entries.find((entry) => wordsOf(entry).length > at && matches(words, wordsOf(entry)));
}

function matches(words: readonly string[], entry: readonly string[]): boolean {
  return entry.length > 0 && entry.every((word, index) => words[index] === word && isFixed(word));
}

const wordsOf = (entry: string) => entry.split(/\s+/).filter((word) => word !== "");

/** Everyday building, testing and version control of one's own work: nothing that publishes, deletes or leaves the machine for good. */
export function allowedForDevelopers(command: FoundCommand): boolean {
  const git = gitCall(command.argv);
  if (git !== undefined) {
    if (git.odd || git.config.length > 0 || git.options.some((option) => option !== "--no-pager")) return false;
    const args = git.args.map((word) => word.value);
    return (
      git.subcommand !== undefined &&
      (GIT[git.subcommand]?.(args) ?? false) &&
      allowedBy(command, ["git"]) !== undefined
    );
  }
  return allowedBy(command, DEVELOPER) !== undefined;
}

const without = (pattern: RegExp) => (args: readonly string[]) => !args.some((word) => pattern.test(word));
const any = () => true;
const GIT: Readonly<Record<string, (args: readonly string[]) => boolean>> = {
  add: any,
  commit: any,
  switch: without(/^(?:-f|-C|--force|--force-create|--discard-changes)$/),
  checkout: (args) =>
    args.length <= 2 &&
    args.every((word) => word === "-b" || /^[\w./-]+$/.test(word)) &&
    !args.some((word) => /^-(?!b$)|^\.$|^--$/.test(word)),
  stash: (args) => args.length === 0 || /^(?:push|list|show|apply|pop)$/.test(args[0] as string),
  fetch: without(/^--(?:upload-pack|exec)|^\+|:|^-f$|^--force$/),
  pull: without(/^--(?:upload-pack|exec)|^\+|:|^-f$|^--force$/),
  merge: without(/^--(?:exec)/),
  mv: without(/^-f$|^--force$/),
  restore: (args) => args[0] === "--staged",
};

/** Word prefixes of the preset. */
export const DEVELOPER: readonly string[] = [
  "make",
  "ninja",
  "cmake --build",
  "ctest",
  "meson compile",
  "meson test",
  "just",
  "task",
  "npm test",
  "npm run",
  "npm ci",
  "npm install",
  "npm ls",
  "pnpm test",
  "pnpm run",
  "pnpm install",
  "yarn test",
  "yarn run",
  "yarn install",
  "yarn build",
  "bun test",
  "bun run",
  "bun install",
  "deno test",
  "deno check",
  "deno lint",
  "deno fmt",
  "cargo build",
  "cargo check",
  "cargo test",
  "cargo clippy",
  "cargo fmt",
  "cargo doc",
  "cargo bench",
  "go build",
  "go test",
  "go vet",
  "go fmt",
  "go mod tidy",
  "go mod download",
  "gofmt",
  "pytest",
  "python -m pytest",
  "python3 -m pytest",
  "tox",
  "nox",
  "ruff",
  "black",
  "mypy",
  "pyright",
  "flake8",
  "isort",
  "uv sync",
  "uv run pytest",
  "poetry install",
  "poetry run pytest",
  "tsc",
  "npx tsc",
  "eslint",
  "npx eslint",
  "prettier",
  "npx prettier",
  "biome",
  "oxlint",
  "vitest",
  "npx vitest",
  "jest",
  "npx jest",
  "mvn test",
  "mvn compile",
  "mvn package",
  "mvn verify",
  "gradle build",
  "gradle test",
  "gradle check",
  "./gradlew build",
  "./gradlew test",
  "./gradlew check",
  "dotnet build",
  "dotnet test",
  "swift build",
  "swift test",
  "mix test",
  "mix compile",
  "bundle exec rspec",
  "bundle install",
  "rake test",
  "composer install",
  "phpunit",
  "shellcheck",
  "shfmt",
  "terraform fmt",
  "terraform validate",
  "mkdir",
  "touch",
];
