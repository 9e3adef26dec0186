/** Which file with keys, or of buddy itself, a read would show to the model: in words, scripts and redirections. */
import { words } from "../../lib/text.ts";
import { hasBuddysBelow, hasSecretsBelow, holdsSecretFiles, holdsSecrets, isBuddysOwn } from "../files/secret-files.ts";
import { hasDevicesBelow, isDeviceToRead, isOfAnotherMachine, startingAt } from "./dangers/protected-paths.ts";
import { type Field, HOME, isGlob, maybeOption, programName, readable, STAR, UNKNOWN } from "./syntax/field.ts";
import type { FoundCommand, Walked } from "./syntax/findings.ts";
import { openedBy, readsAnyFile } from "./unknown-names.ts";
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
const LISTS_FROM_FILE = /^(?:--files0?-from|--exclude-from|--fromfile|--magic-file|-files0-from|-X)/;

function printsNamesOnly({ argv }: FoundCommand): boolean {
  const program = programName(argv[0]?.value ?? "");
  return (
    NAMES_ONLY.has(program) &&
    !argv.some(({ value }) => LISTS_FROM_FILE.test(value) || (program === "file" && /^-[a-zA-Z]*[fm]/.test(value)))
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
