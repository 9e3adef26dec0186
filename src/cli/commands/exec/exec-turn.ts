/** One turn of `buddy exec`; with an output schema, further ones while the answer is not valid. */
import type { AgentEvent } from "../../../agent/events.ts";
import type { TurnOptions } from "../../../agent/loop.ts";
import { BuddyError } from "../../../lib/errors.ts";
import { boundText } from "../../../tools/bound-output.ts";
import type { Run } from "../../../app/run.ts";
import type { OutputSchema } from "./output-schema.ts";

export async function oneTurn(
  run: Run,
  prompt: string,
  signal: AbortSignal,
  show: Show,
  options: TurnOptions,
): Promise<Outcome> {
  let done: Outcome["done"] | undefined;
  let error: Outcome["error"];
  // The request leaves first; the target opens while the model thinks. An answer that comes at once needs no target.
  const opening = setTimeout(() => run.prepareForTools(), OPEN_AFTER_MS);
  try {
    for await (const event of run.agent.runTurn(prompt, signal, options)) {
      if (event.type === "done") done = event;
      if (event.type === "error") error = event;
      await show(event);
    }
  } finally {
    clearTimeout(opening);
  }
  if (done === undefined) throw new BuddyError("internal", "the turn ended without an outcome");
  return { done, ...(error === undefined ? {} : { error }), answer: done.text, shown: true };
}

export async function validTurn(
  run: Run,
  prompt: string,
  signal: AbortSignal,
  show: Show,
  schema: OutputSchema,
  first: TurnOptions,
): Promise<Outcome> {
  let question = `${prompt}\n\n${schema.instruction}`;
  for (let round = 0; ; round++) {
    const found: { judged?: ReturnType<OutputSchema["check"]>; misfit?: BuddyError } = {};
    // With --json, `done` must hold what is printed without it: the JSON alone, or a failure.
    const judge: Show = async (event) => {
      if (event.type !== "done" || !hasAnswer(event)) return show(event);
      const judged = (found.judged = schema.check(event.text));
      if (judged.ok) return show({ ...event, text: judged.json });
      if (round < REPAIR_ROUNDS) return show(event);
      const { v, ts, session, target } = event;
      const { code, message, hint } = (found.misfit = unfit(judged.problem, event.text));
      await show({ type: "error", code, message, ...(hint !== undefined && { hint }), v, ts, session, target });
      return show({ ...event, status: "failed" });
    };
    const { shown: _, attach: __, ...again } = first;
    const own = round === 0 ? first : again;
    const outcome = await oneTurn(run, question, signal, judge, { outputSchema: schema.schema, ...own });
    const { judged, misfit } = found;
    if (judged === undefined) return outcome;
    if (judged.ok) return { ...outcome, answer: judged.json, shown: false };
    if (misfit !== undefined) throw misfit;
    question = `Your answer is not valid: ${judged.problem}. Answer again with the corrected JSON only.`;
  }
}

export interface Outcome {
  readonly done: AgentEvent & { type: "done" };
  readonly error?: AgentEvent & { type: "error" };
  /** The answer as it is printed and stored: with a schema, the JSON alone. */
  readonly answer: string;
  /** Printed already, while it came. */
  readonly shown: boolean;
}

type Show = (event: AgentEvent) => Promise<void>;

function hasAnswer({ status }: Outcome["done"]): boolean {
  return status === "answered" || status === "approval_needed";
}

function unfit(problem: string, answer: string): BuddyError {
  const message = `the answer is not valid against the output schema, even after ${REPAIR_ROUNDS} corrections: ${problem}`;
  return new BuddyError("model", message, {
    hint: `The last answer was: ${boundText(answer, 500, () => "left out")}`,
  });
}

const REPAIR_ROUNDS = 2;

/** Longer than the quickest answer takes, even on a busy machine; shorter than any model thinks. */
const OPEN_AFTER_MS = 100;
