/** The files that a text is known to overwrite, remove or create, so that they can be saved before it runs. */
import { posix } from "node:path";
import { words } from "../../lib/text.ts";
import { type Field, HOME, isFixed, programName, readable, shown, SPLIT } from "./syntax/field.ts";
import type { FoundCommand, Walked } from "./syntax/findings.ts";
import { type WalkContext, walkText } from "./syntax/walk.ts";
import { leadingOptions, type OptionShape } from "./wrappers/leading-options.ts";

export interface ChangedFiles {
  readonly places: readonly ChangedPlace[];
  /** Words that stand for files known only when it runs: globs, variables, the output of other commands. */
  readonly unknown: readonly string[];
  /** A part of it runs on another machine or in a container. */
  readonly elsewhere: boolean;
  /** Files are changed with another user's rights. */
  readonly privileged: boolean;
}

export interface ChangedPlace {
  /** Absolute. */
  readonly path: string;
  /** If `path` is a directory, the file of this name in it. */
  readonly inside?: string;
  /** If `path` is a link, the program changes the file it points to. */
  readonly follow: boolean;
}

export interface ChangedFilesContext extends WalkContext {
  /** The directory of the shell, absolute. */
  readonly cwd: string;
  readonly home: string;
}

/** Unknown commands are left out. */
export function changedFiles(text: string, context: ChangedFilesContext): ChangedFiles {
  const walked = walkText(text, context);
  const places = new Map<string, ChangedPlace>();
  const unknown = new Set<string>();
  const add = ({ field, inside, follow }: Named, directories: readonly string[]): void => {
    if (field.value === "" || field.value === "-") return;
    const names = inside === undefined ? [undefined] : inside;
    if (field.process === true || !isFixed(field.value) || !names.every((name) => name === undefined || isFixed(name)))
      return void unknown.add(source(field));
    for (const directory of directories.slice(0, MOST_DIRECTORIES)) {
      const path = absolute(field.value, directory, context);
      if (path === undefined) unknown.add(readable(field.value));
      else
        for (const name of names) {
          const place = { path, follow, ...(name === undefined ? {} : { inside: name }) };
          if (places.size < MOST_PLACES) places.set(`${path}\0${name ?? ""}\0${follow}`, place);
          else unknown.add(source(field));
        }
    }
  };
  let privileged = false;
  for (const found of walked.commands) {
    const all = changedBy(found);
    privileged ||= all.length > 0 && isPrivileged(found);
    for (const named of all) add(named, found.directories);
    for (const { file, directories } of found.writes) add({ field: plain(file), follow: true }, directories);
  }
  for (const { file, directories } of walked.writes) add({ field: plain(file), follow: true }, directories);
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

const plain = (value: string): Field => ({ value, source: readable(value) });

interface Named {
  readonly field: Field;
  /** If `field` is a directory, the names of the files in it: those of the sources. */
  readonly inside?: readonly string[];
  readonly follow: boolean;
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

/** Which operands a program changes; its options with values must be known, to tell operands from values. */
interface Row {
  readonly shape: OptionShape;
  named(given: Given): readonly Named[];
}

interface Given {
  readonly operands: readonly Field[];
  readonly seen: ReadonlyMap<string, Field | undefined>;
}

function changedBy({ argv, wrapped }: FoundCommand): readonly Named[] {
  const row = ROWS.get(programName(argv[0]?.value ?? ""));
  return row === undefined || wrapped !== undefined ? [] : row.named(given(argv, row.shape));
}

/** Options may follow operands. */
function given(argv: readonly Field[], shape: OptionShape): Given {
  const operands: Field[] = [];
  const seen = new Map<string, Field | undefined>();
  for (let at = 1; at < argv.length;) {
    const options = leadingOptions(argv, at, shape);
    for (const [name, value] of options.seen) seen.set(name, value);
    // `leadingOptions` takes unknown words for options.
    operands.push(...argv.slice(at, options.at).filter(({ value }) => !isFixed(value) && !value.startsWith("-")));
    if (argv.slice(at, options.at).some(({ value }) => value === "--")) {
      operands.push(...argv.slice(options.at));
      break;
    }
    if (options.at < argv.length) operands.push(argv[options.at]!);
    at = options.at + 1;
  }
  return { operands, seen };
}

const each = (fields: readonly Field[], follow: boolean): Named[] => fields.map((field) => ({ field, follow }));
const option = (field: Field | undefined, follow = true): Named[] => (field === undefined ? [] : [{ field, follow }]);
const names = (fields: readonly Field[]): string[] =>
  fields.map(({ value }) => (isFixed(value) ? posix.basename(value) : value));

/** cp, mv, install, ln: sources and one destination, which may be a directory. */
function destination({ operands, seen }: Given, follow: boolean): Named[] {
  const directory = seen.get("t") ?? seen.get("target-directory");
  if (directory !== undefined) return [{ field: directory, inside: names(operands), follow }];
  const last = operands.at(-1);
  if (last === undefined || operands.length < 2) return [];
  if (seen.has("T") || seen.has("no-target-directory")) return [{ field: last, follow }];
  return [{ field: last, inside: names(operands.slice(0, -1)), follow }];
}

const COPY = {
  flags: "abdfHilLnPpRrsTuvxZD",
  values: "St",
  long: "archive backup force interactive no-clobber recursive no-target-directory update verbose preserve parents",
  longValues: "suffix target-directory",
} as const;

const ROWS: ReadonlyMap<string, Row> = new Map(
  (
    [
      ["tee", { shape: { flags: "aip" }, named: ({ operands }) => each(operands, true) }],
      [
        "sed gsed",
        {
          shape: {
            flags: "nrEsuz",
            values: "efl",
            optional: "i",
            long: "quiet silent regexp-extended separate null-data posix debug follow-symlinks in-place",
            longValues: "expression file line-length",
          },
          named: ({ operands, seen }) => {
            if (!seen.has("i") && !seen.has("in-place")) return [];
            const scripted = ["e", "f", "expression", "file"].some((name) => seen.has(name));
            return each(scripted ? operands : operands.slice(1), seen.has("follow-symlinks"));
          },
        },
      ],
      [
        "perl ruby",
        {
          shape: { flags: "acnpwlsSTtuUWX", values: "eEIMm", optional: "i0FCD" },
          named: ({ operands, seen }) =>
            seen.has("i") && (seen.has("e") || seen.has("E")) ? each(operands, false) : [],
        },
      ],
      ["cp gcp", { shape: COPY, named: (all) => destination(all, true) }],
      [
        "install ginstall",
        {
          shape: {
            ...COPY,
            flags: "bcCdDpsTvZ",
            values: "gmoSt",
            longValues: "suffix target-directory mode owner group",
          },
          named: (all) => (all.seen.has("d") || all.seen.has("directory") ? [] : destination(all, false)),
        },
      ],
      [
        "mv gmv",
        {
          shape: COPY,
          named: (all) => {
            const into = all.seen.get("t") ?? all.seen.get("target-directory");
            const sources = into === undefined ? all.operands.slice(0, -1) : all.operands;
            return [...each(sources, false), ...destination(all, false)];
          },
        },
      ],
      [
        "ln gln",
        {
          shape: { ...COPY, flags: "bdfFiLnPrsTv", long: `${COPY.long} symbolic no-dereference relative` },
          named: ({ operands, seen }) => {
            const direct = seen.has("n") || seen.has("no-dereference");
            const [only] = operands;
            if (operands.length === 1 && only !== undefined && !seen.has("t"))
              return isFixed(only.value) ? [{ field: plain(posix.basename(only.value)), follow: false }] : [];
            return destination({ operands, seen: direct ? new Map([...seen, ["T", undefined]]) : seen }, false);
          },
        },
      ],
      ["rm grm unlink", { shape: { flags: "dfiIrRv" }, named: ({ operands }) => each(operands, false) }],
      ["shred", { shape: { flags: "fuvxz", values: "ns" }, named: ({ operands }) => each(operands, true) }],
      [
        "truncate",
        {
          shape: { flags: "co", values: "rs", longValues: "reference size", long: "no-create io-blocks" },
          named: ({ operands }) => each(operands, true),
        },
      ],
      [
        "touch",
        {
          shape: { flags: "acfhm", values: "dtr", longValues: "date reference time", long: "no-create" },
          named: ({ operands }) => each(operands, true),
        },
      ],
      [
        "chmod chown chgrp",
        {
          shape: { flags: "cfhRvHLP", longValues: "reference from", long: "recursive changes silent quiet verbose" },
          named: ({ operands, seen }) => each(seen.has("reference") ? operands : operands.slice(1), true),
        },
      ],
      [
        "dd",
        {
          shape: {},
          named: ({ operands }) =>
            operands
              .filter(({ value }) => value.startsWith("of="))
              .map(({ value, source }) => ({ field: { value: value.slice(3), source }, follow: true })),
        },
      ],
      [
        "sort",
        {
          shape: { flags: "bcdfghimMnrRsuVz", values: "koStT", longValues: "output key field-separator" },
          named: ({ seen }) => option(seen.get("o") ?? seen.get("output")),
        },
      ],
      [
        "curl",
        {
          shape: { flags: "fsSLkIgivJORn#046aGlNpqtZ", values: "oHXdAebcDFmUuwxyYzTrKEPQC", longValues: "output" },
          named: ({ seen }) => option(seen.get("o") ?? seen.get("output")),
        },
      ],
      [
        "wget",
        {
          shape: { flags: "qvcNSbdFhirkKmpHLxnE46", values: "OoPUtTwQaeiBlADIXR", longValues: "output-document" },
          named: ({ seen }) => option(seen.get("O") ?? seen.get("output-document")),
        },
      ],
    ] satisfies readonly (readonly [string, Row])[]
  ).flatMap(([programs, row]) => words(programs).map((name): [string, Row] => [name, row])),
);

/** A name may be relative to several directories: so many of them are tried. */
const MOST_DIRECTORIES = 4;
const MOST_PLACES = 40;
