/** Deleting, moving or re-owning what must stay: root, homes, system directories, repositories, the directory. */
import { type Changes, changesBy, type Verb } from "../../effects/file-changes.ts";
import { type Field, HOME, isUnknown, readable, UNKNOWN } from "../syntax/field.ts";
import { findPlan } from "../wrappers/find.ts";
import { type CriticalPath, criticalPath } from "./protected-paths.ts";
import { type Danger, dangerousRm, dangerousTree } from "./danger.ts";

export function rmDanger(argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  const by = changesBy(argv);
  switch (by.program) {
    case "rm":
    case "srm":
    case "rmtree":
      return removal(by, argv, directories);
    case "chmod":
    case "chown":
    case "chgrp":
    case "setfacl":
    case "chattr":
      return ownership(by, directories);
    case "find":
      return findDelete(argv, directories);
    case "mv":
      return moved(by, directories);
    case "rsync":
      return mirrored(by, directories);
    default:
      return undefined;
  }
}

const pathsThat = (verb: Verb, { changes }: Changes) =>
  changes.flatMap(({ does, field }) => (does === verb ? [ownHome(field)] : []));

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

function removal(by: Changes, argv: readonly Field[], directories: readonly string[]): Danger | undefined {
  if (by.has("--no-preserve-root")) return dangerousRm("even the root directory");
  if (!by.has("-r,-R,--recursive")) return undefined;
  const what = firstCritical(pathsThat("removes", by), directories);
  if (what !== undefined) return dangerousRm(what);
  // A directory below ~ or $HOME: whose home that is, is known only when it runs.
  const below = argv.find(
    (word) => word.value.startsWith(HOME) && word.written !== true && !word.source.includes("{}"),
  );
  return below === undefined ? undefined : dangerousRm(`${readable(below.value)}, in whatever home that is`);
}

function ownership(by: Changes, directories: readonly string[]): Danger | undefined {
  if (!by.has("-R,--recursive")) return undefined;
  const paths = pathsThat("mode", by);
  // The working directory itself is allowed, unless the text shows that it is the root or a home.
  const what = firstCritical(
    paths.flatMap((path) => (isHere(path) ? directories.filter((directory) => /^[/\uFDD3]/.test(directory)) : [path])),
    directories,
    ({ kind, path = "" }) =>
      kind !== "working-directory" && kind !== "repository" && !/^\/var\/(?:log|spool|mail|db)\b/.test(path),
  );
  return what === undefined ? undefined : dangerousTree("disk", `${by.program} -R`, what);
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

function moved(by: Changes, directories: readonly string[]): Danger | undefined {
  const what = firstCritical(
    pathsThat("removes", by).filter((path) => !/^[\uFDD0\uFDD1.]*$/.test(path) && !/\.git\/?$/.test(path)),
    directories,
    ({ kind, contents }) => kind !== "working-directory" && !(kind === "system" && contents),
  );
  return what === undefined ? undefined : dangerousTree("dangerousRm", "mv", what);
}

/** With `--delete`, or `--remove-source-files`. */
function mirrored(by: Changes, directories: readonly string[]): Danger | undefined {
  const what = firstCritical(
    pathsThat("removes", by).filter((path) => !isHere(path)),
    directories,
    ({ kind }) => kind !== "working-directory",
  );
  return what === undefined ? undefined : dangerousTree("dangerousRm", "rsync --delete", what);
}
