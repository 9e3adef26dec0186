/** Builtins that change what later words mean: directories, aliases, positional parameters, declarations, reading. */
import { type Input, leadingOptions } from "../wrappers/wrapped.ts";
import { type Field, HOME, isFixed, isGlob, maybeOption, outputs, UNKNOWN } from "./field.ts";
import { printedByPrintf } from "./printed.ts";
import type { Scope, Value } from "./scope.ts";
import type { Expansion } from "./words.ts";

export function applyBuiltin(
  argv: readonly Field[],
  input: Input,
  by: Expansion,
  assigns: readonly { readonly name: string; readonly value: string }[] = [],
): void {
  const { scope } = by;
  const name = argv[0]?.value ?? "";
  const words = argv.slice(1).filter((word) => !word.value.startsWith("-") || word.value === "-");
  evaluated(name, argv, by);
  switch (name) {
    case "cd":
    case "pushd":
      scope.cwd = destination(name, words[0]?.value, scope);
      return;
    case "popd":
      scope.cwd = UNKNOWN;
      return;
    case "alias":
      for (const word of words) {
        const match = /^([^=]+)=([^]*)$/.exec(word.value);
        if (match === null) continue;
        scope.alias(match[1] as string, match[2] as string);
        by.runText(match[2] as string);
      }
      return;
    case "set":
      if (argv[1]?.value === "--") scope.positional = [argv.slice(2).map((word) => word.value)];
      else if (words.length > 0) scope.positional = [UNKNOWN];
      return;
    case "unset":
      // Without HOME, `~` is still a home directory; the others have a meaning of their own.
      if (!argv.some((word) => /^-[a-z]*[fn]/.test(word.value)))
        for (const { value } of words)
          if (/^[A-Za-z_]\w*$/.test(value) && !/^(?:HOME|IFS|PWD)$/.test(value)) scope.set(value, [""]);
      return;
    case "shift":
      scope.positional =
        argv.length === 1
          ? scope.positional.map((given) => (typeof given === "string" ? given : given.slice(1)))
          : [UNKNOWN];
      return;
    case "declare":
    case "typeset":
    case "export":
    case "readonly":
    case "local":
      declared(name, argv, words, by);
      return;
    default:
      for (const read of readsInto(name, argv, input, assigns.find((item) => item.name === "IFS")?.value))
        by.assign(read.name, read.values);
  }
}

/** Builtins that evaluate a subscript in the name of a variable, including commands in it. */
const NAMING = /^(?:let|getopts|wait|unset|read|mapfile|readarray|declare|typeset|export|readonly|local)$/;

function evaluated(name: string, argv: readonly Field[], by: Expansion): void {
  const all = NAMING.test(name);
  const tests = name === "test" || name === "[";
  if (!all && !tests && name !== "printf") return;
  for (const [index, { value, source }] of argv.entries()) {
    if (index === 0) continue;
    const before = argv[index - 1]?.value ?? "";
    const named =
      all || /^-[vR]$/.test(before) || (tests ? mayBeOperator(before) : index === 1 && value.startsWith("-v"));
    // Two files may be called -v and a[$(command)]; in quotes the name of a file is one word.
    const files = tests && isGlob(value) && mayBeOperator(value) && !/^"[^"@]*"$/.test(source);
    if (files || (named && /\[|[\uFDD0-\uFDD2]/.test(value))) by.uncertain(`${name} evaluates a subscript`);
    if (!named) continue;
    const at = value.search(/\$\(|`/);
    if (at > 0 && value.lastIndexOf("[", at) >= 0) by.reread(value.slice(at));
  }
}

/** Whether a word may turn out to be -v: `test` takes the word after it for the name of a variable. */
function mayBeOperator(word: string): boolean {
  return !isFixed(word) && maybeOption(word);
}

function destination(name: string, to: string | undefined, scope: Scope): string {
  if (to === undefined) return name === "cd" ? HOME : UNKNOWN;
  if (to === "-" || !isFixed(to)) return UNKNOWN;
  return to.startsWith("/") || to.startsWith(HOME) || scope.cwd === "." ? to : `${scope.cwd}/${to}`;
}

/** Literal assignments are already in the scope; these come from quotes and expansions. */
function declared(name: string, argv: readonly Field[], words: readonly Field[], by: Expansion): void {
  for (const word of words) {
    const match = /^([A-Za-z_]\w*)(?:\+?=([^]*))?$/.exec(word.value);
    if (match === null) by.uncertain(`${name} with a word that is not a plain name`);
    else if (
      match[2] !== undefined &&
      by.scope.get(match[1] as string)?.some((value) => typeof value !== "string") !== true
    )
      by.assign(match[1] as string, [match[2]]);
  }
  if (argv.some((word) => /^-[a-zA-Z]*n/.test(word.value))) by.uncertain("a variable that names another one");
}

const MOST_LINES = 32;

/** What read, mapfile, printf -v and getopts put into variables. */
function readsInto(
  name: string,
  argv: readonly Field[],
  input: Input,
  ifs?: string,
): { name: string; values: readonly Value[] }[] {
  switch (name) {
    case "read": {
      const options = leadingOptions(argv, 1, { flags: "ers", values: "adinNptuk" });
      const array = options.seen.get("a")?.value;
      const names = array === undefined ? argv.slice(options.at).map((word) => word.value) : [array];
      const lines = linesOf(input)?.filter((line) => line !== "");
      const found = valuesOf(names.length === 0 ? ["REPLY"] : names, lines, array !== undefined, ifs);
      if (lines === undefined) return found;
      const sure =
        isSure(input) &&
        [...options.seen.keys()].every((letter) => "ars".includes(letter)) &&
        (options.seen.has("r") || !lines.some((line) => line.includes("\\"))) &&
        (ifs ?? "") === "";
      // The value is empty at the end of the input.
      return found.map(({ name, values }) => ({ name, values: [...values, "", ...(sure ? [] : [UNKNOWN])] }));
    }
    case "mapfile":
    case "readarray": {
      const options = leadingOptions(argv, 1, { flags: "t", values: "dnOsuCc" });
      const lines = linesOf(input);
      const sure = isSure(input) && [...options.seen.keys()].every((letter) => letter === "t");
      const values = lines === undefined ? [UNKNOWN] : sure ? [lines] : [lines, UNKNOWN];
      return [{ name: argv[options.at]?.value ?? "MAPFILE", values }];
    }
    case "printf": {
      const [, option, next] = argv;
      if (option?.value === "-v" && next !== undefined)
        return [{ name: next.value, values: outputs(printedByPrintf(argv.slice(3))) }];
      return option?.value.startsWith("-v") === true
        ? [{ name: option.value.slice(2), values: outputs(printedByPrintf(argv.slice(2))) }]
        : [];
    }
    case "getopts":
      return argv[2] === undefined ? [] : [{ name: argv[2].value, values: [UNKNOWN] }];
    default:
      return [];
  }
}

function linesOf(input: Input): string[] | undefined {
  return input.kind === "known" ? input.text.replace(/\n$/, "").split("\n") : undefined;
}

const isSure = (input: Input) => input.kind === "known" && input.guessed !== true;

function valuesOf(
  names: readonly string[],
  lines: readonly string[] | undefined,
  array: boolean,
  ifs = " \t",
): { name: string; values: readonly Value[] }[] {
  if (lines === undefined || lines.length > MOST_LINES) return names.map((name) => ({ name, values: [UNKNOWN] }));
  const split = lines.map((line) => {
    // It may contain blanks.
    if (!isFixed(line) && (array || names.length > 1)) return names.map(() => UNKNOWN);
    if (ifs.trim() === "") return ifs === "" ? [line] : line.trim().split(/[ \t]+/);
    const words: string[] = [""];
    for (const character of line)
      if (ifs.includes(character)) words.push("");
      else words.push((words.pop() ?? "") + character);
    return words;
  });
  if (array) return [{ name: names[0] as string, values: split }];
  return names.map((name, index) => ({
    name,
    values: split.map((words) => (index === names.length - 1 ? words.slice(index).join(" ") : (words[index] ?? ""))),
  }));
}
