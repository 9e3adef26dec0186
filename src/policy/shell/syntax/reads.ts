/** Builtins that put input or output into variables: read, mapfile, printf -v, getopts. */
import { type Field, UNKNOWN } from "./field.ts";
import { leadingOptions } from "../wrappers/options.ts";
import { printedByPrintf } from "./printed.ts";
import type { Value } from "./scope.ts";
import type { Input } from "../wrappers/wrapped.ts";

const MOST_LINES = 32;

export function readsInto(
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
      const lines = input.kind === "known" ? input.text.split("\n").filter((line) => line !== "") : undefined;
      return valuesOf(names.length === 0 ? ["REPLY"] : names, lines, array !== undefined, ifs);
    }
    case "mapfile":
    case "readarray": {
      const options = leadingOptions(argv, 1, { flags: "t", values: "dnOsuCc" });
      const lines = input.kind === "known" ? input.text.split("\n").filter((line) => line !== "") : undefined;
      return [{ name: argv[options.at]?.value ?? "MAPFILE", values: [lines ?? UNKNOWN] }];
    }
    case "printf":
      if (argv[1]?.value === "-v" && argv[2] !== undefined)
        return [{ name: argv[2].value, values: [printedByPrintf(argv.slice(3)) ?? UNKNOWN] }];
      return argv[1]?.value.startsWith("-v") === true
        ? [{ name: argv[1].value.slice(2), values: [printedByPrintf(argv.slice(2)) ?? UNKNOWN] }]
        : [];
    case "getopts":
      return argv[2] === undefined ? [] : [{ name: argv[2].value, values: [UNKNOWN] }];
    default:
      return [];
  }
}

function valuesOf(
  names: readonly string[],
  lines: readonly string[] | undefined,
  array: boolean,
  ifs = " \t",
): { name: string; values: readonly Value[] }[] {
  if (lines === undefined || lines.length > MOST_LINES) return names.map((name) => ({ name, values: [UNKNOWN] }));
  const split = lines.map((line) => {
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
