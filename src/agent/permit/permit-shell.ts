/**
 * May this command run? It is judged as it will run, approved by the operator where needed, and judged again if it was
 * edited or the shell changed its directory.
 */
import { defined } from "../../lib/values.ts";
import type { Stated } from "../../policy/approvals.ts";
import type { EffectiveRules } from "../../policy/machine-rules.ts";
import { dumpsSecret } from "../../policy/privacy/dumped-secrets.ts";
import { isSecret } from "../../policy/privacy/listed-secrets.ts";
import { fileKind, outputKind } from "../../policy/privacy/output-kind.ts";
import { prefixesOf } from "../../policy/shell/allow-deny-lists.ts";
import { outsideRoots } from "../../policy/shell/shell-roots.ts";
import type { ShellJudgement, Verdict } from "../../policy/verdict.ts";
import type { Shell, Target, Unasked } from "../../targets/target.ts";
import { shellFor } from "../../tools/run-shell.ts";
import type { Intent } from "../../tools/tool.ts";
import { AskedShell, confirms, decide, stricter, understates, withSecrets } from "./ask-operator.ts";
import { rulesOfText, underGuard, withheld } from "./machine-modes.ts";
import {
  denied,
  dryRun,
  type Permission,
  type PermitCall,
  type PermitParts,
  type PlanRevert,
  type Refusal,
  refused,
  refusedByPolicy,
  type RevertPlan,
} from "./permission.ts";
import { changedFiles, conditionDoubt, inputsOf, isHere, unaskedRun } from "./read-only-run.ts";

export async function permitShell(
  given: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "shell" },
): Promise<Permission> {
  const target = await given.target();
  const here = await given.rules(target);
  const shell = await shellFor(target, call.input as { session?: string; pane?: string });
  let { command } = intent;
  let edited = false;
  /** The operator typed the command for the place where it would run now. */
  let isTyped = false;
  let moved = "";
  for (let round = 1; ; round++) {
    // What was judged for this directory runs in it, whoever or whatever approves it.
    const onlyIn = shell.cwd;
    const judged = await given.judgeShell(command, onlyIn, here);
    const rules = await rulesOfText(given, here, judged.commands);
    const same = rules === here;
    const parts: PermitParts = same ? given : { ...given, rules: () => Promise.resolve(rules) };
    const it = { parts, call, intent, target, rules, shell, cwd: onlyIn };
    const prepared = await prepare(it, command, edited, same ? judged : undefined);
    if ("kind" in prepared) return prepared;
    const { run, verdict, secrets, revert } = prepared;
    const answer = verdict.kind === "ask" ? verdict.answer : undefined;
    // The operator typed an edited command: the policy may still refuse it, but there is no second question, unless the
    // name of the machine must be typed, or the model's own revert would run.
    const needsNoMore = isTyped && answer !== "typed" && revert?.own === undefined;
    if (verdict.kind === "allow" || needsNoMore) return { ...run, onlyIn };
    if (!confirms(parts, rules) && secrets.length === 0 && answer === undefined) return { ...run, onlyIn };
    const where = new AskedShell(target, shell);
    const decision = await decide(parts, call, where, {
      ...questionAbout(command, call, intent, prepared, moved),
      editable: call.tool.editable === true,
    });
    if (decision.kind === "denied") return refused(decision, command);
    if (decision.kind === "edited") {
      command = decision.command;
      edited = true;
    }
    isTyped = false;
    if (shell.cwd !== onlyIn || (await where.changed())) {
      if (round === MAX_ROUNDS) return denied(RESTLESS);
      moved = "the shell changed its directory since you were asked; ";
      continue;
    }
    if (decision.kind === "approved") return { ...run, onlyIn };
    isTyped = true;
  }
}

/** So often it is asked again because the shell moved. */
const MAX_ROUNDS = 5;
const RESTLESS = "Not run: its shell changed its directory, or did not say where it is, each time it was asked about.";

function questionAbout(
  command: string,
  { input }: PermitCall,
  { declared }: Intent & { kind: "shell" },
  { verdict, judged, secrets, revert }: PreparedCommand,
  moved: string,
) {
  const found = statedOf(judged);
  const background = (input as { readonly mode?: string }).mode === "background";
  const prefixes = secrets.length === 0 ? prefixesOf(command, judged) : undefined;
  const answer = verdict.kind === "ask" ? verdict.answer : undefined;
  return {
    action: command,
    ...stricter(declared, found),
    why: declared.why,
    policy: `${moved}${verdict.why}${revert === undefined ? "" : `; ${revert.says}`}`,
    understated: understates(declared, found),
    declared,
    found,
    ...defined({ reverse: revert?.own }),
    ...(background ? { background } : {}),
    ...defined({ prefixes, answer }),
  };
}

interface ShellCall {
  readonly parts: PermitParts;
  readonly call: PermitCall;
  readonly intent: Intent & { kind: "shell" };
  readonly target: Target;
  readonly rules: EffectiveRules;
  readonly shell: Shell;
  /** Where it is judged. */
  readonly cwd: string;
}

/** What runs if it is approved, and what the policy says about it. */
interface PreparedCommand {
  readonly run: Permission & { kind: "run" };
  readonly verdict: Exclude<Verdict, { kind: "deny" }>;
  readonly judged: ShellJudgement;
  /** Names of secrets in it. */
  readonly secrets: readonly string[];
  readonly revert: RevertPlan | undefined;
}

/** A refusal here is final: neither a question nor a mode can allow it. `known`: how the command was judged before. */
async function prepare(
  it: ShellCall,
  command: string,
  edited: boolean,
  known: ShellJudgement | undefined,
): Promise<Refusal | PreparedCommand> {
  const { parts, call, intent, target, rules, cwd } = it;
  const { names: secrets } = parts.privacy.used(command);
  // Judged as it will run: the value of a secret may be a path or an option.
  const inShell = rules.mode === "read-only" ? target.locks.shell : target.identity.shellName;
  const real = secrets.length === 0 ? command : parts.privacy.revealCommand(command, inShell);
  const judged = (real === command ? known : undefined) ?? (await parts.judgeShell(real, cwd, rules));
  const first = withSecrets(await shellVerdict(it, judged), secrets, parts.privacy);
  if (first.kind === "deny") return refusedByPolicy(first);
  const way = await wayToRun(it, real, judged, first, edited);
  if (way === undefined) return withheld(parts, target, rules, { command, directory: cwd, why: intent.declared.why });
  const verdict = underGuard(way.verdict, stricter(intent.declared, statedOf(judged)).risk, rules);
  if (verdict.kind === "deny") return refusedByPolicy(verdict);
  const readOnly = judged.readOnly && !intent.declared.mutation && !intent.declared.privesc && intent.detached !== true;
  if (parts.dryRun && !(readOnly && secrets.length === 0)) return dryRun(`would run: ${command}`, verdict);
  const { lockouts } = judged;
  const input = call.input as { readonly revert?: string; readonly mode?: string };
  const revert =
    parts.planRevert === undefined || lockouts.length === 0
      ? undefined
      : await checkedRevert(parts, parts.planRevert, lockouts, { text: real, revert: input.revert }, target);
  if (revert !== undefined && "problem" in revert) return denied(revert.problem);
  if (revert !== undefined && (intent.detached === true || judged.outlives)) return denied(OUTLIVES_REVERT);
  const output = outputKind(printing(judged, real), parts.maskOutput);
  if (intent.detached === true && input.mode !== "background" && isSecret(output)) return denied(UNSEEN_SECRETS);
  parts.privacy.dumpsSecret = dumpsSecret;
  // Secrets in a file get their names before a single column of it is shown.
  if (way.unasked !== undefined && isHere(target))
    for (const file of changedFiles(real, judged, cwd))
      parts.privacy.mask(file.text, { from: file.path, output: fileKind(file.path) });
  const run = {
    kind: "run",
    input: real === intent.command ? call.input : { ...input, command: real },
    output,
    ...defined({ unasked: way.unasked }),
    ...(edited ? { note: `the operator changed the command; what ran was: ${command}` } : {}),
    ...(real === command ? {} : { shown: command }),
    ...defined({ revert }),
  } as const;
  return { run, verdict, judged, secrets, revert };
}

function statedOf({ risk, mutation, unsure = false, privesc }: ShellJudgement): Stated {
  return { risk, mutation, unsure, privesc };
}

/** In the clean child or in the shell, and whether a doubt about the machine needs a question; undefined: neither. */
async function wayToRun(
  { parts, call, target, rules, shell, cwd }: ShellCall,
  real: string,
  judged: ShellJudgement,
  verdict: Exclude<Verdict, { kind: "deny" }>,
  edited: boolean,
): Promise<{ verdict: Exclude<Verdict, { kind: "deny" }>; unasked?: Unasked } | undefined> {
  const clean = () => unaskedRun(target, real, judged, cwd, parts.secondLock, call.context.signal, shell);
  const atLeastAsk = (one: typeof verdict): typeof verdict =>
    one.kind === "allow" && parts.atLeastAsk !== undefined ? { kind: "ask", why: parts.atLeastAsk } : one;
  if (rules.mode === "read-only") {
    // A proof holds only for the clean child, so also what needs approval runs in it.
    const how = judged.readOnly ? await clean() : undefined;
    return how === undefined || "ask" in how ? undefined : { verdict: atLeastAsk(verdict), unasked: how.unasked };
  }
  if (verdict.kind !== "allow" || edited) return { verdict: atLeastAsk(verdict) };
  const how = judged.readOnly ? await clean() : undefined;
  if (how !== undefined && "ask" in how) return { verdict: { kind: "ask", why: how.ask } };
  const doubt =
    (how === undefined ? await conditionDoubt(target.transport, judged.conditions, cwd) : undefined) ??
    (await doubtWhereItIs(target, judged, shell, cwd));
  if (doubt !== undefined) return { verdict: { kind: "ask", why: doubt } };
  const settled = atLeastAsk(verdict);
  return settled.kind === "allow" && how !== undefined ? { verdict: settled, ...how } : { verdict: settled };
}

const OUTLIVES_REVERT =
  "Not allowed: this can lock the operator out, and what runs on after the call cannot be reverted. Run it in the foreground and wait for it.";

/** What is printed while no call waits for it would be on the screen unmasked. */
export const UNSEEN_SECRETS =
  "Not allowed: this prints secrets. Run it with run_shell and wait for it: then they are masked in its output.";

async function shellVerdict({ parts, intent, shell, ...at }: ShellCall, judged: ShellJudgement): Promise<Verdict> {
  if (judged.verdict.kind === "deny") return judged.verdict;
  if (parts.shellRoots.length > 0) {
    // Asks the machine: a mark that reported the directory may be forged.
    const { cwd } = await shell.where();
    const outside = outsideRoots(judged, cwd || at.cwd, parts.shellRoots);
    if (outside !== undefined) return outside;
  }
  const { declared } = intent;
  // What the operator allowed in the configuration holds whatever the model declares; a proof by the parser does not.
  if (
    judged.verdict.kind === "allow" &&
    judged.readOnly &&
    (declared.mutation || declared.privesc || declared.risk === "high")
  ) {
    return { kind: "ask", why: "it looks read-only, but the model declares a change" };
  }
  return judged.verdict;
}

/** Checks the conditions also in the directory that the machine reports: a mark may be forged. */
async function doubtWhereItIs(
  target: Target,
  { conditions }: ShellJudgement,
  shell: Shell,
  judgedIn: string,
): Promise<string | undefined> {
  if (conditions.length === 0 || target.isAdopted === true) return undefined;
  const { cwd } = await shell.where();
  return cwd === "" || cwd === judgedIn ? undefined : conditionDoubt(target.transport, conditions, cwd);
}

/** The revert that the model wrote is judged, too: it would run on its own. */
async function checkedRevert(
  parts: PermitParts,
  planRevert: PlanRevert,
  lockouts: ShellJudgement["lockouts"],
  command: { readonly text: string; readonly revert?: string | undefined },
  target: Target,
): Promise<RevertPlan | { readonly problem: string }> {
  const plan = await planRevert(lockouts, command, target);
  if ("problem" in plan || command.revert === undefined) return plan;
  const { verdict } = await parts.judgeShell(command.revert, "/", await parts.rules(target));
  return verdict.kind === "deny" ? { problem: `The revert is not allowed: ${verdict.why}` } : plan;
}

/** The commands of a text, and the files it reads through a redirection. */
export function printing(judged: ShellJudgement, command: string): readonly (readonly string[])[] {
  return [...judged.commands.map(({ words }) => words), ...inputsOf(command).map((file) => ["cat", file])];
}
