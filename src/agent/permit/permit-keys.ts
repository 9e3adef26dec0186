/**
 * May these keys be pressed? At a shell's prompt they are judged as the lines they enter; in any other program they
 * need approval. A program that asks for a password gets none: the pane refuses that (targets/tmux/pane.ts).
 */
import { defined } from "../../lib/values.ts";
import type { Stated } from "../../policy/approvals.ts";
import type { EffectiveRules } from "../../policy/machine-rules.ts";
import { isSecret } from "../../policy/privacy/listed-secrets.ts";
import { outputKind } from "../../policy/privacy/output-kind.ts";
import { outsideRoots } from "../../policy/shell/shell-roots.ts";
import { type RequiredAnswer, requiredAnswer, type ShellJudgement, type Verdict } from "../../policy/verdict.ts";
import type { Pane, ShellPlace, Target, Unasked } from "../../targets/target.ts";
import { holdsShell, keyList, type KeysInput } from "../../tools/panes.ts";
import { paneFor } from "../../tools/run-shell.ts";
import type { Intent } from "../../tools/tool.ts";
import { AskedShell, confirms, decide, stricter, understates, withSecrets } from "./ask-operator.ts";
import { keysApproved, type LineBefore, lineBefore, linesAfter } from "./line-before.ts";
import { rulesOfText, underGuard, withheld } from "./machine-modes.ts";
import {
  denied,
  dryRun,
  type Permission,
  type PermitCall,
  type PermitParts,
  refused,
  refusedByPolicy,
} from "./permission.ts";
import { printing, UNSEEN_SECRETS } from "./permit-shell.ts";
import { unaskedRun } from "./read-only-run.ts";

/** The keys, where they go, and the line that they continue. */
interface TypedKeys {
  readonly target: Target;
  readonly pane: Pane;
  /** The directory in which the lines are judged. */
  readonly cwd: string;
  readonly place: ShellPlace;
  readonly input: KeysInput;
  readonly before: LineBefore;
  /** Each line that would be entered, and what would stay in it. */
  readonly texts: readonly string[];
  readonly rest: string;
  readonly unknown: string | undefined;
  /** A shell reads them. */
  readonly isRead: boolean;
}

interface KeysVerdict {
  readonly verdict: Verdict;
  readonly judged: readonly ShellJudgement[];
  /** The one line they enter is not typed, but runs as a clean child. */
  readonly unasked?: Unasked;
  /** Their effect is known: they enter lines in a shell, or only stop or move something. */
  readonly known: boolean;
}

async function typedKeys(parts: PermitParts, call: PermitCall): Promise<TypedKeys> {
  const target = await parts.target();
  const input = call.reveal(call.input) as KeysInput & { pane?: string; session?: string; target?: string };
  const pane = await paneFor(target, input);
  const { cwd } = pane;
  const place = await pane.where();
  const { program } = place;
  const before = lineIn(target, pane, place);
  const after = before.candidates.map((line) => linesAfter(line, input));
  const [{ rest = "", unknown } = { unknown: undefined }] = after;
  // Another shell in the foreground (after sudo -i or ssh) reads lines like any other.
  const isRead = program === undefined || SHELLS.test(program) || holdsShell(program);
  const texts = after.flatMap((one) => [...one.lines, ...(one.rest.trim() === "" ? [] : [one.rest])]);
  return { target, pane, cwd, place, input, before, texts: isRead ? [...new Set(texts)] : [], rest, unknown, isRead };
}

/** What stands in buddy's own pane is its question, not a line. */
function lineIn(target: Target, pane: Pane, place: ShellPlace): LineBefore {
  return pane === target.ownPane ? { candidates: [""], shown: "", entered: [] } : lineBefore(target, place);
}

async function judgeKeys(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "keys" },
  { target, pane, cwd, place, input, texts, rest, unknown, isRead }: TypedKeys,
  rules: EffectiveRules,
): Promise<KeysVerdict> {
  const atPrompt = place.program === undefined;
  const judged = await Promise.all(texts.map((text) => parts.judgeShell(text, cwd, rules)));
  // What one of the lines requires counts for all of them.
  const answer = judged.reduce<RequiredAnswer | undefined>(
    (all, { verdict }) => (verdict.kind === "ask" ? requiredAnswer(all, verdict.answer) : all),
    undefined,
  );
  const done = (verdict: Verdict, unasked?: Unasked): KeysVerdict => ({
    verdict: verdict.kind === "ask" && answer !== undefined ? { ...verdict, answer } : verdict,
    judged,
    known: (isRead && unknown === undefined) || onlyMoves(input),
    ...defined({ unasked }),
  });
  for (const one of judged) {
    if (one.verdict.kind === "deny") return done(one.verdict);
    const outside = parts.shellRoots.length === 0 ? undefined : outsideRoots(one, place.cwd || cwd, parts.shellRoots);
    if (outside !== undefined) return done(outside);
  }
  // buddy itself would read them: an approval in advance must not answer buddy's own questions.
  if (pane === target.ownPane) return done({ kind: "ask", why: "buddy itself reads these keys", answer: "in-person" });
  if (!atPrompt) {
    const who = place.user === "" ? "" : `, which runs as ${place.user}`;
    return done({ kind: "ask", why: `it is typed into ${place.program}${who}` });
  }
  if (unknown !== undefined) return done({ kind: "ask", why: `it is not known what ${unknown} does to the line` });
  const asking = judged.find(({ verdict }) => verdict.kind === "ask");
  if (asking !== undefined) return done(asking.verdict);
  const [only] = judged;
  const { declared } = intent;
  const understates = declared.mutation || declared.privesc || declared.risk === "high";
  if (only === undefined || judged.length > 1 || rest !== "" || place.typed !== "" || !only.readOnly || understates) {
    const changed = judged.length > 0 && judged.every(({ readOnly }) => !readOnly) && rest === "" && place.typed === "";
    const allowed = changed && !texts.some((text) => READ_OTHERWISE.test(text));
    // A proof holds only for the clean child; what the configuration allows holds in the operator's shell, too.
    return done(allowed ? (judged[0]?.verdict ?? ASK) : ASK);
  }
  const how = await unaskedRun(target, texts[0] ?? "", only, cwd, parts.secondLock, call.context.signal, pane);
  return "ask" in how ? done({ kind: "ask", why: how.ask }) : done(only.verdict, how.unasked);
}

/** Stops a program or moves in it. */
function onlyMoves({ keys, literal_text = "", enter = false }: KeysInput): boolean {
  return !enter && literal_text === "" && keyList(keys).every((key) => MOVES.test(key));
}

const MOVES = /^(?:C-[cdlz]|\^[CDLZ]|Escape|Up|Down|Left|Right|Home|End|[NP]Page|Page(?:Up|Down))$/i;
/** A shell reads a line at its prompt differently: history is expanded, and # need not begin a comment. */
const READ_OTHERWISE = /!|#|^\s*\^/;
const ASK: Verdict = { kind: "ask", why: "it is typed into the shell itself" };
const SHELLS = /^-?(?:ba|z|fi|da|a|mk|k|tc|c|nu|el)?sh$|^(?:su|sudo|ssh|xonsh|pwsh)$/;

export async function permitKeys(
  given: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "keys" },
): Promise<Permission> {
  let changed = "";
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const permission = await permitLine(given, call, intent, changed);
    if (permission !== undefined) return permission;
    changed = "the line has changed since you were asked; ";
  }
  return denied("Nothing was typed: the line in the pane changed each time the operator was asked about it.");
}

const MAX_ROUNDS = 5;

/** Undefined: the line that was approved is not in the pane any more. */
async function permitLine(
  given: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "keys" },
  changed: string,
): Promise<Permission | undefined> {
  const typed = await typedKeys(given, call);
  const { target, place, cwd, input, before } = typed;
  const here = await given.rules(target);
  let { verdict: keys, judged, unasked, known } = await judgeKeys(given, call, intent, typed, here);
  // An inner shell is on the machine that the command names which started it.
  const started = place.running ? (await given.judgeShell(place.running, cwd, here)).commands : [];
  const commands = judged.flatMap((one) => one.commands);
  const rules = await rulesOfText(given, here, [...started, ...before.entered, ...commands]);
  if (rules !== here) ({ verdict: keys, judged, unasked, known } = await judgeKeys(given, call, intent, typed, rules));
  const parts: PermitParts = rules === here ? given : { ...given, rules: () => Promise.resolve(rules) };
  const nothing: Stated = { risk: "low", mutation: false, privesc: false };
  const derived = judged.reduce<Stated>(stricter, nothing);
  const secret = withSecrets(keys, call.secrets, parts.privacy);
  const verdict = underGuard(secret, known ? stricter(intent.declared, derived).risk : "high", rules);
  if (verdict.kind === "deny") return refusedByPolicy(verdict);
  if (rules.mode === "read-only" && (verdict.kind !== "allow" || unasked === undefined))
    return withheld(parts, target, rules, { command: `# press keys: ${intent.title}`, why: intent.declared.why });
  if (parts.planRevert !== undefined && judged.some(({ lockouts }) => lockouts.length > 0))
    return denied("This can lock the operator out: run it with run_shell, which prepares a revert first.");
  if (parts.dryRun) return dryRun(`would do: ${intent.title}`, verdict);
  // Its output stays on the screen, where capture-pane reads it.
  const output = outputKind(
    judged.flatMap((one) => printing(one, "")),
    parts.maskOutput,
  );
  if (unasked === undefined && place.program === undefined && isSecret(output)) return denied(UNSEEN_SECRETS);
  const run: Permission = { kind: "run", input, output, onlyWhere: place };
  if (verdict.kind === "allow" && unasked !== undefined) return { kind: "run", input, output, unasked, onlyIn: cwd };
  // What is already in the line is entered with the keys.
  const line = before.shown === "" ? "" : parts.privacy.mask(before.shown, { from: "the line in the pane" });
  const action = line === "" ? intent.title : `${intent.title}, behind ${JSON.stringify(line)}`;
  const needsNone = !confirms(parts, rules) && call.secrets.length === 0;
  if (verdict.kind !== "allow" && !(needsNone && verdict.answer === undefined)) {
    const decision = await decide(parts, call, new AskedShell(target, typed.pane), {
      action,
      ...stricter(intent.declared, derived),
      why: intent.declared.why,
      policy: `${changed}${verdict.why}`,
      understated: understates(intent.declared, derived),
      declared: intent.declared,
      found: derived,
      ...defined({ answer: verdict.answer }),
    });
    if (decision.kind !== "approved") return refused(decision, action);
    // At the pane's own prompt, the keys themselves are refused then.
    const isInner = typed.isRead && place.program !== undefined && decision.by === "operator";
    if (isInner && lineIn(target, typed.pane, await typed.pane.where()).shown !== before.shown) return undefined;
  }
  keysApproved(target, place, input, before, judged);
  return run;
}
