/** The files that a command is known to overwrite, remove or create, so that they can be saved before it runs. */
import { posix } from "node:path";
import { words } from "../../lib/text.ts";
import { changesBy, fileChanges, type LocatedChange, redirected, type Verb } from "../effects/file-changes.ts";
import { type Field, HOME, isFixed, programName, readable, shown, SPLIT } from "./syntax/field.ts";
import type { FoundCommand, Walked } from "./syntax/findings.ts";
import { type WalkContext, walkText } from "./syntax/walk.ts";

interface ChangedFiles {
  readonly places: readonly ChangedPlace[];
  /** Words that stand for files known only when it runs: globs, variables, the output of other commands. */
  readonly unknown: readonly string[];
  /** A part of it runs on another machine or in a container. */
  readonly elsewhere: boolean;
  /** Files are changed with another user's rights. */
  readonly privileged: boolean;
}

interface ChangedPlace {
  /** Absolute. */
  readonly path: string;
  /** If `path` is a directory, the file of this name in it. */
  readonly inside?: string;
  /** If `path` is a link, the program changes the file it points to. */
  readonly follow: boolean;
}

interface ChangedFilesContext extends WalkContext {
  /** The directory of the shell, absolute. */
  readonly cwd: string;
  readonly home: string;
}

/** Unknown commands are left out. */
export function changedFiles(text: string, context: ChangedFilesContext): ChangedFiles {
  const walked = walkText(text, context);
  const places = new Map<string, ChangedPlace>();
  const unknown = new Set<string>();
  const add = ({ does, field, inside, directories }: LocatedChange): void => {
    if (does === "directory") return;
    const names = inside === undefined || inside.length === 0 ? [undefined] : inside;
    const fixed = names.every((name) => name === undefined || isFixed(name));
    // U+FFFD stands for bytes that are not UTF-8 (`$'\xff'`).
    if (field.process === true || !isFixed(field.value) || !fixed || field.value.includes("\uFFFD"))
      return void unknown.add(source(field));
    for (const directory of directories.slice(0, MOST_DIRECTORIES)) {
      const path = absolute(field.value, directory, context);
      if (path === undefined) unknown.add(readable(field.value));
      else if (does === "fills") unknown.add(`files in ${path}`);
      else
        for (const name of names) {
          const follow = FOLLOWING.has(does);
          const place = { path, follow, ...(name === undefined ? {} : { inside: name }) };
          if (places.size < MOST_PLACES) places.set(`${path}\0${name ?? ""}\0${follow}`, place);
          else unknown.add(source(field));
        }
    }
  };
  let privileged = false;
  for (const found of walked.commands) {
    privileged ||= changesBy(found.argv).changes.length > 0 && isPrivileged(found);
    const all = fileChanges(found);
    const filled = new Set(all.flatMap(({ does, field }) => (does === "fills" ? field : [])));
    for (const change of all) if (change.does === "fills" || !filled.has(change.field)) add(change);
  }
  for (const write of walked.writes) add(redirected(write));
  // Commands of a script that sudo runs cannot be told from the others.
  privileged ||= walked.commands.some(({ wrapped }) => wrapped?.privileged === true && wrapped.scripts !== undefined);
  return { places: [...places.values()], unknown: [...unknown], elsewhere: runsElsewhere(walked), privileged };
}

function isPrivileged({ by }: FoundCommand): boolean {
  for (let wrapper = by?.command; wrapper !== undefined; wrapper = wrapper.by?.command)
    if (wrapper.wrapped?.privileged === true) return true;
  return false;
}

/** For people: as it was written, if it was. */
function source(field: Field): string {
  const text = shown(field);
  return text === "" || text.includes("\uFFFD") ? "what another command prints" : text;
}

function absolute(value: string, directory: string, { cwd, home }: ChangedFilesContext): string | undefined {
  const expanded = (text: string) => text.replaceAll(SPLIT, "").replaceAll(HOME, home);
  if (!isFixed(directory) && !/^[/\uFDD3]/.test(value)) return undefined;
  const path = posix.resolve(cwd, expanded(isFixed(directory) ? directory : "/"), expanded(value));
  // A final slash, which `resolve` removes, means a directory.
  return value.endsWith("/") && path !== "/" ? `${path}/` : path;
}

function runsElsewhere({ commands }: Walked): boolean {
  return commands.some(
    ({ argv, wrapped }) => wrapped !== undefined && ELSEWHERE.has(programName(argv[0]?.value ?? "")),
  );
}

const ELSEWHERE = new Set(
  words(`ssh autossh mosh docker podman nerdctl docker-compose kubectl oc k3s lxc incus lxc-attach machinectl nsenter
    chroot unshare systemd-run at batch`),
);

/** If the name is a link, these change the file that it leads to. */
const FOLLOWING: ReadonlySet<Verb> = new Set<Verb>(["empties", "writes", "mode"]);
/** A name may be relative to several directories: so many of them are tried. */
const MOST_DIRECTORIES = 4;
const MOST_PLACES = 40;
