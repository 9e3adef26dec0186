/** Deleting, moving or re-owning what must stay: root, homes, system directories, repositories, the directory. */
import { type Field, HOME, isUnknown, programName, readable, UNKNOWN } from "../syntax/field.ts";
import { findPlan } from "../wrappers/find.ts";
import { type CriticalPath, criticalPath } from "./protected-paths.ts";
import { type Danger, dangerousRm, dangerousTree } from "./danger.ts";

export function rmDanger(argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  const name = programName(argv[0]?.value ?? "");
  switch (name) {
    case "rm":
    case "grm":
    case "srm":
    case "rmtree":
      return removal(argv, directories);
    case "chmod":
    case "chown":
    case "chgrp":
    case "gchmod":
    case "gchown":
    case "setfacl":
    case "chattr":
      return ownership(name, argv, directories);
    case "find":
    case "gfind":
      return findDelete(argv, directories);
    case "mv":
    case "gmv":
      return moved(argv, directories);
    case "rsync":
      return mirrored(argv, directories);
    default:
      return undefined;
  }
}

interface Words {
  readonly operands: readonly string[];
  has(letters: string, long: string, least: number): boolean;
}

/** Options may appear anywhere up to `--`, bundled or cut short. */
function words(argv: readonly Field[]): Words {
  const operands: string[] = [];
  const options: string[] = [];
  let dashes = false;
  for (const word of argv.slice(1)) {
    const value = ownHome(word);
    if (dashes || !value.startsWith("-") || value === "-") operands.push(value);
    else if (value === "--") dashes = true;
    else options.push(value);
  }
  return {
    operands,
    has: (letters, long, least) =>
      options.some((option) =>
        option.startsWith("--")
          ? option.length >= least && long.startsWith(option.slice(2).replace(/=.*/, ""))
          : [...letters].some((letter) => option.includes(letter)),
      ),
  };
}

/** `/home/$USER`: a home directory of an unknown user. */
function ownHome({ value, source }: Field): string {
  return /^\/(?:home|Users)\/\uFDD2\uFDD5?\/*$/.test(value) &&
    /\$\{?(?:SUDO_)?(?:USER|LOGNAME)\b|whoami|logname|id -un/.test(source)
    ? HOME
    : value;
}

/** In words; `counts` leaves out paths that this command may be pointed at. */
function firstCritical(
  paths: readonly string[],
  directories: readonly string[],
  counts: (path: CriticalPath) => boolean = () => true,
): string | undefined {
  for (const path of paths)
    for (const cwd of directories) {
      const found = criticalPath(path, isUnknown(cwd) ? "." : cwd);
      if (found !== undefined && counts(found)) return found.what;
    }
  return undefined;
}

function removal(argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  const given = words(argv);
  if (given.has("", "no-preserve-root", 3)) return dangerousRm("even the root directory");
  if (!given.has("rR", "recursive", 3)) return undefined;
  const what = firstCritical(given.operands, directories);
  if (what !== undefined) return dangerousRm(what);
  // A directory below ~ or $HOME: whose home that is, is known only when it runs.
  const below = argv.find(
    (word) => word.value.startsWith(HOME) && word.written !== true && !word.source.includes("{}"),
  );
  return below === undefined ? undefined : dangerousRm(`${readable(below.value)}, in whatever home that is`);
}

function ownership(name: string, argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  const given = words(argv);
  if (!given.has("R", "recursive", 5)) return undefined;
  // The first operand is the mode or the owner, unless --reference replaces it.
  const removes = name.endsWith("chmod") && argv.some((word) => /^-[rwxXstugoa,]+$/.test(word.value));
  const pathsOnly = removes || name === "setfacl" || name === "chattr";
  const paths = given.has("", "reference", 5) || pathsOnly ? given.operands : given.operands.slice(1);
  // The working directory itself is allowed, unless the text shows that it is the root or a home.
  const what = firstCritical(
    paths.flatMap((path) => (isHere(path) ? directories.filter((directory) => /^[/\uFDD3]/.test(directory)) : [path])),
    directories,
    ({ kind, path = "" }) =>
      kind !== "working-directory" && kind !== "repository" && !/^\/var\/(?:log|spool|mail|db)\b/.test(path),
  );
  return what === undefined ? undefined : dangerousTree("disk", `${name} -R`, what);
}

const isHere = (path: string) => path === "." || path === "./" || path === "";

function findDelete(argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  const plan = findPlan(argv);
  const starts = plan.starts.length === 0 ? ["."] : plan.starts.map((start) => start.value);
  const paths = plan.actions.flatMap((action) => {
    if (action.kind !== "delete") return [];
    if (!action.narrowed) return starts;
    return action.named === undefined ? [] : starts.map((start) => `${start}/${UNKNOWN}/${action.named}`);
  });
  const what = firstCritical(paths, directories);
  return what === undefined ? undefined : dangerousRm(what);
}

function moved(argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  const { operands, has } = words(argv);
  const sources = has("t", "target-directory", 5) ? operands : operands.slice(0, -1);
  const what = firstCritical(
    sources.filter((path) => !/^[\uFDD0\uFDD1.]*$/.test(path) && !/\.git\/?$/.test(path)),
    directories,
    ({ kind, contents }) => kind !== "working-directory" && !(kind === "system" && contents),
  );
  return what === undefined ? undefined : dangerousTree("dangerousRm", "mv", what);
}

function mirrored(argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  const { operands, has } = words(argv);
  if (!has("", "delete", 5) && !argv.some((word) => /^--(?:delete|del)/.test(word.value))) return undefined;
  const what = firstCritical(
    operands.slice(-1).filter((path) => !isHere(path)),
    directories,
    ({ kind }) => kind !== "working-directory",
  );
  return what === undefined ? undefined : dangerousTree("dangerousRm", "rsync --delete", what);
}
