/** The findings of the [safety] checks, in words, and the tables that some of them read. */
import type { ShellRules } from "../../verdict.ts";
import { globMatches, isUnknown, STAR } from "../syntax/field.ts";
import { resolved, startingAt } from "./protected-paths.ts";

type SafetyCheck = keyof ShellRules["safety"];

export interface Danger {
  readonly check: SafetyCheck;
  /** For the model. */
  readonly why: string;
  readonly instead: string;
  /** For people, if `why` is written for the model. */
  readonly brief?: string;
}

export const BLIND_ADD: Danger = {
  check: "gitAdd",
  why: "permission denied: blind git add commands (git add -A, git add ., git add --all, git add *) are not allowed, specify files explicitly",
  instead: "Name the files to add: git add path/to/file. git status shows what has changed.",
  brief: "it adds every changed file, including those that no one reviewed",
};

export const FORCED_PUSH: Danger = {
  check: "forcePush",
  why: "permission denied: git push --force is not allowed. Use --force-with-lease for safer force pushes, or push without force",
  instead: "Use git push --force-with-lease, or push without force; to delete a remote branch, name it.",
  brief: "a forced push overwrites what others have pushed",
};

export function dangerousRm(what: string): Danger {
  return {
    check: "dangerousRm",
    why: `permission denied: this rm command could delete critical data (.git, home directory, or root). Specify the full path explicitly (no wildcards, ~, or $HOME): it would delete ${what}`,
    instead: "List what is there, then delete it by name, as in rm -r /srv/app/cache.",
    brief: `it would delete ${what}`,
  };
}

export function dangerousTree(check: SafetyCheck, program: string, what: string): Danger {
  return {
    check,
    why: `permission denied: ${program} on ${what} could make the system unusable`,
    instead: "Name the full path of the files or the directory that is meant.",
  };
}

export function diskWrite(what: string): Danger {
  return {
    check: "disk",
    why: `permission denied: ${what} would overwrite or destroy a disk or file system`,
    instead: "Write to a regular file, or let the operator do this by hand.",
  };
}

export const FORK_BOMB: Danger = {
  check: "forkBomb",
  why: "permission denied: a command that keeps starting processes (a fork bomb) would bring the machine down",
  instead: "Use a loop with an end, and wait for what it starts.",
};

// ── Tables of dangerous commands and files (templates/dangers), matched against the words of a command.

interface TableRow {
  readonly section: string;
  /** Ends the sentence “it …”. */
  readonly words: string;
  readonly program: string;
  readonly tokens: readonly Token[];
  /** The name of a function that checks texts instead: SQL, MONGO, REDIS. */
  readonly reader?: string;
}

export interface Example {
  readonly section: string;
  readonly counts: boolean;
  readonly text: string;
}

type Token =
  | { readonly kind: "any" }
  | { readonly kind: "word"; readonly pattern: RegExp; readonly resource: boolean }
  /** The words are in one argument or in several, separated by semicolons. */
  | { readonly kind: "statement" }
  | { readonly kind: "option"; readonly names: readonly RegExp[]; readonly absent: boolean };

export class DangerTable {
  readonly #rows = new Map<string, TableRow[]>();
  readonly examples: Example[] = [];
  /** Patterns of paths by section. */
  readonly files: { readonly section: string; readonly words: string; readonly path: string }[] = [];

  constructor(text: string) {
    let section = "";
    let words = "";
    let programs: readonly string[] = [];
    for (const line of text.split("\n")) {
      if (line.trim() === "" || line.startsWith("#")) continue;
      const head = /^\[(\w+)\] (.+)$/.exec(line);
      if (head !== null) [section, words] = [head[1] as string, head[2] as string];
      else if (line.startsWith("+ ") || line.startsWith("- "))
        for (const one of line.slice(2).split("¦"))
          this.examples.push({ section, counts: line.startsWith("+"), text: one.trim() });
      else if (line.startsWith("FILES "))
        for (const path of line.slice(6).trim().split(/\s+/)) this.files.push({ section, words, path });
      else if (line.startsWith("  ")) {
        const pieces = line.trim().split(/\s+/);
        const reader = /^[A-Z]{3,}$/.test(pieces[0] ?? "") && pieces[0] !== "WORDS" ? { reader: pieces[0] } : {};
        const tokens = "reader" in reader ? [] : pieces.map(tokenOf);
        for (const program of programs) {
          const row = { section, words, program, tokens, ...reader } as TableRow;
          this.#rows.set(program, [...(this.#rows.get(program) ?? []), row]);
        }
      } else programs = line.trim().split(/\s+/);
    }
  }

  programs(): readonly string[] {
    return [...this.#rows.keys()];
  }

  of(program: string): readonly TableRow[] {
    return this.#rows.get(program) ?? [];
  }
}

/** Whether the row describes a call with these arguments. */
export function matches(row: TableRow, args: readonly string[]): boolean {
  const words = args.slice(0, MOST_WORDS);
  const options = row.tokens.filter((token) => token.kind === "option");
  for (const { names, absent } of options) {
    const found = words.some((word) => names.some((name) => name.test(word)));
    if (found === absent) return false;
  }
  const tokens = row.tokens.filter((token) => token.kind !== "option");
  if (tokens[0]?.kind !== "statement") return follow(tokens, words, 0, 0, false);
  const statements = words
    .filter((word) => !word.startsWith("-"))
    .join(" ")
    .split(/[;\n]/);
  return statements.some((one) =>
    follow(
      tokens.slice(1),
      one.split(/\s+/).filter((word) => word !== ""),
      0,
      0,
      false,
    ),
  );
}

/** Words in order; options may be anywhere, and the word after one may be its value. */
function follow(
  tokens: readonly Token[],
  words: readonly string[],
  t: number,
  w: number,
  afterOption: boolean,
): boolean {
  const token = tokens[t];
  if (token === undefined) return true;
  if (token.kind === "any")
    return follow(tokens, words, t + 1, w, false) || (w < words.length && follow(tokens, words, t, w + 1, false));
  const word = words[w];
  if (word === undefined || token.kind !== "word") return false;
  if (token.pattern.test(word) || (token.resource && ofResources(word).some((one) => token.pattern.test(one))))
    if (follow(tokens, words, t + 1, w + 1, false)) return true;
  if (word.length > 1 && word.startsWith("-")) return follow(tokens, words, t, w + 1, !word.includes("="));
  return afterOption && follow(tokens, words, t, w + 1, false);
}

/** `pod,pvc`, `ns/prod`, `statefulsets.apps`. */
function ofResources(word: string): string[] {
  return word.split(",").map((one) => one.replace(/\/.*$/, "").replace(/\..*$/, ""));
}

function tokenOf(text: string): Token {
  if (text === "..") return { kind: "any" };
  if (text === "WORDS") return { kind: "statement" };
  const absent = text.startsWith("!");
  const alternatives = text.slice(absent ? 1 : 0).split("|");
  if (absent || alternatives.every((one) => /^=?-/.test(one)))
    return { kind: "option", names: alternatives.map(optionPattern), absent };
  const resource = text.startsWith("~");
  const patterns = (resource ? text.slice(1) : text).split("|").map(wordPattern);
  return { kind: "word", pattern: new RegExp(`^(?:${patterns.join("|")})$`, "i"), resource };
}

/**
 * `-v` also among other letters, `=-v` and words that are not options only as they are; `-destroy` also as
 * `--destroy`, with a value that is not false.
 */
function optionPattern(name: string): RegExp {
  if (!name.startsWith("-")) return new RegExp(`^${wordPattern(name.replace(/^=/, ""))}$`);
  const letter = /^-([A-Za-z0-9?])$/.exec(name)?.[1];
  if (letter !== undefined) return new RegExp(`^-[A-Za-z]*${RegExp.escape(letter)}`);
  const bare = RegExp.escape(name.replace(/^-+/, "")).replaceAll("\\*", "[^=]*");
  return new RegExp(`^--?${bare}(?:=(?!false$)|$)`);
}

function wordPattern(word: string): string {
  if (word === "?") return "\\ufdd2";
  const short = /^(\w+)\[(\w+)\]$/.exec(word);
  if (short === null) return RegExp.escape(word).replaceAll("\\*", "[^]*");
  const [, first = "", rest = ""] = short;
  return [...rest].reduceRight((inner, letter) => `(?:${letter}${inner})?`, "").replace(/^/, first);
}

/** An unknown word matches only `?`: a command with one needs approval anyway. */
export function knownWords(values: readonly string[]): string[] {
  return values.map((value) => (isUnknown(value) && !/\s/.test(value) ? "\u{fdd2}" : value));
}

const MOST_WORDS = 64;

export interface ListedFile {
  readonly section: string;
  /** Ends the sentence “it …”. */
  readonly words: string;
}

interface Pattern extends ListedFile {
  readonly home: boolean;
  readonly names: readonly string[];
}

/** The files that a table names with FILES. */
export class ListedFiles {
  readonly #patterns: readonly Pattern[];

  constructor(table: DangerTable) {
    this.#patterns = table.files.map(({ section, words, path }) => ({
      section,
      words,
      home: path.startsWith("~"),
      names: path.replace(/^~/, "").split("/").filter(Boolean),
    }));
  }

  /** `path` is absolute, or relative to a home. */
  at(path: string, home: boolean): ListedFile | undefined {
    return this.#find(path.split("/").filter(Boolean), home, covers);
  }

  /** `file` is written in a text and may be relative to any of the directories. */
  named(file: string, { directories, cwd, whole = false }: From): (ListedFile & { readonly path: string }) | undefined {
    for (const directory of startingAt(directories, cwd)) {
      const { from, parts } = resolved(file, isUnknown(directory) ? "." : directory);
      if (from === ".") continue;
      const entry = this.#find(parts, from === "~", whole ? coversBelow : covers);
      if (entry !== undefined) return { ...entry, path: `${from === "~" ? "~" : ""}/${parts.join("/")}` };
    }
    return undefined;
  }

  #find(parts: readonly string[], home: boolean, covering: typeof covers): ListedFile | undefined {
    return this.#patterns.find((one) => one.home === home && covering(one.names, parts));
  }
}

interface From {
  readonly directories: readonly string[];
  readonly cwd: string | undefined;
  /** The command affects everything below a directory. */
  readonly whole?: boolean;
}

/** `**` is anything below; a part of a path in the text may contain globs. */
function covers(names: readonly string[], parts: readonly string[]): boolean {
  if (names.at(-1) === "**") {
    const above = names.slice(0, -1);
    return parts.length >= above.length && covers(above, parts.slice(0, above.length));
  }
  return (
    names.length === parts.length &&
    names.every((name, at) => {
      const part = parts[at] as string;
      return globMatches(name.replaceAll("*", STAR), part) || globMatches(part, name.replaceAll("*", ""));
    })
  );
}

function coversBelow(names: readonly string[], parts: readonly string[]): boolean {
  return covers(names, parts) || (parts.length > 0 && covers(names.slice(0, parts.length), parts));
}
