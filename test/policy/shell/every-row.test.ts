/** Every element of the table of commands is in a command whose verdict is known: none can be lost unnoticed. */
import { expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { readOnlyRows } from "../../../src/policy/shell/read-only/prove.ts";
import everyRow from "./every-row.txt" with { type: "text" };
import { RULES } from "./rules.ts";

const known = {
  allowed: [] as string[],
  asked: [] as string[],
  operator: [] as string[],
  withOperator: [] as string[],
};
let section = known.allowed;
for (const line of everyRow.split("\n")) {
  if (line === "" || line.startsWith("#")) continue;
  const [, kind, preset] = /^\[(allowed|asked)( operator)?\]$/.exec(line) ?? [];
  if (kind === undefined) section.push(line);
  else if (preset === undefined) section = kind === "allowed" ? known.allowed : known.asked;
  else section = kind === "allowed" ? known.withOperator : known.operator;
}
const verdict = (command: string, autoApprove: "read-only" | "operator") =>
  judgeShell(command, { ...RULES, autoApprove }).verdict.kind;

test("what the table proves runs without a question, and what it leaves out does not", () => {
  expect(known.allowed.filter((one) => verdict(one, "read-only") !== "allow")).toEqual([]);
  expect(known.asked.filter((one) => verdict(one, "read-only") === "allow")).toEqual([]);
  expect(known.withOperator.filter((one) => verdict(one, "operator") !== "allow")).toEqual([]);
  expect(known.operator.filter((one) => verdict(one, "operator") === "allow")).toEqual([]);
});

test("every program, subcommand and option of the table is in one of these commands or in an example", () => {
  const rows = readOnlyRows().all();
  const texts = [...rows.flatMap(({ yes }) => yes), ...known.allowed, ...known.withOperator].map((text) =>
    text.split(/[\s;|&()'"]+/),
  );
  const missing = rows.flatMap(({ programs, calls }) => {
    const own = texts.filter((words) => programs.some((program) => words.includes(program)));
    const has = (word: string) => own.some((words) => words.some((one) => named(one, word)));
    const elements = calls.flatMap(({ form, subcommands }) => [
      ...form.options.keys(),
      ...[...(subcommands ?? [])].flatMap(([path, forms]) => [
        ...path.split(" "),
        ...forms.flatMap(({ options }) => [...options.keys()]),
      ]),
    ]);
    return [
      ...programs.filter((one) => !texts.some((words) => words.includes(one))),
      ...elements.filter((one) => !has(one)),
    ].map((one) => `${programs[0]}: ${one}`);
  });
  expect(new Set(missing)).toEqual(ASKED_ANYWAY);
});

/** Another check asks about each call with these. */
const ASKED_ANYWAY = new Set(["jq: -f", "jq: --from-file"]);

/** Whether a word gives this option, alone, with a value or among others, or is it. */
function named(word: string, element: string): boolean {
  if (element === "-#") return /^-\d/.test(word);
  if (/^-[^-]$/.test(element)) return /^-[^-]/.test(word) && word.includes(element.slice(1));
  return word === element || word.startsWith(`${element}=`);
}
