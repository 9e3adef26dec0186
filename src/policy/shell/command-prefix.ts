/** What "always" remembers of a command: a narrow word prefix, so that the operator knows what was allowed. */
import { words } from "../../lib/text.ts";
import { readOptions, rowOf } from "./known-options.ts";
import { outsideCommonGrammar } from "./syntax/parse.ts";
import { programName } from "./syntax/field.ts";
import type { CommandPrefix } from "../approvals.ts";
import type { ShellJudgement } from "../verdict.ts";

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
const OPEN = new Set(words("mkdir touch pytest tsc eslint prettier jest vitest"));
/** Programs whose operands decide what is done. */
const TARGETS = new Set(words("make ninja just task"));
/** The first operand is the source or destination of data. */
const REMOTES = new Set(["git fetch", "git pull", "git push", "git clone"]);

/** Subcommands that install by name from a registry, or from any path or address, and run what they install. */
const INSTALLS = new Set(words("install i add upgrade update up reinstall pull get ci sync"));

/** Subcommands that run or set what follows them: only exactly the same words are remembered. */
const RUNNERS = new Set([
  ...words("exec dlx x config debug attach cp filter-branch rebase"),
  ...["docker", "podman"].flatMap((name) => [`${name} run`, `${name} create`, `${name} build`]),
  ...["run", "install"].flatMap((name) => [`cargo ${name}`, `go ${name}`]),
  ...["run", "apply", "create"].map((name) => `kubectl ${name}`),
  "go generate",
]);

/** Programs with subcommands, and those of their subcommands that have subcommands themselves. */
const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  git: words("remote stash worktree submodule notes bisect"),
  docker: words("compose container image network volume"),
  podman: words("compose container image network volume pod"),
  npm: ["run"],
  pnpm: ["run"],
  yarn: ["run"],
  bun: ["run"],
  go: ["mod"],
  kubectl: words("rollout config set"),
  helm: ["repo"],
  terraform: words("state workspace"),
  gh: words("pr issue repo run release"),
  ...Object.fromEntries(
    words("docker-compose cargo systemctl apt apt-get dnf yum apk brew pip pip3 mvn gradle gradlew").map((name) => [
      name,
      [],
    ]),
  ),
};
