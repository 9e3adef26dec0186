/** Which file with keys, or of buddy itself, a read would show to the model: in words, scripts and redirections. */
import { words } from "../../lib/text.ts";
import { once } from "../../lib/values.ts";
import {
  hasBuddysBelow,
  hasSecretsBelow,
  holdsSecretFiles,
  holdsSecrets,
  isBuddysOwn,
  mayNameSecret,
} from "../files/secret-files.ts";
import { hasDevicesBelow, isDeviceToRead, isOfAnotherMachine, startingAt } from "./dangers/protected-paths.ts";
import { readOnlyRows } from "./read-only/prove.ts";
import { type Field, HOME, isGlob, maybeOption, programName, readable, STAR, UNKNOWN } from "./syntax/field.ts";
import type { FoundCommand, Walked } from "./syntax/findings.ts";
import { findPlan, patternName } from "./wrappers/find.ts";

/** Why a read needs a question; undefined if it shows nothing secret. */
export function secretRead(found: FoundCommand, cwd: string | undefined): string | undefined {
  const program = programName(found.argv[0]?.value ?? "");
  if (TEXT_ONLY.has(program) || (program === "openssl" && PRINTS_CERTIFICATES.has(found.argv[1]?.value ?? "")))
    return undefined;
  const loads = LOADS.get(program);
  if (loads !== undefined && found.argv.some(({ value }) => loads.test(value)))
    return "its script reads a file that the text may compute, and that may contain secrets";
  if (loads !== undefined && isOpenScript(found.argv.slice(1).map(({ value }) => value)))
    return "its script is only known when it runs, and may show variables or files that contain secrets";
  const places = startingAt(found.directories, cwd);
  if (places.some((place) => openedBy(found).some((path) => isDeviceToRead(path, place)))) return "it reads a device";
  const whole = isRecursive(program, found);
  const namesOnly = printsNamesOnly(found);
  for (const path of pathsOf(program, found)) {
    for (const place of places) {
      if (isBuddysOwn(path, place)) return `${readable(path)} belongs to buddy itself`;
      if (isOfAnotherMachine(path, place)) return `${readable(path)} may be on another machine`;
      if (namesOnly) continue;
      if ((whole || above(path) !== path) && hasDevicesBelow(above(path), place)) return "it reads devices";
      if (whole && hasBuddysBelow(above(path), place)) return `${readable(path)} contains files of buddy itself`;
      if (holdsSecrets(path, place) || holdsSecretFiles(path, place) || (whole && hasSecretsBelow(above(path), place)))
        return withSecrets(path);
    }
  }
  return undefined;
}

/** Where find starts, if the name may be any; otherwise the path itself. */
function above(path: string): string {
  const [, start] = /^([^]*?)\/\uFDD2(?:\/([^/]*))?$/.exec(path) ?? [];
  const name = /[^/]*$/.exec(path)?.[0] ?? "";
  return start !== undefined && isAnyName(name) ? start || "/" : path;
}

/** A pattern that matches nearly any name. */
const isAnyName = (name: string) => name.replace(/[\uFDD0-\uFDDB]/g, "").length < 2;

/** How scripts of these programs read other files. */
const LOADS: ReadonlyMap<string, RegExp> = new Map([
  ["jq", /\b(?:import|include)\b|^-[a-zA-Z]*f|^--from-file/],
  ["gojq", /\b(?:import|include)\b|^-[a-zA-Z]*f|^--from-file/],
  // One of the two programs of that name passes its script to jq.
  ["yq", /load\w*\s*\(|\b(?:eval|system)\s*\(|\b(?:import|include)\b/],
]);

const withSecrets = (path: string) => `${readable(path)} contains secrets the model would see`;

/** The same for redirections. */
export function secretInput(walked: Walked, cwd: string | undefined): string | undefined {
  for (const { file, directories } of walked.reads)
    for (const place of startingAt(directories, cwd))
      if (holdsSecrets(file, place) || isBuddysOwn(file, place)) return withSecrets(file);
      else if (isDeviceToRead(file, place)) return "it reads a device";
      else if (isOfAnotherMachine(file, place)) return `${readable(file)} may be on another machine`;
  return undefined;
}

/** The same for names that are listed and passed on to a program that reads the files. */
export function secretPassedOn(walked: Walked, cwd: string | undefined): string | undefined {
  const passed = walked.commands.some(({ argv, by }) => {
    if (NAMES_ONLY.has(programName(argv[0]?.value ?? ""))) return false;
    return by?.command.argv[0]?.value.endsWith("xargs") === true || argv.some(({ value }) => value.includes(UNKNOWN));
  });
  if (!passed) return undefined;
  if (walked.computed) return "it reads a file whose name the text computes, and that may contain secrets";
  if (readsAnyFile(walked))
    return "it reads a file whose name is only known when it runs, and that may contain secrets";
  for (const found of walked.commands) {
    const program = programName(found.argv[0]?.value ?? "");
    if (!NAMES_ONLY.has(program) || program === "echo" || program === "printf") continue;
    const anyName = isFind(program) ? foundBy(found.argv).filter((path) => above(path) !== path) : [];
    for (const place of startingAt(found.directories, cwd)) {
      const path =
        [...pathsOf(program, found), ...hiddenIn(program, found)].find(
          (one) => holdsSecrets(one, place) || holdsSecretFiles(one, place),
        ) ?? anyName.find((one) => hasSecretsBelow(above(one), place) || hasBuddysBelow(above(one), place));
      if (path !== undefined) return withSecrets(path);
    }
  }
  return undefined;
}

/** The hidden files that `ls -A` lists. */
function hiddenIn(program: string, { argv }: FoundCommand): readonly string[] {
  const args = argv.slice(1).map(({ value }) => value);
  if (program !== "ls" || !args.some((word) => /^-[a-zA-Z1]*[aAf]|^--a/.test(word))) return [];
  const directories = args.filter((word) => !word.startsWith("-"));
  return (directories.length === 0 ? ["."] : directories).map((directory) => `${directory}/.${STAR}`);
}

/**
 * Programs whose arguments are text, or names of units, packages, users and processes, not files; and those that use
 * files with keys and values without printing them, if a row covers the call.
 */
const TEXT_ONLY: ReadonlySet<string> = new Set(
  words(`echo printf systemctl service dpkg-query apt-cache getent id groups pgrep pidof ps
    terraform tofu etcdctl curl psql mysql mariadb`),
);
/** Of openssl: they do not print keys. */
const PRINTS_CERTIFICATES = new Set(["x509", "crl", "verify"]);
/** Programs that print names and attributes of files, never their contents. */
const NAMES_ONLY: ReadonlySet<string> = new Set(
  words(`ls stat du find gfind test [ tree file realpath readlink dirname basename cd pushd echo printf pwd which type
    namei lsattr getfacl`),
);
export const namesOnly = (program: string): boolean => NAMES_ONLY.has(programName(program));

/** Options with which they print the contents of a file, as names. */
const LISTS_FROM_FILE = /^(?:--exclude-from|--fromfile|--magic-file|-X)/;

function printsNamesOnly({ argv }: FoundCommand): boolean {
  const program = programName(argv[0]?.value ?? "");
  return (
    NAMES_ONLY.has(program) &&
    !argv.some(({ value }) => LISTS_FROM_FILE.test(value) || (program === "file" && /^-[a-zA-Z]*m/.test(value)))
  );
}

/** Programs whose first operand is a pattern, not a file. */
const PATTERN_FIRST = new Set(words("grep egrep fgrep zgrep rg ag ack"));
/** Programs whose script may name files. */
const SCRIPTED = new Set(words("sed gsed awk gawk mawk nawk"));
const MOST_TOKENS = 64;

/** Everything in the words that may be the path of a file that is read. */
function pathsOf(program: string, found: FoundCommand): readonly string[] {
  const { argv, by, wrapped } = found;
  const paths: string[] = [];
  // Without the words of the command that it runs.
  const args = argv.slice(1, wrapped?.at).map((word) => word.value);
  if (isFind(program)) paths.push(...foundBy(argv));
  // Names are relative to every directory that find visits.
  if (by !== undefined && by.command.argv.some(({ value }) => /^-(?:exec|ok)dir$/.test(value)))
    for (const start of foundBy(by.command.argv))
      paths.push(...args.filter((word) => !word.startsWith("-")).map((word) => `${above(start)}/${UNKNOWN}/${word}`));
  if (/^(?:go)?jq$/.test(program)) args.splice(scriptOfJq(args), 1);
  if (PATTERN_FIRST.has(program)) paths.push(...searchedNames(args));
  let skip = PATTERN_FIRST.has(program) && !args.some((word) => /^-[a-zA-Z]*[ef]|^--(?:regexp|file)/.test(word));
  for (const word of args) {
    if (skip && !word.startsWith("-")) {
      skip = false;
      continue;
    }
    paths.push(word.startsWith("-") ? word.replace(/^-[A-Za-z]/, "") : word);
    if (paths.length > MOST_TOKENS || !/[\s'"=@:,(){}<>;|&]/.test(word)) continue;
    // `if=FILE`, `@FILE`, `--file=FILE`, and files that a script names.
    for (const token of word.split(/[\s'"=@:,(){}<>;|&]+/).slice(0, MOST_TOKENS))
      if (/[/~]/.test(token) || token.startsWith(HOME) || SCRIPTED.has(program) || /[=@:]/.test(word))
        paths.push(token);
  }
  // A search without a directory reads the current one.
  const operands = args.filter((word) => !word.startsWith("-"));
  const searches = PATTERN_FIRST.has(program) && by === undefined && isRecursive(program, found);
  if (searches && operands.length < 2) paths.push(".");
  return paths.filter((path) => path !== "");
}

/** The names that a search is limited to: `--include='.e*'`, `-g '.e*'`. */
function searchedNames(args: readonly string[]): string[] {
  return args.flatMap((word, at) => {
    const [, option = "", value] =
      /^(--include|--i?glob|-g)(?:=([^]*))?$/.exec(word) ?? /^(-g)([^]+)$/.exec(word) ?? [];
    const name = patternName(option === "" ? "" : (value ?? args[at + 1] ?? ""));
    return name.startsWith("!") || isAnyName(name) ? [] : [name];
  });
}

/** Whether the script of jq or yq, or where it is, depends on what only the running shell knows. */
function isOpenScript(args: readonly string[]): boolean {
  // A file may be called -f, but not where names end in a suffix.
  const mayBeOption = (word: string) => isGlob(word) && maybeOption(word) && !/\.\w+$/.test(word);
  return args.some(mayBeOption) || /[\uFDD0-\uFDD2]/.test(args[scriptOfJq(args)] ?? "");
}

/** The index of the script of jq, in which `.key` is a field, not a file. `LOADS` finds files that it reads. */
function scriptOfJq(args: readonly string[]): number {
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string;
    if (/^--(?:arg|argjson|slurpfile|rawfile)$/.test(word)) at += 2;
    else if (word === "--indent") at++;
    else if (!word.startsWith("-")) return at;
  }
  return args.length;
}

/** The names that find looks for, below where it starts. */
function foundBy(argv: readonly Field[]): string[] {
  const starts = findPlan(argv).starts.map((start) => start.value);
  const names = argv.flatMap(({ value }, index) =>
    /^-i?(?:name|path|wholename)$/.test(argv[index - 1]?.value ?? "")
      ? [patternName(value.replace(/^(?:\*?\/)+/, ""))]
      : [],
  );
  return (starts.length === 0 ? ["."] : starts).flatMap((start) =>
    names.length === 0 ? [`${start}/${UNKNOWN}`] : names.map((name) => `${start}/${UNKNOWN}/${name}`),
  );
}

const RECURSIVE = new Set(words("rg ag ack diff gdiff sdiff tar bsdtar gtar zip 7z rsync cp scp"));

/** Reads everything below a directory. */
function isRecursive(program: string, { argv, by }: FoundCommand): boolean {
  const options = argv.slice(1).map((word) => readable(word.value));
  // Only names such as *.conf, which no file with keys has.
  if (options.some((word) => /^--include=\*\.(?:conf|cfg|ini|log|md|txt|service|yaml|yml|json|[a-z]{1,3})$/.test(word)))
    return false;
  const wrapper = programName(by?.command.argv[0]?.value ?? "");
  // diff compares the files of two directories that have the same name, or one of a directory with a file.
  if (RECURSIVE.has(program) || isFind(wrapper)) return true;
  if (program === "git") return options.includes("--no-index");
  return (
    PATTERN_FIRST.has(program) &&
    options.some((word) => /^-[a-zA-Z]*[rRd]|^--(?:recursive|dereference-recursive|directories)/.test(word))
  );
}

const isFind = (program: string) => program === "find" || program === "gfind";

// ── Reads of files whose names only the running shell knows: whether such a name may be that of any file.

/**
 * Whether the text may read any file at all: a program opens a file named by an environment variable or by the contents
 * of another file. Names listed by find, ls or git ls-files are judged with those commands.
 */
function readsAnyFile(walked: Walked): boolean {
  // Text that is printed may also lead out of a known directory.
  const anyText = walked.commands.some(printsGivenText);
  const readers = walked.commands.filter((found) =>
    openedBy(found).some((path) => isAnyFile(path) || (anyText && path.includes(UNKNOWN))),
  );
  if (readers.length === 0) return false;
  if (walked.environment || walked.reads.some(({ file }) => file !== "/dev/null")) return true;
  return walked.commands.some((found) => !readers.includes(found) && !onlyNames(found));
}

/** Unknown at its start, and its end is unknown or may be the name of a file with keys. */
function isAnyFile(path: string): boolean {
  if (!path.startsWith(UNKNOWN)) return false;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.includes(UNKNOWN) || mayNameSecret(name);
}

/** Programs whose first operand is not a file. */
const SCRIPT_FIRST = new Set(words("grep egrep fgrep ggrep zgrep rg jq gojq yq awk gawk mawk nawk sed gsed"));
/** Options of jq that are followed by a name and a file. */
const JQ_FILES = /^--(?:rawfile|slurpfile)$/;

/** The files that a command opens. */
function openedBy({ argv }: FoundCommand): readonly string[] {
  const program = programName(argv[0]?.value ?? "");
  const valued = new Set<string>();
  let reads = /^(?:[gmn]?awk|g?sed|yq)$/.test(program);
  for (const row of readOnlyRows().of(program))
    for (const { form } of row.calls) {
      if (form.operands.some(({ shape }) => shape?.contents === true)) reads = true;
      for (const [name, { values }] of form.options) if (values > 0) valued.add(name);
    }
  if (!reads) return [];
  const files: string[] = [];
  let script = SCRIPT_FIRST.has(program) && !argv.some(({ value }) => /^-[a-zA-Z]*[ef]|^--(?:regexp|file)/.test(value));
  for (let at = 1; at < argv.length; at++) {
    const { value } = argv[at] as Field;
    const last = value.startsWith("--") ? value : `-${value.at(-1)}`;
    if (JQ_FILES.test(value)) files.push(argv[(at += 2)]?.value ?? "");
    else if (value.startsWith("-") && value !== "-")
      at += valued.has(last) ? (/^--arg(?:json)?$/.test(value) ? 2 : 1) : 0;
    else if (script) script = false;
    else files.push(value);
  }
  return files;
}

/** Programs that print names of files, numbers, or text from their arguments. */
const LISTS = new Set(
  words(`ls stat du find gfind fd fdfind test [ [[ tree file realpath readlink dirname basename cd pushd popd echo printf pwd which
    type whereis namei lsattr getfacl dpkg rpm apk systemctl service pgrep pidof ps id groups whoami hostname
    uname nproc date seq true false : sleep read mapfile readarray command xargs wc uptime free df lsof docker podman`),
);
/** Programs that only drop or reorder lines, if they read no file. */
const FILTERS = new Set(words("head tail sort uniq tac cat grep egrep fgrep column nl"));
const NAMES_OF_GIT = /^(?:ls-files|ls-tree|rev-parse|status|branch|tag|remote|rev-list|merge-base|describe)$/;

/**
 * Arguments that make a program print text of the caller: formats, separators, suffixes to remove. Formats with only
 * directives, digits and punctuation do not.
 */
const FORMATS: readonly (readonly [programs: string, words: RegExp])[] = [
  ["date", /^\+(?!(?:%[-_0^#]?[a-zA-Z]|[-_.:, 0-9T])*$)/],
  ["ls du tree", /^--time-?[sf]/],
  ["echo", /\\/],
  ["stat find gfind", /^(?!(?:--\w+=|-c)?(?:%[-0-9.]*[ACT]?[a-zA-Z@]|\\[nt0]|[\s,:])*$)[^]*[%\\]/],
  ["docker podman", /^(?!(?:--format=|-f)?(?:\{\{ ?\.[\w.]+ ?\}\}|\\t|[\s,:])*$)[^]*\{\{/],
  ["rpm dpkg", /^-f|^--(?:qf|queryformat|showformat)/],
  ["seq column nl tac", /^-[a-zA-Z]*[fosNH]|^--(?:f|o|s|number-s|table|header)/],
  ["pgrep", /^-[a-zA-Z]*d|^--d/],
  ["grep egrep fgrep", /^--label/],
  ["rg", /^-[a-zA-Z]*r|^--(?:re|field|context-s|path-s)/],
  ["fd fdfind", /^--format/],
  ["cut", /^--output-d/],
];
const formats = once(() => new Map(FORMATS.flatMap(([programs, text]) => words(programs).map((name) => [name, text]))));
/** A format that prints its arguments unchanged, or numbers. */
const PLAIN_FORMAT = /^(?:(?:%s|%%|\\[nt]|\\0+|[^%\\])*|(?:%0?\d*[dix]|\\n|[-_.:, 0-9])*)$/;

function printsGivenText({ argv }: FoundCommand): boolean {
  const program = programName(argv[0]?.value ?? "");
  const args = argv.slice(1).map(({ value }) => value);
  if (program === "printf") return !PLAIN_FORMAT.test(args.find((word) => word !== "--") ?? "");
  if (program === "basename")
    return (
      args.length > 1 && (!/^-(?:a|-multiple)$/.test(args[0] ?? "") || args.some((word) => /^-\w*s|^--s/.test(word)))
    );
  const text = formats().get(program);
  return text !== undefined && args.some((word) => text.test(word));
}

/** It prints only names that it lists, not text from a file or a script. */
function onlyNames(found: FoundCommand): boolean {
  const { argv, wrapped } = found;
  const program = programName(argv[0]?.value ?? "");
  const args = argv.slice(1).map(({ value }) => value);
  if (found.defined || (wrapped !== undefined && program !== "xargs")) return program !== "xargs";
  if (program === "xargs") return !args.some((word) => /^-[a-zA-Z0-9]*a|^--arg-file/.test(word));
  if (printsGivenText(found)) return false;
  if (program === "git") {
    const call = args.find((word) => !word.startsWith("-")) ?? "";
    return NAMES_OF_GIT.test(call) || args.some((word) => /^--name-(?:only|status)$|^-l$|^--files-with/.test(word));
  }
  if (LISTS.has(program)) return true;
  const names = args.some((word) => /^-[a-zA-Z]*[lLcq]|^--(?:files|count|quiet)/.test(word));
  if (/^(?:[ef]?grep|rg)$/.test(program) && names) return true;
  if (openedBy(found).length > 0) return false;
  if (/^[gmn]?awk$/.test(program)) return args.some((word) => /^[^{}"]*\{\s*print \$(?:\d+|NF)\s*\}$/.test(word));
  if (program === "cut") return !args.some((word) => /^-[bc]|^--(?:bytes|characters)/.test(word));
  if (program === "tr") return args.every((word) => /^(?:-[ds]+|\\[n0t]|\\000|[ \n\t,:])$/.test(word));
  return FILTERS.has(program) && !args.some((word) => /^-[a-zA-Z]*o|^--only/.test(word));
}
