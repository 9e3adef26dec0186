/** How a command ended, and what the model can do next. */
import { defined } from "../lib/values.ts";
import { formatDuration } from "../lib/durations.ts";
import type { CapturedText, RunOutcome, RunResult } from "../targets/target.ts";
import { cutCaptured, joinCaptured, type Mask } from "./bound-output.ts";
import { NO_OUTPUT, type ToolResult } from "./tool.ts";

export interface OutcomeContext {
  readonly waitMs: number;
  readonly shell: "tmux" | "direct";
  readonly budget: number;
  readonly attach?: string | undefined;
  readonly mask: Mask;
}

export function outcomeText(result: RunResult, context: OutcomeContext): ToolResult {
  const { outcome } = result;
  const head = headline(outcome, context);
  const isBinary = result.output.binary === true || result.stderr?.binary === true;
  const notes = [...result.notes, ...(isBinary ? [BINARY] : [])].map((note) => `[note: ${note}]`);
  const { text: output, cut } = printed(result, context, outcome);
  const lines = [...head, output, ...notes];
  const forModel = lines.filter((line) => line !== "").join("\n");
  // People learn what happened, without advice to the model.
  const happened = inWordsForPeople(outcome, context, head);
  const texts = [result.output, result.stderr].map((text) => text && cutCaptured(text, roomFor(text, SHOWN)));
  const displayCut = texts.some((text) => text !== undefined && text.omittedBytes > 0);
  const forPeople = texts
    .map((text, at) => joinedForPeople(text, at === 0 ? result.outputId : result.stderrId, context.mask))
    .join("");
  const display = [...happened, forPeople.replace(/\n$/, "")].filter((line) => line !== "").join("\n");
  const id = result.outputId ?? result.stderrId;
  // Also a command that ends the shell with `exit 3` has an exit code.
  const exitCode = outcome.kind === "exited" || outcome.kind === "shell-ended" ? outcome.code : undefined;
  return {
    ok: exitCode === undefined ? outcome.kind === "running" && outcome.why === "no-wait" : exitCode === 0,
    outcome: outcomeOf(outcome, context.shell),
    ...defined({ exitCode }),
    ...(isRun(outcome, context.shell) ? {} : { notRun: true }),
    result: forModel,
    ...(outcome.kind === "exited" ? { printed: [output, ...notes].filter((line) => line !== "").join("\n") } : {}),
    ...(cut ? { cut } : {}),
    ...(display === forModel ? {} : { display }),
    ...(displayCut ? { displayCut } : {}),
    ...defined({ outputId: id }),
    outputs: [result.outputId, result.stderrId].filter((id) => id !== undefined),
  };
}

function outcomeOf(outcome: RunOutcome, shell: OutcomeContext["shell"]): string {
  if (outcome.kind === "stopped" && outcome.unseen === true) return "lost";
  return isTyped(outcome, shell) ? outcome.kind : "not-run";
}

/** Without what is shown with the command anyway, such as an exit code. */
function inWordsForPeople(outcome: RunOutcome, { shell, waitMs }: OutcomeContext, head: readonly string[]): string[] {
  if (outcome.kind === "exited" || (outcome.kind === "stopped" && outcome.by === "user")) return [];
  if (outcome.kind === "stopped" && !isTyped(outcome, shell))
    return [`not run: the pane was not free within ${formatDuration(waitMs)}`];
  return head.slice(0, 1).map((line) => line.replace(/^\[(.*)\]$/, "$1"));
}

/** False: nothing of it has run, and nothing will. */
function isRun(outcome: RunOutcome, shell: OutcomeContext["shell"]): boolean {
  if (outcome.kind === "incomplete") return false;
  return outcome.kind === "lost" ? outcome.notRun !== true : isTyped(outcome, shell);
}

/** A pane does not end commands at their deadline: one that was stopped had not begun. */
function isTyped(outcome: RunOutcome, shell: OutcomeContext["shell"]): boolean {
  if (outcome.kind === "stopped") return outcome.by !== "deadline" || shell === "direct";
  return !(outcome.kind === "running" && outcome.why === "busy") && !(outcome.kind === "waiting" && outcome.earlier);
}

function joinedForPeople(text: CapturedText | undefined, id: string | undefined, mask: Mask): string {
  if (text === undefined) return "";
  const how = id === undefined ? "not shown" : `not shown: output ${id}`;
  return joinCaptured(text, () => how, mask);
}

const BINARY = "The output is binary data. Look at such data with file, xxd | head, strings, or write it to a file.";
/** Characters of binary data. */
const MOST_BINARY = 200;
const roomFor = (text: CapturedText, most: number) => (text.binary === true ? Math.min(most, MOST_BINARY) : most);

/** Characters for people; the whole output is stored. */
const SHOWN = 8_000;

function headline(outcome: RunOutcome, { waitMs, shell, attach }: OutcomeContext): string[] {
  switch (outcome.kind) {
    case "exited":
      return outcome.code === 0 ? [] : [`[command failed: exit code ${outcome.code}]`];
    case "running":
      return running(outcome, waitMs);
    case "stopped":
      if (outcome.by === "user") return ["operation cancelled by user"];
      if (outcome.by === "guard")
        return [
          "[stopped: it had not ended, and a revert waits for its end]",
          "Use options that need no input (-y, --force), or give a longer wait.",
        ];
      return [
        `[command timed out after ${formatDuration(waitMs)}]`,
        shell === "tmux"
          ? "It was not run: the pane was not free. Look with capture-pane, wait longer, or use another pane (tmux-create-pane)."
          : 'It and everything it started were ended. For longer work give wait="30m" or use mode="background".',
      ];
    case "waiting": {
      const [state = "", advice = ""] = waiting(outcome, attach);
      return [outcome.earlier ? `[not run: the pane is in use, ${state.slice(1)}` : state, advice];
    }
    case "incomplete":
      return [
        `[command incomplete: ${outcome.hint}]`,
        "It was not run. Complete it (quotes, here-document, do/done, brackets) and send it again.",
      ];
    case "shell-ended":
      return [
        `[the shell ended with exit code ${outcome.code}]`,
        `The next command gets a new shell in the same directory; ${shell === "direct" ? "variables that were not exported" : "variables"} and functions are lost.`,
      ];
    case "lost":
      return [`[lost: ${outcome.why}]`, ...(outcome.notRun === true ? [] : [UNKNOWN_END])];
  }
}

const UNKNOWN_END = "It is not known whether the command finished. Check its effects before you run it again.";

function running(outcome: RunOutcome & { kind: "running" }, waitMs: number): string[] {
  switch (outcome.why) {
    case "no-wait":
      return [
        "[command sent, not waited for]",
        'Look at it with capture-pane (for example delay="5s"), wait for it with shell_output wait="5m", stop it with send-keys keys=["C-c"].',
      ];
    case "busy":
      return [
        `[not run: ${outcome.program ?? "a program"} is still running in the pane]`,
        'Nothing was typed. Wait for it with shell_output wait="5m", stop it with send-keys keys=["C-c"], or use another pane (tmux-create-pane).',
      ];
    case "deadline":
      return [
        `[command timed out after ${formatDuration(waitMs)}]`,
        'It is still running in the pane. Wait again with shell_output wait="15m", look with capture-pane, or stop it with send-keys keys=["C-c"].',
      ];
  }
}

function waiting(outcome: RunOutcome & { kind: "waiting" }, attach: string | undefined): string[] {
  const program = outcome.program || "the command";
  switch (outcome.for) {
    case "password":
      if (outcome.uninvited === true)
        return [
          `[waiting for a password in ${program}]`,
          "This command ran without approval, so the operator is not asked for its password. " +
            'Stop it with send-keys keys=["C-c"]; if it is needed, run it again with mutation=true, so that the operator decides.',
        ];
      return [
        `[waiting for a password in ${program}]`,
        `The operator has been asked to type it in the pane${attach === undefined ? "" : ` (${attach})`}. Do not ask for it and do not send it. ` +
          'Wait for it with shell_output wait="5m", or give up with send-keys keys=["C-c"].',
      ];
    case "line":
      return [
        `[waiting for input: ${program}]`,
        'Answer with send-keys literal_text="…" enter=true, or stop it with send-keys keys=["C-c"]. Prefer options that need no input (-y, --batch).',
      ];
    case "repl":
      return [
        `[interactive program at its prompt: ${program}]`,
        'Continue with send-keys literal_text="…" enter=true and capture-pane, or leave it with send-keys keys=["C-d"].',
      ];
    case "full-screen":
      return [
        `[full-screen program: ${program}]`,
        'See it with capture-pane, use it with send-keys, quit it the way a person would (often keys=["q"]) or with keys=["C-c"].',
      ];
  }
}

function printed(
  result: RunResult,
  { budget, mask }: OutcomeContext,
  outcome: RunOutcome,
): { readonly text: string; readonly cut: boolean } {
  const stderr = result.stderr;
  const errorsLength = stderr === undefined ? 0 : stderr.head.length + stderr.tail.length;
  const forErrors = Math.min(errorsLength, Math.max(budget >> 1, budget - length(result.output)));
  const kept = cutCaptured(result.output, roomFor(result.output, budget - forErrors));
  const keptErrors = stderr === undefined ? undefined : cutCaptured(stderr, roomFor(stderr, forErrors));
  const cut = kept.omittedBytes + (keptErrors?.omittedBytes ?? 0) > 0;
  const out = joined(kept, result.outputId, mask);
  const err = keptErrors === undefined ? "" : joined(keptErrors, result.stderrId, mask);
  if (out === "" && err === "") return { text: outcome.kind === "exited" && outcome.code === 0 ? NO_OUTPUT : "", cut };
  if (err === "") return { text: out, cut };
  return { text: out === "" ? `[stderr]\n${err}` : `${out}\n[stderr]\n${err}`, cut };
}

function joined(text: CapturedText, outputId: string | undefined, mask: Mask): string {
  return joinCaptured(
    text,
    (offset) =>
      outputId === undefined
        ? "run it again with a filter, or write it to a file"
        : `get them with shell_output output_id="${outputId}" offset=${offset}, or filter="regex"`,
    mask,
  ).replace(/\n$/, "");
}

const length = (text: CapturedText) => text.head.length + text.tail.length;
