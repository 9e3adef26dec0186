/** Runs a runbook: its parameters from `key=value` words, the targets it may run on, and the prompt it becomes. */
import { BuddyError } from "../lib/errors.ts";
import { matchesGlob } from "../lib/names.ts";
import { shorten, closestMatch } from "../lib/text.ts";
import type { Parameter, Runbook, SkillText } from "./skills/skill.ts";
import { PLACEHOLDER } from "./skills/skill.ts";

export type RunbookValues = ReadonlyMap<string, string>;

/** The checked values, with defaults; throws if a word is wrong. */
export function runbookValues({ name, runbook }: SkillText, words: readonly string[]): RunbookValues {
  const parameters = runbook?.parameters ?? [];
  const usage = { hint: `Usage: ${runbookUsage(name, parameters)}` };
  const values = new Map<string, string>();
  for (const word of words) {
    const [, key = "", value = ""] = /^([^=\s]+)=([\s\S]*)$/.exec(word) ?? [];
    if (key === "") throw new BuddyError("usage", `"${shorten(word, 100)}" is not a parameter; write key=value`, usage);
    const parameter = parameters.find((one) => one.name === key);
    if (parameter === undefined) {
      const known = parameters.map((one) => one.name);
      const meant = closestMatch(key, known);
      const also =
        known.length === 0
          ? "it takes none"
          : meant === undefined
            ? `it takes ${known.join(", ")}`
            : `did you mean ${meant}?`;
      throw new BuddyError("usage", `runbook ${name} has no parameter "${shorten(key, 100)}"; ${also}`, usage);
    }
    if (values.has(key)) throw new BuddyError("usage", `parameter ${key} is given twice`, usage);
    checkValue(parameter, value);
    values.set(key, value);
  }
  const missing = parameters.filter((one) => one.required && one.fallback === undefined && !values.get(one.name));
  if (missing.length > 0) {
    const names = missing.map((one) => one.name).join(", ");
    throw new BuddyError("usage", `runbook ${name} needs ${names}`, usage);
  }
  for (const { name: key, fallback } of parameters) if (!values.has(key)) values.set(key, fallback ?? "");
  return values;
}

function checkValue({ name, choices }: Parameter, value: string): void {
  if (CONTROL.test(value)) throw new BuddyError("usage", `the value of ${name} has control characters in it`);
  if (value.length > MOST_VALUE)
    throw new BuddyError("usage", `the value of ${name} has more than ${MOST_VALUE} characters`);
  if (choices.length > 0 && !choices.includes(value))
    throw new BuddyError("usage", `${name} must be one of ${choices.join(", ")}, not "${shorten(value, 100)}"`);
}

/** `disk-full [path=/] host=…`: optional parameters in brackets. */
export function runbookUsage(name: string, parameters: readonly Parameter[]): string {
  const words = parameters.map(({ name: key, required, fallback }) =>
    required && fallback === undefined ? `${key}=…` : `[${key}=${fallback ?? "…"}]`,
  );
  return [name, ...words].join(" ");
}

/** Whether it may run on a target with these names. */
export function runsOn({ on }: Runbook, names: readonly string[]): boolean {
  return on.length === 0 || on.some((pattern) => names.some((name) => matchesGlob(pattern, name)));
}

export function requireTarget({ name, runbook }: SkillText, names: readonly string[]): void {
  if (runbook === undefined || runsOn(runbook, names)) return;
  throw new BuddyError(
    "usage",
    `runbook ${name} runs only on ${runbook.on.join(", ")}, and the target is ${names[0] ?? "unknown"}`,
    { hint: "Choose another target with --on, --ssh or --container." },
  );
}

/** The machine that a parameter names; undefined: none does. */
export function namedTarget({ runbook }: SkillText, values: RunbookValues): string | undefined {
  const parameter = runbook?.parameters.find(({ target }) => target);
  return parameter === undefined ? undefined : values.get(parameter.name) || undefined;
}

/** What the model gets as the operator's prompt. */
export function runbookPrompt({ name, body, runbook }: SkillText, values: RunbookValues): string {
  const given = [...values].filter(([, value]) => value !== "").map(([key, value]) => `${key}=${value}`);
  const head = [
    `Carry out the runbook "${name}". The text below is the operator's instructions.`,
    ...(given.length === 0 ? [] : [`Parameters: ${given.join(", ")}`]),
    ...(runbook?.readOnly === true
      ? ["This runbook is read-only: change nothing. Put changes you recommend in your answer, as commands."]
      : []),
  ];
  return `${head.join("\n")}\n\n${body.replaceAll(PLACEHOLDER, (_, key: string) => values.get(key) ?? "")}`;
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
const MOST_VALUE = 4_000;
