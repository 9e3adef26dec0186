/** Which files a command writes, removes or changes, by its rows of the table (templates/commands/changes.txt). */
import { isHarmlessSink } from "../shell/dangers/protected-paths.ts";
import { type Field, field, globMatches, isGlob, programName, readable } from "../shell/syntax/field.ts";
import type { FoundCommand } from "../shell/syntax/findings.ts";
import type { Write } from "../shell/syntax/redirections.ts";
import { findPlan } from "../shell/wrappers/find.ts";
import { isGiven, part, type Reading, readings } from "./argv.ts";
import { holds, type Rule } from "./notation.ts";
import { changeRows } from "./table.ts";

export type Verb =
  /** Deletes it, or moves it away. */
  | "removes"
  /** Overwrites all that is in it, as `>` does. */
  | "empties"
  /** Writes to it, or copies another file over it. */
  | "writes"
  /** Puts another file in its place: a link of this name is not followed. */
  | "replaces"
  /** Puts a link in its place. */
  | "links"
  /** Changes its mode, owner, attributes or times. */
  | "mode"
  /** Makes or removes the directory itself. */
  | "directory"
  /** Changes files in this directory; which ones, only the running program knows. */
  | "fills";

interface FileChange {
  readonly does: Verb;
  readonly field: Field;
  /** If it is a directory, the names of the files in it: those of the sources. */
  readonly inside?: readonly string[];
  /** A test of find excludes some of the files below it. */
  readonly narrowed?: boolean;
}

export interface LocatedChange extends FileChange {
  /** Directories that the name may be relative to. */
  readonly directories: readonly string[];
}

/** What a command changes, also by its redirections. */
export function fileChanges({ argv, directories, writes }: FoundCommand): readonly LocatedChange[] {
  return [...changesBy(argv).changes.map((change) => ({ ...change, directories })), ...writes.map(redirected)];
}

export function redirected({ file, appends, directories }: Write): LocatedChange {
  return { does: appends ? "writes" : "empties", field: field(file, readable(file)), directories };
}

/** Every path that may be changed. */
export function pathsOf({ field: { value }, inside = [] }: FileChange): readonly string[] {
  return [value, ...inside.map((name) => `${value.replace(/\/+$/, "")}/${name}`)];
}

export interface Changes {
  /** Its name in the table; empty if it is not there. */
  readonly program: string;
  readonly changes: readonly FileChange[];
  /** Whether one of these options is given: letters and long names, separated by commas. */
  has(names: string): boolean;
}

const NONE: Changes = { program: "", changes: [], has: () => false };
const known = new WeakMap<readonly Field[], Changes>();

export function changesBy(argv: readonly Field[]): Changes {
  const before = known.get(argv);
  if (before !== undefined) return before;
  const [program = "", ...others] = programsOf(programName(argv[0]?.value ?? ""));
  const changes = program === "" ? NONE : changesOf(program, argv);
  const all = { ...changes, changes: [...changes.changes, ...others.flatMap((one) => changesOf(one, argv).changes)] };
  known.set(argv, all);
  return all;
}

/** A pattern for a program (`/bin/r?`) is each program that it may match, unless it has no letters. */
export const mayBe = (pattern: string, name: string) => /[a-z]/.test(pattern) && globMatches(pattern, name);

/** Where other programs come first in the path, those of GNU have a g in front. */
function programsOf(name: string): string[] {
  const rows = changeRows();
  if (isGlob(name)) return rows.programs().filter((one) => mayBe(name, one));
  return [name, ...(name.startsWith("g") ? [name.slice(1)] : [])].filter((one) => rows.has(one)).slice(0, 1);
}

/** In every way in which the words can be read. */
function changesOf(program: string, argv: readonly Field[]): Changes {
  const found = changeRows()
    .of(program)
    .flatMap(({ calls, rules }) =>
      calls.flatMap(({ form }) =>
        readings(form, argv.slice(1)).map((reading) => ({ rules, given: new Given(reading) })),
      ),
    );
  const changes = found.flatMap(({ rules, given }) => rules.flatMap((rule) => selected(rule, given, argv)));
  const key = ({ does, field: { value, source }, inside, narrowed }: FileChange) =>
    JSON.stringify([does, value, source, inside, narrowed]);
  return {
    program,
    changes: [...new Map(changes.filter(changesFile).map((one) => [key(one), one])).values()],
    has: (names) => found.some(({ given }) => given.has(names)),
  };
}

/** `-` and /dev/null are not files where they name an output. */
const changesFile = ({ does, field: { value }, inside }: FileChange) =>
  value !== "" && !((does === "empties" || does === "writes") && inside === undefined && isSink(value));
const isSink = (value: string) => value === "-" || isHarmlessSink(value);

/** What the options and operands of one reading are. */
class Given {
  readonly operands: readonly Field[];

  constructor(readonly reading: Reading) {
    this.operands = reading.operands.map(({ field }) => field);
  }

  readonly has = (names: string): boolean => isGiven(this.reading, names);

  values(names: string): readonly Field[] {
    const all = names.split(",");
    return this.reading.options.flatMap(({ name, values }) => (all.includes(name) ? values : []));
  }
}

/** What a rule changes. `what`: which words, and after a slash the options that decide it. */
function selected(rule: Rule, given: Given, argv: readonly Field[]): FileChange[] {
  if (!holds(rule, given.reading)) return [];
  const { operands } = given;
  const does = rule.does as Verb;
  const [, which = "", names = ""] = /^([^/]\w*=?)(?:\/(.*))?$/.exec(rule.what) ?? [];
  const into = given.values("-t,--target-directory").at(-1);
  const each = (fields: readonly Field[]) => fields.map((field) => ({ does, field }));
  switch (which) {
    case "all":
      return each(operands);
    case "first":
      return each(operands.slice(0, 1));
    case "later":
      return each(later(given, names));
    case "sources":
      return each(into === undefined ? operands.slice(0, -1) : operands);
    case "last": {
      if (into !== undefined) return [{ does, field: into, inside: basenames(operands) }];
      const last = operands.slice(-1);
      const inside = basenames(operands.slice(0, -1));
      // A link may also be made here, with the name of the only operand.
      if (does === "links" && inside.length === 0)
        return basenames(last).map((name) => ({ does, field: part(last[0] as Field, name) }));
      if (given.has("-T,--no-target-directory")) return each(last);
      const direct = does === "links" && given.has("-n,--no-dereference") ? each(last) : [];
      return [...direct, ...last.map((field) => ({ does, field, inside }))];
    }
    case "saved": {
      const suffix = given.values("-S,--suffix").at(-1)?.value ?? "~";
      return selected({ ...rule, what: "last" }, given, argv).flatMap((change) =>
        each(pathsOf(change).map((path) => part(change.field, path.replace(/\/+$/, "") + suffix))),
      );
    }
    case "local":
      // The other end of a copy may be a machine.
      return selected({ ...rule, what: "last" }, given, argv).filter(({ field }) => !/^[^/]*:/.test(field.value));
    case "here":
      return each([field(".")]);
    case "backups":
      return given
        .values(names)
        .flatMap((suffix) =>
          each(later(given, "-e,-E,-f,--expression,--file").map((word) => backup(word, suffix.value))),
        );
    case "packed": {
      const [, own = ""] = SUFFIXES.find(([program]) => program.test(programName(argv[0]?.value ?? ""))) ?? [];
      return each(operands.flatMap((word) => renamed(word, [own, ...given.values("-S,--suffix").map(suffixOf)])));
    }
    case "find":
      return found(argv);
    default: {
      const { what } = rule;
      // Values of options, or the rest of operands with a prefix: `of=`, `/files`.
      if (what.startsWith("-")) return each(given.values(what));
      return each(
        operands.flatMap((word) => (word.value.startsWith(what) ? part(word, word.value.slice(what.length)) : [])),
      );
    }
  }
}

/** All but the first, which is a script or a mode, unless one of the options gives it. */
function later({ has, operands }: Given, names: string): readonly Field[] {
  return names !== "" && has(names) ? operands : operands.filter(({ value }) => value !== "").slice(1);
}

/** `*` in a suffix stands for the name of the file, and a slash for another directory. */
function backup(word: Field, suffix: string): Field {
  const [, directory = "", name = ""] = /^(.*\/)?([^]*)$/.exec(word.value) ?? [];
  if (!suffix.includes("*")) return part(word, word.value + suffix);
  const all = suffix.replaceAll("*", name);
  return part(word, all.includes("/") ? all : directory + all);
}

const suffixOf = ({ value }: Field) => (value.startsWith(".") ? value : `.${value}`);
const SUFFIXES: readonly (readonly [RegExp, string])[] = [
  [/bz/, ".bz2"],
  [/xz/, ".xz"],
  [/lz/, ".lzma"],
  [/compress/, ".Z"],
  [/zst/, ".zst"],
  [/./, ".gz"],
];

/** Both names that a file may get: the program decides by what is in it. */
function renamed(word: Field, suffixes: readonly string[]): Field[] {
  const { value } = word;
  const unpacked = value.replace(/\.t[gbx]z2?$/, ".tar").replace(/\.(?:gz|z|Z|bz2|xz|lzma|zst)$/, "");
  const stripped = suffixes.flatMap((suffix) => (value.endsWith(suffix) ? value.slice(0, -suffix.length) : []));
  const names = new Set([...suffixes.map((suffix) => value + suffix), unpacked, ...stripped]);
  names.delete(value);
  return [...names].map((name) => part(word, name));
}

const basenames = (fields: readonly Field[]) =>
  fields.map(({ value }) => value.replace(/\/+$/, "").replace(/^.*\//, ""));

function found(argv: readonly Field[]): FileChange[] {
  const { starts, actions } = findPlan(argv);
  return actions.flatMap((action): FileChange[] => {
    if (action.kind === "write") return action.file === undefined ? [] : [{ does: "empties", field: action.file }];
    if (action.kind === "run") return [];
    const { narrowed } = action;
    return (starts.length === 0 ? [field(".")] : starts).map((field) => ({ does: "removes", field, narrowed }));
  });
}
