/**
 * May these keys be pressed? At a shell's prompt they are judged as the lines they enter; in any other program they
 * are asked about.
 */
import type { EffectiveRules } from "../policy/machine-rules.ts";
import { outsideRoots } from "../policy/shell/shell-roots.ts";
import { requiredAnswer, type RequiredAnswer, type ShellJudgement, type Verdict } from "../policy/verdict.ts";
import type { ShellPlace, Unasked } from "../targets/target.ts";
import { keyList, type KeysInput, typedLines } from "../tools/panes.ts";
import { paneFor } from "../tools/select-shell.ts";
import type { Intent } from "../tools/tool.ts";
import type { PermitCall, PermitParts } from "./permission.ts";
import { unaskedRun } from "./unasked.ts";

export interface KeysVerdict {
  readonly verdict: Verdict;
  /** Of each line that would be entered. */
  readonly judged: readonly ShellJudgement[];
  /** Instead of being typed, the one line they enter runs as a clean child. */
  readonly unasked?: Unasked;
  readonly place: ShellPlace;
  /** What they do is known: lines for a shell, or nothing but a stop or a move. */
  readonly known: boolean;
}

export async function judgeKeys(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "keys" },
  rules: EffectiveRules,
): Promise<KeysVerdict> {
  const target = await parts.target();
  const input = call.reveal(call.input) as KeysInput & { pane?: string; session?: string; target?: string };
  const pane = await paneFor(target, input);
  const place = await pane.where();
  const atPrompt = place.program === undefined;
  const { lines, rest, unknown } = typedLines(place.typed, input);
  // Another shell in the foreground, after sudo -i or ssh, reads lines like any other.
  const isRead = atPrompt || SHELLS.test(place.program ?? "");
  const texts = isRead ? [...lines, ...(rest === "" ? [] : [rest])] : [];
  // A blank at the end of the line cannot be seen: it is judged with one too.
  if (isRead && place.typed !== "") texts.push(...typedLines(`${place.typed} `, input).lines);
  const judged = await Promise.all(texts.map((text) => parts.judgeShell(text, pane.cwd, rules)));
  // What one of the lines requires counts for all of them.
  const answer = judged.reduce<RequiredAnswer | undefined>(
    (all, { verdict }) => (verdict.kind === "ask" ? requiredAnswer(all, verdict.answer) : all),
    undefined,
  );
  const done = (verdict: Verdict, unasked?: Unasked): KeysVerdict => ({
    verdict: verdict.kind === "ask" && answer !== undefined ? { ...verdict, answer } : verdict,
    judged,
    place,
    known: (isRead && unknown === undefined) || onlyMoves(input),
    ...(unasked === undefined ? {} : { unasked }),
  });
  for (const one of judged) {
    if (one.verdict.kind === "deny") return done(one.verdict);
    const outside =
      parts.shellRoots.length === 0 ? undefined : outsideRoots(one, place.cwd || pane.cwd, parts.shellRoots);
    if (outside !== undefined) return done(outside);
  }
  // They would be read by buddy itself: an advance approval must not become a way to its own questions and commands.
  if (pane === target.ownPane) return done({ kind: "ask", why: "buddy itself reads these keys", answer: "in-person" });
  if (!atPrompt) {
    const who = place.user === "" ? "" : `, which runs as ${place.user}`;
    return done({ kind: "ask", why: `it is typed into ${place.program}${who}` });
  }
  if (unknown !== undefined) return done({ kind: "ask", why: `what ${unknown} makes of the line is not known` });
  const asking = judged.find(({ verdict }) => verdict.kind === "ask");
  if (asking !== undefined) return done(asking.verdict);
  const [only] = judged;
  const { declared } = intent;
  const understates = declared.mutation || declared.privesc || declared.risk === "high";
  if (only === undefined || judged.length > 1 || rest !== "" || place.typed !== "" || !only.readOnly || understates) {
    const allowed = judged.length > 0 && judged.every(({ readOnly }) => !readOnly) && rest === "" && place.typed === "";
    // A proof holds for the clean child and not for the operator's shell; what the configuration allows holds there
    // too.
    return done(allowed ? (judged[0]?.verdict ?? ASK) : ASK);
  }
  const how = await unaskedRun(target, texts[0] ?? "", only, pane.cwd, parts.secondLock);
  return "ask" in how ? done({ kind: "ask", why: how.ask }) : done(only.verdict, how.unasked);
}

/** Stops a program or moves in it. */
function onlyMoves({ keys, literal_text = "", enter = false }: KeysInput): boolean {
  return !enter && literal_text === "" && keyList(keys).every((key) => MOVES.test(key));
}

const MOVES = /^(?:C-[cdlz]|\^[CDLZ]|Escape|Up|Down|Left|Right|Home|End|[NP]Page|Page(?:Up|Down))$/i;
const ASK: Verdict = { kind: "ask", why: "it is typed into the shell itself" };
const SHELLS = /^-?(?:ba|z|fi|da|a|mk|k|tc|c|nu|el)?sh$|^(?:su|sudo|ssh|xonsh|pwsh)$/;
