/**
 * May this call happen? Joins what the policy says, what the model declared, the dry run and the operator's answer into
 * "run it" or a result for the model.
 */
import type { Stated } from "../policy/approvals.ts";
import type { EffectiveRules } from "../policy/machine-rules.ts";
import { fileKind, isSecret, outputKind } from "../policy/output-kind.ts";
import type { Privacy } from "../policy/privacy.ts";
import { prefixesOf } from "../policy/shell/command-prefix.ts";
import { holdsSecrets } from "../policy/secret-files.ts";
import { outsideRoots } from "../policy/shell/shell-roots.ts";
import { requiredAnswer, type ShellJudgement, type Verdict } from "../policy/verdict.ts";
import type { Shell, Target, Unasked } from "../targets/target.ts";
import { diffSize } from "../tools/diff.ts";
import { filesFor, needsRoot } from "../tools/files-as-root.ts";
import { paneFor, shellFor } from "../tools/select-shell.ts";
import type { Intent } from "../tools/tool.ts";
import { patchCommand, removeCommand, underGuard, withheld } from "./machine-mode.ts";
import { decide, LookedAt, stricter, understates } from "./ask-operator.ts";
import {
  dryRun,
  type LockoutGuard,
  type Permission,
  type PermitCall,
  type PermitParts,
  refused,
  refusedByPolicy,
  type RevertPlan,
} from "./permission.ts";
import { permitFetch } from "./permit-fetch.ts";
import { judgeKeys } from "./permit-keys.ts";
import { permitServer } from "./permit-server.ts";
import { conditionDoubt, unaskedRun } from "./unasked.ts";

export async function permit(parts: PermitParts, call: PermitCall): Promise<Permission> {
  const { intent, input } = call;
  switch (intent.kind) {
    case "read":
      return intent.path === undefined ? { kind: "run", input } : permitRead(parts, call, intent.path, intent.sudo);
    case "own":
      return parts.dryRun ? dryRun(`would do: ${intent.title}`, undefined) : { kind: "run", input };
    case "shell":
      return permitShell(parts, call, intent);
    case "keys":
      return permitKeys(parts, call, intent);
    case "control":
      return permitControl(parts, call, intent);
    case "write":
      return permitWrite(parts, call, intent);
    case "fetch":
      return permitFetch(parts, call, intent);
    case "server":
      return permitServer(parts, call, intent);
  }
}

/** Reading changes nothing and is not asked, except as root, and for files of keys, also behind a link. */
async function permitRead(parts: PermitParts, call: PermitCall, path: string, sudo = false): Promise<Permission> {
  const target = await parts.target();
  const resolved = await target.files.resolve(path).catch(() => undefined);
  const privesc = sudo && target.transport.facts.uid !== 0 && (await needsRoot(target.files, path));
  const kinds = [fileKind(path), fileKind(resolved?.path ?? "")];
  const output = kinds.find((kind) => kind !== "ordinary") ?? "ordinary";
  // What the user may read is read without root, also when that changes before it runs.
  const input = sudo && !privesc ? { ...(call.input as object), sudo: false } : call.input;
  const run: Permission = { kind: "run", input, output };
  const keys = holdsSecrets(path) || holdsSecrets(resolved?.path ?? "");
  const rules = await parts.rules(target);
  const isGuarded = rules.mode === "guarded";
  if (!(keys || privesc) || (!confirms(parts, rules) && !isGuarded)) return run;
  const action = `read ${resolved?.path ?? path}${privesc ? " as root (sudo)" : ""}`;
  const decision = await decide(parts, call, target, {
    action,
    risk: "high",
    mutation: false,
    privesc,
    why: "",
    policy: keys ? "it shows keys to the model" : "only root may read it",
    understated: false,
    editable: false,
    ...(isGuarded ? { answer: "typed" as const } : {}),
  });
  return decision.kind === "approved" ? run : refused(decision, action);
}

async function permitShell(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "shell" },
): Promise<Permission> {
  const target = await parts.target();
  const rules = await parts.rules(target);
  const shell = await shellFor(target, call.input as { session?: string; pane?: string });
  let { command } = intent;
  let edited = false;
  let moved = "";
  let place: { readonly onlyIn?: string } = {};
  for (;;) {
    const { names } = parts.privacy.used(command);
    // Judged as it will run: the value of a secret may be a path or an option.
    const inShell = rules.mode === "read-only" ? target.locks.shell : target.identity.shellName;
    const real = names.length === 0 ? command : parts.privacy.revealCommand(command, inShell);
    const judged = await parts.judgeShell(real, shell.cwd, rules);
    const derived = { risk: judged.risk, mutation: judged.mutation, privesc: judged.privesc };
    let verdict = withSecrets(await shellVerdict(parts, call, intent, target, judged), names, parts.privacy);
    if (verdict.kind === "deny") return refusedByPolicy(verdict);
    let unasked: Unasked | undefined;
    if (rules.mode === "read-only") {
      // A proof holds for the clean child alone: also what is asked about runs in it.
      const how = judged.readOnly ? await unaskedRun(target, real, judged, shell.cwd, parts.secondLock) : undefined;
      if (how === undefined || "ask" in how)
        return withheld(target, rules, { command, directory: shell.cwd, why: intent.declared.why });
      unasked = how.unasked;
    } else if (verdict.kind === "allow" && judged.readOnly && !edited) {
      const how = await unaskedRun(target, real, judged, shell.cwd, parts.secondLock);
      const doubt = "ask" in how ? how.ask : await doubtWhereItIs(target, judged, shell);
      if (doubt !== undefined) verdict = { kind: "ask", why: doubt };
      else if ("unasked" in how) unasked = how.unasked;
    } else if (verdict.kind === "allow" && !edited) {
      const doubt =
        (await conditionDoubt(target.transport, judged.conditions, shell.cwd)) ??
        (await doubtWhereItIs(target, judged, shell));
      if (doubt !== undefined) verdict = { kind: "ask", why: doubt };
    }
    if (verdict.kind === "allow" && parts.atLeastAsk !== undefined) {
      verdict = { kind: "ask", why: parts.atLeastAsk };
      if (rules.mode !== "read-only") unasked = undefined;
    }
    verdict = underGuard(verdict, stricter(intent.declared, derived).risk, rules);
    const readOnly =
      judged.readOnly && !intent.declared.mutation && !intent.declared.privesc && intent.detached !== true;
    if (parts.dryRun && !(readOnly && names.length === 0)) return dryRun(`would run: ${command}`, verdict);
    const { lockouts } = judged;
    const { revert: named } = call.input as { readonly revert?: string };
    const guard =
      parts.guard === undefined || lockouts.length === 0
        ? undefined
        : await guarded(parts, parts.guard, lockouts, { text: real, revert: named }, target);
    if (guard !== undefined && "problem" in guard) return refusedByGuard(guard.problem);
    const run: Permission = {
      kind: "run",
      input: real === intent.command ? call.input : { ...(call.input as object), command: real },
      output: outputKind(printing(judged, real), parts.maskOutput),
      ...(unasked === undefined ? {} : { unasked }),
      ...(edited ? { note: `the operator changed the command; what ran was: ${command}` } : {}),
      ...(real === command ? {} : { shown: command }),
      ...(guard === undefined ? {} : { revert: guard }),
    };
    const inBackground = (call.input as { readonly mode?: string }).mode === "background";
    if (intent.detached === true && !inBackground && isSecret(run.output)) return refusedByGuard(UNSEEN_SECRETS);
    const answer = verdict.kind === "ask" ? verdict.answer : undefined;
    // An edited command was typed by the operator: the policy may still refuse it, but it is not asked about twice,
    // unless the name of the machine has to be typed.
    if (verdict.kind === "allow" || (edited && answer !== "typed")) return { ...run, ...place };
    if (!confirms(parts, rules) && names.length === 0 && answer === undefined) return run;
    const prefixes = names.length === 0 ? prefixesOf(command, judged) : undefined;
    const where = new LookedAt(target, shell);
    const decision = await decide(parts, call, where, {
      action: command,
      ...stricter(intent.declared, derived),
      why: intent.declared.why,
      policy: `${moved}${verdict.why}${guard === undefined ? "" : `; ${guard.says}`}`,
      understated: understates(intent.declared, derived),
      declared: intent.declared,
      found: derived,
      editable: call.tool.name === "run_shell",
      ...(prefixes === undefined ? {} : { prefixes }),
      ...(answer === undefined ? {} : { answer }),
    });
    if (decision.kind === "denied") return refused(decision, command);
    if (decision.kind === "edited") command = decision.command;
    if (await where.changed()) {
      moved = "the shell has moved since you were asked; ";
      continue;
    }
    place = where.known ? { onlyIn: shell.cwd } : {};
    if (decision.kind === "approved") return { ...run, ...place };
    edited = true;
  }
}

/** What is printed while nobody waits would stand on the screen as it is. */
const UNSEEN_SECRETS =
  "Not allowed: this prints secrets. Run it with run_shell and wait for it: then they are taken out of what it shows.";

/** What must hold of a repository holds where the machine says the shell is, too: what a mark says may be forged. */
async function doubtWhereItIs(
  target: Target,
  { conditions }: ShellJudgement,
  shell: Shell,
): Promise<string | undefined> {
  if (conditions.length === 0 || target.isAdopted === true) return undefined;
  const { cwd } = await shell.where();
  return cwd === "" || cwd === shell.cwd ? undefined : conditionDoubt(target.transport, conditions, cwd);
}

/** What the model names as the reverse is judged, too: it would run by itself. */
async function guarded(
  parts: PermitParts,
  guard: LockoutGuard,
  lockouts: ShellJudgement["lockouts"],
  command: { readonly text: string; readonly revert?: string | undefined },
  target: Target,
): Promise<RevertPlan | { readonly problem: string }> {
  const plan = await guard(lockouts, command, target);
  if ("problem" in plan || command.revert === undefined) return plan;
  const { verdict } = await parts.judgeShell(command.revert, "/", await parts.rules(target));
  return verdict.kind === "deny" ? { problem: `The revert is not allowed: ${verdict.why}` } : plan;
}

function refusedByGuard(problem: string): Permission {
  return { kind: "result", result: { ok: false, outcome: "denied", result: problem, display: problem } };
}

/** shell_confirm = false is an approval without an end: a machine that limits approvals does not take it. */
function confirms(parts: PermitParts, { approveMaxMs }: EffectiveRules): boolean {
  return parts.confirm.shell || approveMaxMs !== undefined;
}

/** Nothing approves a secret's use by itself, and the question names it. */
function withSecrets(verdict: Verdict, names: readonly string[], privacy: Privacy): Verdict {
  if (names.length === 0) return verdict;
  const uses = `it uses ${names.join(", ")}`;
  if (verdict.kind === "allow") return { kind: "ask", why: uses };
  const why = privacy.maskKnown(verdict.why);
  return verdict.kind === "ask" ? { ...verdict, why: `${uses}; ${why}` } : { ...verdict, why };
}

/** The commands of a text, and the files it reads through a redirection. */
function printing(judged: ShellJudgement, command: string): readonly (readonly string[])[] {
  const read = [...command.matchAll(/<\s*["']?([^\s<>&|;()"']+)/g)].map(([, file = ""]) => ["cat", file]);
  return [...judged.commands.map(({ words }) => words), ...read];
}

async function shellVerdict(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "shell" },
  target: Target,
  judged: ShellJudgement,
): Promise<Verdict> {
  if (judged.verdict.kind === "deny") return judged.verdict;
  if (parts.shellRoots.length > 0) {
    const shell = await shellFor(target, call.input as { session?: string; pane?: string });
    // Asked of the machine: what a mark said of the directory may be forged.
    const { cwd } = await shell.where();
    const outside = outsideRoots(judged, cwd || shell.cwd, parts.shellRoots);
    if (outside !== undefined) return outside;
  }
  const { declared } = intent;
  // What the operator allowed in the configuration holds whatever the model says of it; a proof by the parser does not.
  if (
    judged.verdict.kind === "allow" &&
    judged.readOnly &&
    (declared.mutation || declared.privesc || declared.risk === "high")
  ) {
    return { kind: "ask", why: "it looks read-only, but the model declares that it is not" };
  }
  return judged.verdict;
}

async function permitKeys(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "keys" },
): Promise<Permission> {
  const target = await parts.target();
  const rules = await parts.rules(target);
  const { verdict: keys, judged, unasked, place, known } = await judgeKeys(parts, call, intent, rules);
  const derived = judged.reduce<Stated>((all, one) => stricter(all, one), {
    risk: "low",
    mutation: false,
    privesc: false,
  });
  const secret = withSecrets(keys, call.secrets, parts.privacy);
  const verdict = underGuard(secret, known ? stricter(intent.declared, derived).risk : "high", rules);
  if (verdict.kind === "deny") return refusedByPolicy(verdict);
  if (rules.mode === "read-only" && (verdict.kind !== "allow" || unasked === undefined))
    return withheld(target, rules, { command: `# press keys: ${intent.title}`, why: intent.declared.why });
  if (parts.guard !== undefined && judged.some(({ lockouts }) => lockouts.length > 0))
    return refusedByGuard("This can lock the operator out: run it with run_shell, which prepares a revert first.");
  if (parts.dryRun) return dryRun(`would do: ${intent.title}`, verdict);
  const input = call.reveal(call.input);
  // What it prints stays on the screen, for capture-pane.
  const output = outputKind(
    judged.flatMap((one) => printing(one, "")),
    parts.maskOutput,
  );
  if (unasked === undefined && place.program === undefined && isSecret(output)) return refusedByGuard(UNSEEN_SECRETS);
  const run: Permission = { kind: "run", input, output, onlyWhere: place };
  if (verdict.kind === "allow") return unasked === undefined ? run : { kind: "run", input, output, unasked };
  // What stands in the line already is entered with the keys.
  const line = place.typed.trim() === "" ? "" : parts.privacy.mask(place.typed, { from: "the line in the pane" });
  const action = line === "" ? intent.title : `${intent.title}, behind ${JSON.stringify(line)}`;
  if (!confirms(parts, rules) && call.secrets.length === 0 && verdict.answer === undefined) return run;
  const decision = await decide(parts, call, new LookedAt(target, await paneFor(target, input as object)), {
    action,
    ...stricter(intent.declared, derived),
    why: intent.declared.why,
    policy: verdict.why,
    understated: understates(intent.declared, derived),
    declared: intent.declared,
    found: derived,
    editable: false,
    ...(verdict.answer === undefined ? {} : { answer: verdict.answer }),
  });
  return decision.kind === "approved" ? run : refused(decision, action);
}

async function permitControl(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "control" },
): Promise<Permission> {
  const target = await parts.target();
  const rules = await parts.rules(target);
  const { risk, mutation, privesc, why } = intent.declared;
  if (rules.mode === "read-only") return withheld(target, rules, { command: `# ${intent.title}`, why });
  const keys: Verdict = { kind: "ask", why: "what happens in the panes cannot be analysed in advance" };
  const verdict = underGuard(withSecrets(keys, call.secrets, parts.privacy), risk, rules);
  const answer = verdict.kind === "ask" ? verdict.answer : undefined;
  if (parts.dryRun) return dryRun(`would do: ${intent.title}`, verdict);
  const run: Permission = { kind: "run", input: call.reveal(call.input) };
  if (!confirms(parts, rules) && call.secrets.length === 0 && answer === undefined) return run;
  const decision = await decide(parts, call, target, {
    action: intent.title,
    risk,
    mutation,
    privesc,
    why,
    policy: verdict.why,
    understated: false,
    editable: false,
    ...(answer === undefined ? {} : { answer }),
  });
  return decision.kind === "approved" ? run : refused(decision, intent.title);
}

async function permitWrite(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "write" },
): Promise<Permission> {
  const target = await parts.target();
  const sudo = intent.sudo === true;
  const resolved = await filesFor(target, sudo, call.context).resolve(intent.path);
  const judged = await parts.judgeWrite(resolved, intent.path, sudo);
  if (judged.kind === "deny") return refusedByPolicy(judged);
  const rules = await parts.rules(target);
  const guard = await guardedWrite(parts.guard, resolved.path, target);
  if (guard !== undefined && "problem" in guard) return refusedByGuard(guard.problem);
  const risk = judged.kind === "ask" || sudo || guard !== undefined ? "high" : "medium";
  const inPerson = guard === undefined ? judged : onlyInPerson(judged, guard.says);
  const verdict = underGuard(withSecrets(inPerson, call.secrets, parts.privacy), risk, rules);
  // The same object goes to `prepare` and `run`: the tool knows it again.
  const input = call.reveal(call.input);
  const output = fileKind(resolved.path);
  call.expect(output);
  const prepared = await call.tool.prepare?.(input, call.context);
  if (prepared?.kind === "failed") return { kind: "result", result: prepared.result };
  const diff = parts.privacy.maskKnown(prepared?.diff ?? "");
  const removes = prepared?.removes === true;
  const asRoot = sudo && target.transport.facts.uid !== 0;
  if (rules.mode === "read-only")
    return withheld(target, rules, {
      command: removes ? removeCommand(resolved.path, asRoot) : patchCommand(resolved.path, diff, asRoot),
      ...(intent.why === undefined ? {} : { why: intent.why }),
    });
  if (parts.dryRun) return dryRun(`would write: ${resolved.path}`, verdict, diff);
  const revert = guard === undefined ? {} : { revert: guard };
  const run: Permission = { kind: "run", input, path: resolved.path, diff, output, ...revert };
  if (!confirms(parts, rules) && verdict.kind === "allow") return run;
  const verb = removes ? "remove" : "write";
  const action = `${verb} ${resolved.path}${asRoot ? " as root (sudo)" : ""}`;
  const decision = await decide(parts, call, target, {
    action,
    write: {
      path: resolved.path,
      creates: !resolved.exists,
      ...(removes ? { removes } : {}),
      ...diffSize(diff),
    },
    diff,
    risk,
    mutation: true,
    privesc: asRoot,
    why: intent.why ?? "",
    policy: verdict.kind === "allow" ? "" : verdict.why,
    understated: false,
    editable: false,
    ...(verdict.kind === "ask" && verdict.answer !== undefined ? { answer: verdict.answer } : {}),
  });
  return decision.kind === "approved" ? run : refused(decision, action);
}

/** How a file that can lock the operator out is taken back. */
async function guardedWrite(
  guard: LockoutGuard | undefined,
  path: string,
  target: Target,
): Promise<RevertPlan | { readonly problem: string } | undefined> {
  if (guard === undefined) return undefined;
  const { lockoutFile } = await import("../policy/shell/dangers/lockout.ts");
  const found = lockoutFile(path, target.transport.facts.home);
  return found && guard([{ ...found, program: "", words: [], file: path }], { text: "" }, target);
}

/** As for a command that can lock the operator out: nothing approves it by itself. */
function onlyInPerson(verdict: Exclude<Verdict, { kind: "deny" }>, says: string): Verdict {
  const why = verdict.kind === "ask" ? `${verdict.why}; ${says}` : says;
  return {
    kind: "ask",
    why,
    answer: requiredAnswer(verdict.kind === "ask" ? verdict.answer : undefined, "in-person") ?? "in-person",
  };
}
