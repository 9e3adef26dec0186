/** Whether a command is proven, by its text, to change nothing. */
import containers from "../../../../templates/commands/containers.txt" with { type: "text" };
import files from "../../../../templates/commands/files.txt" with { type: "text" };
import git from "../../../../templates/commands/git.txt" with { type: "text" };
import macos from "../../../../templates/commands/macos.txt" with { type: "text" };
import network from "../../../../templates/commands/network.txt" with { type: "text" };
import operatorClusters from "../../../../templates/commands/operator-clusters.txt" with { type: "text" };
import operatorData from "../../../../templates/commands/operator-data.txt" with { type: "text" };
import operatorMachines from "../../../../templates/commands/operator-machines.txt" with { type: "text" };
import operatorNetwork from "../../../../templates/commands/operator-network.txt" with { type: "text" };
import operatorServices from "../../../../templates/commands/operator-services.txt" with { type: "text" };
import packages from "../../../../templates/commands/packages.txt" with { type: "text" };
import shell from "../../../../templates/commands/shell.txt" with { type: "text" };
import storage from "../../../../templates/commands/storage.txt" with { type: "text" };
import system from "../../../../templates/commands/system.txt" with { type: "text" };
import { once } from "../../../lib/values.ts";
import type { Condition } from "../../verdict.ts";
import { assignmentEffect } from "../syntax/assignments.ts";
import { type Field, HOME, isFixed, programName, readable } from "../syntax/field.ts";
import type { FoundCommand } from "../syntax/findings.ts";
import { CLOUD_READERS } from "./cloud-reads.ts";
import { type Form, likeliest, outside, type Refusal, refused } from "../../effects/argv.ts";
import { reachesElsewhere } from "../../effects/effects.ts";
import { HTTP_READERS } from "./http-reads.ts";
import {
  asksForState,
  elsewhereUnproven,
  type Preset,
  type PresetReader,
  runsElsewhere,
  sendsInput,
} from "./operator.ts";
import { READERS } from "./readers.ts";
import { type Call, Rows } from "../../effects/notation.ts";

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
  const args = argv.slice(1);
  if (name === "git" && runsElsewhere(command)) return "git runs where buddy cannot check its repository";
  if (preset !== undefined && sendsInput(command)) return `${name} sends its input to another machine`;
  if (wrapped !== undefined) {
    if (!wrapped.harmless && preset !== undefined) return elsewhereUnproven(command);
    if (!wrapped.harmless) return runsOrChanges(name, wrapped.commands !== undefined || wrapped.scripts !== undefined);
    return name === "find" || name === "gfind" ? found(name, args, preset) : undefined;
  }
  if (preset !== undefined && asksForState(command)) return undefined;
  const why = found(name, args, preset) ?? unknownRepository(command);
  return why ?? (preset === undefined && reachesElsewhere(argv) ? `${name} reaches another machine` : undefined);
}

function unknownRepository(command: FoundCommand): string | undefined {
  return conditionsOf(command).some(({ directory, stays }) => stays !== true && isUncertain(directory))
    ? "git runs in a directory that is only known when it runs"
    : undefined;
}

const isUncertain = (directory: string) =>
  directory.includes("…") || /[*?]/.test(directory) || MOVES_BACK.test(directory);

/** If the path has links, the shell and git resolve it to different directories. */
const MOVES_BACK = /(?:^|\/)(?!\.{1,2}\/)[^/]+\/(?:\.\/)*\.\.(?:\/|$)/;

/** What to check on the target before a proven command: git runs programs that a repository's configuration names. */
export function conditionsOf({ argv, directories }: FoundCommand): readonly Condition[] {
  const name = programName(argv[0]?.value ?? "");
  if (name === "cd" || name === "pushd") return entering(argv, directories);
  if (name !== "git") return [];
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
/** Not `cd -`, which goes back; what only the running shell knows cannot be looked at. */
function entering(argv: readonly Field[], directories: readonly string[]): Condition[] {
  const [to = HOME, ...others] = argv.slice(1).flatMap(({ value }) => (/^-[^/]*$/.test(value) ? [] : value));
  if (others.length > 0 || argv.at(-1)?.value === "-") return [];
  const places = directories.map((base) => readable(below(base, to)) || ".");
  return places.flatMap((directory) =>
    isUncertain(directory) ? [] : [{ kind: "git-config", directory, stays: true } as const],
  );
}

const WITHOUT_REPOSITORY = new Set(["version", "check-ref-format"]);

function below(directory: string, path: string): string {
  if (path === "" || path === ".") return directory;
  return directory === "" || directory === "." || /^[/~\uFDD3]/.test(path) ? path : `${directory}/${path}`;
}

function found(name: string, args: readonly Field[], preset: Preset | undefined): string | undefined {
  const why = notReadOnly(name, args, preset);
  return why === undefined ? undefined : refused(name, why);
}

function runsOrChanges(name: string, runs: boolean): string {
  return runs ? `${name} runs another command` : `${name} is not known to be read-only`;
}

/** Directories of the system's programs; elsewhere it may be another program of that name. */
const USUAL =
  /^\/(?:(?:usr\/(?:local\/)?)?s?bin|snap\/bin|opt\/(?:homebrew|kafka|puppetlabs)\/bin|usr\/(?:lib\/postgresql\/|pgsql-)\d+\/bin)\/[^/]+$/;

// ── Why the rows of the table do not prove that a program with these arguments only reads.

const PRESET_READERS: Readonly<Record<string, PresetReader>> = { ...CLOUD_READERS, ...HTTP_READERS };

/** The table, read when it is first needed. */
export const readOnlyRows = once(
  () =>
    new Rows([
      files,
      shell,
      system,
      network,
      storage,
      packages,
      containers,
      git,
      macos,
      operatorClusters,
      operatorNetwork,
      operatorServices,
      operatorMachines,
      operatorData,
    ]),
);

function notReadOnly(program: string, args: readonly Field[], preset?: Preset): Refusal | undefined {
  let why: Refusal | undefined;
  for (const row of readOnlyRows().of(program)) {
    if (row.preset !== undefined && row.preset !== preset?.name) continue;
    let first: Refusal | undefined;
    for (const call of row.calls) {
      const found = notCalled(call, args, preset);
      if (found === undefined) return undefined;
      first ??= found;
    }
    // The reason of a preset's row is the better one.
    if (why === undefined || row.preset !== undefined) why = first;
  }
  return why ?? NOT_LISTED;
}

const NOT_LISTED = { does: "is not known to be read-only" };
const MOST_NESTED = 4;

function notCalled(call: Call, args: readonly Field[], preset: Preset | undefined): Refusal | undefined {
  const { form, subcommands } = call;
  if (subcommands === undefined) return notCovered(form, args, preset);
  const front = likeliest(form, args, true);
  if (front.unknown[0] !== undefined) return front.unknown[0];
  const rest = args.slice(front.at);
  if (rest.length === 0) return call.bare ? outside(form, args) : "without a subcommand";
  for (let count = Math.min(MOST_NESTED, rest.length); count > 0; count--) {
    const path = rest.slice(0, count).map(({ value }) => value);
    const forms = path.every((word) => isFixed(word) && !word.includes(" "))
      ? subcommands.get(path.join(" "))
      : undefined;
    if (forms === undefined) continue;
    const whys = forms.map((one) => notCovered(one, rest.slice(count), preset));
    const [why = NOT_LISTED] = whys;
    return whys.includes(undefined) ? undefined : { does: refused(path.join(" "), why) };
  }
  const [{ value: first }] = rest as [Field];
  return isFixed(first) ? { does: refused(first, NOT_LISTED) } : "with a subcommand that is only known when it runs";
}

function notCovered(form: Form, args: readonly Field[], preset: Preset | undefined): Refusal | undefined {
  const { reader } = form;
  if (reader === undefined) return outside(form, args);
  const words = args.map(({ value }) => value);
  const asking = Object.hasOwn(PRESET_READERS, reader) ? PRESET_READERS[reader] : undefined;
  if (asking !== undefined && preset !== undefined) return asking(words, preset);
  const read = Object.hasOwn(READERS, reader) ? READERS[reader] : undefined;
  return read === undefined ? notReadOnly(reader, args, preset) : read(words);
}
