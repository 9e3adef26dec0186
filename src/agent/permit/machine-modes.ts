/**
 * What the mode of a machine does to a call ([rules] mode): on a guarded machine high risk needs its name typed, on a
 * read-only one a change becomes a command that a person can copy.
 */
import { quote } from "../../lib/quote.ts";
import { defined } from "../../lib/values.ts";
import type { EffectiveRules } from "../../policy/machine-rules.ts";
import { alsoNamed, namedMachines } from "../../policy/shell/named-machines.ts";
import type { JudgedCommand, Verdict } from "../../policy/verdict.ts";
import type { Target } from "../../targets/target.ts";
import type { ProposedChange, Risk } from "../events.ts";
import { denied, type PermitParts, type Refusal } from "./permission.ts";

/** On a guarded machine, high risk is never approved automatically, whatever list allows it. */
export function underGuard(verdict: Verdict, risk: Risk, { mode, label }: EffectiveRules): Verdict {
  if (mode !== "guarded" || risk !== "high" || verdict.kind === "deny") return verdict;
  const why = verdict.kind === "ask" ? verdict.why : `high risk on a guarded machine${label ? ` (${label})` : ""}`;
  return { kind: "ask", why, answer: "typed" };
}

/** On a read-only machine: the model learns that nothing can approve a change, the operator gets the command. */
export function withheld(
  { called }: Pick<PermitParts, "called">,
  target: Target,
  { label, because }: EffectiveRules,
  change: Pick<ProposedChange, "command" | "directory" | "why">,
): Refusal {
  const { user, host } = target.identity;
  const name = called?.(target)[0] ?? host;
  const machine = because ?? (label === undefined ? name : `${name} (${label})`);
  return {
    ...denied(
      `Not allowed: ${machine} is read-only, and nothing can approve a change. The operator gets a list of the changes you wanted, to make them by hand. Do not look for another way; continue with what is proven to only read, or answer with what should be done.`,
      `not run: ${machine} is read-only`,
    ),
    proposed: { where: `${user}@${host}`, ...defined({ label }), ...change },
  };
}

/** The rules that hold for a command: also those of machines that it names, as `ssh prod` does. */
export async function rulesOfText(
  { rulesNamed }: Pick<PermitParts, "rulesNamed">,
  rules: EffectiveRules,
  commands: readonly JudgedCommand[],
): Promise<EffectiveRules> {
  if (rulesNamed === undefined) return rules;
  let all = rules;
  for (const name of namedMachines(commands)) all = alsoNamed(all, await rulesNamed(name), name);
  return all;
}

/** The change of a file as a command: its diff, given to patch. */
export function patchCommand(path: string, diff: string, sudo: boolean): string {
  if (diff === "" || diff.split("\n").length > MOST_LINES) return `# write ${path}`;
  let end = "END_OF_CHANGE";
  while (diff.includes(end)) end += "_";
  return `${sudo ? "sudo " : ""}patch -u ${quote(path)} <<'${end}'\n${diff.replace(/\n$/, "")}\n${end}`;
}

export function removeCommand(path: string, sudo: boolean): string {
  return `${sudo ? "sudo " : ""}rm -- ${quote(path)}`;
}

const MOST_LINES = 400;
