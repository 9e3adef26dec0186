/** Whether a command is proven, by its text, to change nothing. */
import { assignmentEffect } from "../syntax/assignments.ts";
import { isFixed, programName, readable } from "../syntax/field.ts";
import type { FoundCommand } from "../syntax/findings.ts";
import type { Condition } from "../../verdict.ts";
import { asksForState, elsewhereUnproven, runsElsewhere, sendsInput, type Preset } from "./operator.ts";
import { refused } from "./form.ts";
import { notReadOnly } from "./table.ts";

/** Why it is not proven read-only, including by the rows of a preset; undefined if it is. */
export function unproven(command: FoundCommand, preset?: Preset): string | undefined {
  const { argv, assigns, writes, wrapped } = command;
  const path = argv[0]?.value ?? "";
  const name = programName(path);
  const write = writes[0];
  if (write !== undefined) return `it writes to ${readable(write.file)}`;
  if (!isFixed(path)) return "its name is only known when it runs";
  for (const { name: variable, value } of assigns) {
    if (variable === "IFS" && name === "read") continue;
    const effect = assignmentEffect(variable, value, "command");
    if (effect !== undefined) return effect;
  }
  if (command.defined) return undefined;
  if (path !== name && !USUAL.test(path)) return `${readable(path)} is not a program of the system`;
  const args = argv.slice(1).map((word) => word.value);
  if (name === "git" && runsElsewhere(command)) return "git runs where buddy cannot check its repository";
  if (preset !== undefined && sendsInput(command)) return `${name} sends its input to another machine`;
  if (wrapped !== undefined) {
    if (!wrapped.harmless && preset !== undefined) return elsewhereUnproven(command);
    if (!wrapped.harmless) return runsOrChanges(name, wrapped.commands !== undefined || wrapped.scripts !== undefined);
    return name === "find" || name === "gfind" ? found(name, args, preset) : undefined;
  }
  if (preset !== undefined && asksForState(command)) return undefined;
  return found(name, args, preset) ?? unknownRepository(command);
}

function unknownRepository(command: FoundCommand): string | undefined {
  return conditionsOf(command).some(
    ({ directory }) => directory.includes("…") || /[*?]/.test(directory) || MOVES_BACK.test(directory),
  )
    ? "git runs in a directory that is only known when it runs"
    : undefined;
}

/** If the path has links, the shell and git resolve it to different directories. */
const MOVES_BACK = /(?:^|\/)(?!\.{1,2}\/)[^/]+\/(?:\.\/)*\.\.(?:\/|$)/;

/** What to check on the target before a proven command: git runs programs that a repository's configuration names. */
export function conditionsOf({ argv, directories }: FoundCommand): readonly Condition[] {
  if (programName(argv[0]?.value ?? "") !== "git") return [];
  let path = "";
  let at = 1;
  for (; at < argv.length && argv[at]?.value.startsWith("-") === true; at++)
    if (argv[at]?.value === "-C") path = below(path, argv[++at]?.value ?? "");
  if (argv[at] === undefined || WITHOUT_REPOSITORY.has(argv[at]?.value ?? "")) return [];
  return directories.flatMap((base): Condition[] => {
    const named = /^[/~\uFDD3]/.test(path);
    const entered =
      base === "." || named ? [] : [{ kind: "git-config", directory: readable(base), entered: true } as const];
    return path === "" && entered.length > 0
      ? entered
      : [...entered, { kind: "git-config", directory: readable(below(base, path)) || "." }];
  });
}
const WITHOUT_REPOSITORY = new Set(["version", "check-ref-format"]);

function below(directory: string, path: string): string {
  if (path === "" || path === ".") return directory;
  return directory === "" || directory === "." || /^[/~\uFDD3]/.test(path) ? path : `${directory}/${path}`;
}

function found(name: string, args: readonly string[], preset: Preset | undefined): string | undefined {
  const why = notReadOnly(name, args, preset);
  return why === undefined ? undefined : refused(name, why);
}

function runsOrChanges(name: string, runs: boolean): string {
  return runs ? `${name} runs another command` : `${name} is not known to be read-only`;
}

/** Directories of the system's programs; elsewhere it may be another program of that name. */
const USUAL =
  /^\/(?:(?:usr\/(?:local\/)?)?s?bin|snap\/bin|opt\/(?:homebrew|kafka|puppetlabs)\/bin|usr\/(?:lib\/postgresql\/|pgsql-)\d+\/bin)\/[^/]+$/;
