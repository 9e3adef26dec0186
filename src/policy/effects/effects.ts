/** What a command would do, from the rows of its program. */
import { type Field, HOME, isFixed, ONE, programName, SPLIT, STAR } from "../shell/syntax/field.ts";
import type { FoundCommand } from "../shell/syntax/findings.ts";
import { type Form, type Reading, readings } from "./argv.ts";
import { fileChanges, type LocatedChange } from "./file-changes.ts";
import { inOrder, type Login, MACHINE_VARIABLES, machinesIn, machinesInUrls } from "./machines.ts";
import { type Call, holds, type Row } from "./notation.ts";
import { machineRows } from "./table.ts";

export type Effect =
  | LocatedChange
  /** As written, with or without user and port; `*` where only the running shell knows it. */
  | { readonly does: "reaches"; readonly machine: string };

/** The effects of one command, without those of the commands that it runs. */
export function effectsOf(found: FoundCommand): readonly Effect[] {
  return [...fileChanges(found), ...machinesOf(found).map((machine) => ({ does: "reaches", machine }) as const)];
}

function machinesOf({ argv: [program, ...args], assigns }: Pick<FoundCommand, "argv" | "assigns">): readonly string[] {
  const names = [
    ...[...args, ...assigns].flatMap(({ value }) => machinesInUrls(asWritten(value))),
    ...assigns.flatMap(({ name, value }) =>
      MACHINE_VARIABLES.has(name) ? machinesIn("MACHINES", asWritten(value), {}) : [],
    ),
    ...reachedBy(programName(program?.value ?? ""), args),
  ];
  return [...new Set(names)];
}

/** A word of the command names another machine; the URLs in any word are not counted. */
export function reachesElsewhere([program, ...args]: readonly Field[]): boolean {
  return reachedBy(programName(program?.value ?? ""), args).length > 0;
}

/** What only the running shell knows may be anything. */
function asWritten(value: string): string {
  return value
    .replaceAll(SPLIT, "")
    .replaceAll(HOME, "~")
    .replaceAll(ONE, "?")
    .replaceAll(STAR, "*")
    .replace(/[\uFDD2\uFDD4\uFDD8-\uFDDB]/g, "*");
}

function reachedBy(program: string, args: readonly Field[]): string[] {
  return machineRows()
    .of(program)
    .flatMap((row) => row.calls.flatMap((call) => ofCall(call, args).flatMap((reading) => reached(row, reading))));
}

/** Each way to read the words; with a subcommand, its options and those in front of it. */
function ofCall({ form, subcommands }: Call, args: readonly Field[]): readonly Reading[] {
  if (subcommands === undefined) return readings(form, args);
  return readings(form, args, true).flatMap((front) => {
    const rest = args.slice(front.at);
    const found = subcommand(subcommands, rest);
    // An option of the program may follow a subcommand that no row lists.
    if (found === undefined) return form.reorders ? readings(form, args) : [front];
    return found.forms.flatMap((one) =>
      ofForm(one, rest.slice(found.words)).map((own) => ({ ...own, options: [...front.options, ...own.options] })),
    );
  });
}

/** `docker compose` has the rows of docker-compose. */
function ofForm(form: Form, args: readonly Field[]): readonly Reading[] {
  const { reader } = form;
  if (reader === undefined) return readings(form, args);
  return machineRows()
    .of(reader)
    .flatMap(({ calls }) => calls.flatMap((call) => ofCall(call, args)));
}

const MAX_NESTED = 3;

function subcommand(
  subcommands: ReadonlyMap<string, readonly Form[]>,
  words: readonly Field[],
): { readonly words: number; readonly forms: readonly Form[] } | undefined {
  for (let count = Math.min(MAX_NESTED, words.length); count > 0; count--) {
    const path = words.slice(0, count).map(({ value }) => value);
    const forms = path.every((word) => isFixed(word)) ? subcommands.get(path.join(" ")) : undefined;
    if (forms !== undefined) return { words: count, forms };
  }
  return undefined;
}

function reached({ rules }: Row, reading: Reading): string[] {
  const { options, operands } = reading;
  const words = [
    ...options.flatMap(({ option, values }) => values.map(({ value }) => ({ role: option?.shape?.name ?? "", value }))),
    ...operands.map(({ shape, field }) => ({ role: shape.name, value: field.value })),
  ];
  const login: Login = {};
  const named = words
    .toSorted((a, b) => inOrder(a.role) - inOrder(b.role))
    .flatMap(({ role, value }) => machinesIn(role, asWritten(value), login));
  return [...named, ...rules.filter((rule) => holds(rule, reading)).map(({ what }) => what)];
}
