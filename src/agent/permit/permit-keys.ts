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
import type { ShellPlace, Unasked } from "../../targets/target.ts";
import { keyList, type KeysInput, typedLines } from "../../tools/panes.ts";
import { paneFor } from "../../tools/run-shell.ts";
import type { Intent } from "../../tools/tool.ts";
import { AskedShell, confirms, decide, stricter, understates, withSecrets } from "./ask-operator.ts";
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

interface KeysVerdict {
  readonly verdict: Verdict;
  /** Each line that would be entered. */
  readonly judged: readonly ShellJudgement[];
  /** The one line they enter is not typed, but runs as a clean child. */
  readonly unasked?: Unasked;
  /** The directory in which the lines were judged. */
  readonly cwd: string;
  readonly place: ShellPlace;
  /** Their effect is known: they enter lines in a shell, or only stop or move something. */
  readonly known: boolean;
}

async function judgeKeys(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "keys" },
  rules: EffectiveRules,
): Promise<KeysVerdict> {
  const target = await parts.target();
  const input = call.reveal(call.input) as KeysInput & { pane?: string; session?: string; target?: string };
  const pane = await paneFor(target, input);
  const { cwd } = pane;
  const place = await pane.where();
  const atPrompt = place.program === undefined;
  const { lines, rest, unknown } = typedLines(place.typed, input);
  // Another shell in the foreground (after sudo -i or ssh) reads lines like any other.
  const isRead = atPrompt || SHELLS.test(place.program ?? "");
  const texts = isRead ? [...lines, ...(rest === "" ? [] : [rest])] : [];
  // A space at the end of the line cannot be seen: the line is judged with one, too.
  if (isRead && place.typed !== "") texts.push(...typedLines(`${place.typed} `, input).lines);
  const judged = await Promise.all(texts.map((text) => parts.judgeShell(text, cwd, rules)));
  // What one of the lines requires counts for all of them.
  const answer = judged.reduce<RequiredAnswer | undefined>(
    (all, { verdict }) => (verdict.kind === "ask" ? requiredAnswer(all, verdict.answer) : all),
    undefined,
  );
  const done = (verdict: Verdict, unasked?: Unasked): KeysVerdict => ({
    verdict: verdict.kind === "ask" && answer !== undefined ? { ...verdict, answer } : verdict,
    judged,
    place,
    cwd,
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
  const how = await unaskedRun(target, texts[0] ?? "", only, cwd, parts.secondLock, call.context.signal);
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
  const target = await given.target();
  const here = await given.rules(target);
  const { verdict: keys, judged, unasked, place, cwd, known } = await judgeKeys(given, call, intent, here);
  const rules = await rulesOfText(
    given,
    here,
    judged.flatMap(({ commands }) => commands),
  );
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
  const input = call.reveal(call.input);
  // Its output stays on the screen, where capture-pane reads it.
  const output = outputKind(
    judged.flatMap((one) => printing(one, "")),
    parts.maskOutput,
  );
  if (unasked === undefined && place.program === undefined && isSecret(output)) return denied(UNSEEN_SECRETS);
  const run: Permission = { kind: "run", input, output, onlyWhere: place };
  if (verdict.kind === "allow")
    return unasked === undefined ? run : { kind: "run", input, output, unasked, onlyIn: cwd };
  // What is already in the line is entered with the keys.
  const line = place.typed.trim() === "" ? "" : parts.privacy.mask(place.typed, { from: "the line in the pane" });
  const action = line === "" ? intent.title : `${intent.title}, behind ${JSON.stringify(line)}`;
  if (!confirms(parts, rules) && call.secrets.length === 0 && verdict.answer === undefined) return run;
  const decision = await decide(parts, call, new AskedShell(target, await paneFor(target, input as object)), {
    action,
    ...stricter(intent.declared, derived),
    why: intent.declared.why,
    policy: verdict.why,
    understated: understates(intent.declared, derived),
    declared: intent.declared,
    found: derived,
    ...defined({ answer: verdict.answer }),
  });
  return decision.kind === "approved" ? run : refused(decision, action);
}
