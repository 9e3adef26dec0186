/** From the model's tool calls to their results: validate, get permission, run, bound, wrap; a failure is a result too. */
import { BuddyError } from "../lib/errors.ts";
import { unlessAborted } from "../lib/unless-aborted.ts";
import type { ToolCall, ToolMessage } from "../model/types.ts";
import { boundText } from "../tools/bound-output.ts";
import { type BudgetKind, outputBudget } from "../tools/budget.ts";
import { envelope, withNote } from "../tools/envelope.ts";
import { parseArguments, type Registry } from "../tools/registry.ts";
import type { Intent, TargetFacts, Tool, ToolContext, ToolResult } from "../tools/tool.ts";
import type { AgentEventBody } from "./events.ts";
import type { PermitParts } from "./permit.ts";

export interface CallParts extends PermitParts {
  readonly registry: Registry;
  facts(): TargetFacts;
  /** [limits]; 0 = scale with the model's context. */
  readonly limits: Readonly<Record<BudgetKind, number>>;
}

export interface BatchContext {
  readonly signal: AbortSignal;
  readonly contextLimit: number;
  publish(body: AgentEventBody): void;
}

export class CallRunner {
  readonly #parts: CallParts;
  /** News from the target the model has not heard yet. */
  readonly #news: string[] = [];
  #lastFailure = { signature: "", times: 0 };
  #unapproved: string[] = [];

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /** Actions refused because nobody could be asked, since the last turn began. */
  get unapproved(): readonly string[] {
    return this.#unapproved;
  }

  beginTurn(): void {
    this.#unapproved = [];
  }

  /** Something happened on the target that the model must know with its next result. */
  tell(news: string): void {
    if (this.#news.length < MOST_NEWS && !this.#news.includes(news)) this.#news.push(news);
  }

  /** One result for each call, in call order. Calls that change nothing run side by side; any other waits for those before it. */
  async run(calls: readonly ToolCall[], batch: BatchContext): Promise<ToolMessage[]> {
    const planned = await Promise.all(calls.map((call) => this.#plan(call)));
    const results: ToolMessage[] = [];
    for (let at = 0; at < planned.length;) {
      let end = at + 1;
      if (planned[at]!.aside) while (end < planned.length && planned[end]!.aside) end++;
      results.push(...(await Promise.all(planned.slice(at, end).map((plan) => this.#perform(plan, batch)))));
      at = end;
    }
    return results;
  }

  async #plan(call: ToolCall): Promise<Plan> {
    const tool = await this.#parts.registry.get(call.name);
    if (tool === undefined) {
      const names = this.#parts.registry.offered(this.#parts.facts());
      const message = `there is no tool "${call.name.slice(0, 100)}". Available: ${names.join(", ")}.`;
      return { call, aside: true, args: readable(call.arguments), title: call.name, problem: message };
    }
    const parsed = parseArguments(tool, call.arguments);
    if (!parsed.ok)
      return { call, aside: true, args: parsed.json ?? call.arguments, title: call.name, problem: parsed.message };
    const intent = tool.intent(parsed.input);
    return {
      call,
      aside: intent.kind === "read" || (intent.kind === "fetch" && !this.#parts.confirm.fetch),
      args: parsed.json,
      title: intent.title,
      ready: { tool, input: parsed.input, intent },
    };
  }

  async #perform(plan: Plan, batch: BatchContext): Promise<ToolMessage> {
    const { call } = plan;
    batch.publish({ type: "tool_started", call: call.id, tool: call.name, title: plan.title, args: plan.args });
    const clock = { ms: 0 };
    let outcome: ToolResult;
    if (batch.signal.aborted) outcome = CANCELLED;
    else if (plan.ready === undefined) outcome = { ok: false, outcome: "invalid", result: `error: ${plan.problem}` };
    else outcome = await this.#execute(plan.ready, call, batch, clock);
    outcome = this.#remarks(outcome, call);
    const content = envelope(outcome.result);
    batch.publish({
      type: "tool_finished",
      call: call.id,
      tool: call.name,
      ok: outcome.ok,
      outcome: outcome.outcome,
      ...(outcome.exitCode === undefined ? {} : { exit_code: outcome.exitCode }),
      ms: Math.round(clock.ms),
      result: content,
      ...(outcome.display === undefined ? {} : { display: outcome.display }),
    });
    return { role: "tool", callId: call.id, name: call.name, content };
  }

  async #execute(ready: Ready, call: ToolCall, batch: BatchContext, clock: { ms: number }): Promise<ToolResult> {
    const { tool } = ready;
    const kind = tool.budget ?? "file";
    const budget = outputBudget(kind, batch.contextLimit, this.#parts.limits[kind]);
    // Opening it may take long; a call that is cancelled meanwhile does not wait for that.
    const target = () => unlessAborted(batch.signal, this.#parts.target());
    const context: ToolContext = {
      signal: batch.signal,
      target,
      emit: ({ stream, text }) => batch.publish({ type: "tool_output", call: call.id, stream, text }),
      budget,
      dryRun: this.#parts.dryRun,
    };
    try {
      const { permit } = await import("./permit.ts");
      const permission = await permit(
        { ...this.#parts, target },
        { ...ready, call: call.id, context, publish: batch.publish },
      );
      if (permission.kind === "result") {
        if (permission.nobody !== undefined) this.#unapproved.push(permission.nobody);
        return batch.signal.aborted ? CANCELLED : permission.result;
      }
      const started = performance.now();
      const result = await orCancelled(
        tool.run(permission.input, {
          ...context,
          ...(permission.path === undefined ? {} : { onlyAt: permission.path }),
          ...(permission.unasked === undefined ? {} : { unasked: permission.unasked }),
        }),
        batch.signal,
      );
      clock.ms = performance.now() - started;
      if (batch.signal.aborted) return CANCELLED;
      const bounded = within(result, budget);
      return permission.note === undefined
        ? bounded
        : { ...bounded, result: withNote(bounded.result, permission.note) };
    } catch (error) {
      if (batch.signal.aborted) return CANCELLED;
      return { ok: false, outcome: "failed", result: `error: ${inWords(error)}` };
    }
  }

  /** What the model must know beside the result itself. */
  #remarks(outcome: ToolResult, call: ToolCall): ToolResult {
    let { result } = outcome;
    const text = typeof result === "string" ? result : JSON.stringify(result);
    for (const news of this.#news.splice(0)) if (!text.includes(news)) result = withNote(result, news);
    if (outcome.ok || outcome === CANCELLED) this.#lastFailure = { signature: "", times: 0 };
    else {
      const signature = `${call.name}\n${call.arguments}`;
      this.#lastFailure = {
        signature,
        times: this.#lastFailure.signature === signature ? this.#lastFailure.times + 1 : 1,
      };
      const { times } = this.#lastFailure;
      if (times >= SAME_FAILURES) {
        result = withNote(
          result,
          `this same call has now failed ${times} times in a row. Do not send it again: change your approach, or tell the operator what stands in the way`,
        );
      }
    }
    return result === outcome.result ? outcome : { ...outcome, result };
  }
}

/** Resolves once the tool has ended, or shortly after cancellation even if the tool does not. */
async function orCancelled(work: Promise<ToolResult>, signal: AbortSignal): Promise<ToolResult> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onAbort: (() => void) | undefined;
  const gaveUp = new Promise<ToolResult>((resolve) => {
    onAbort = () => (timer = setTimeout(() => resolve(CANCELLED), CANCEL_GRACE_MS));
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work, gaveUp]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
    work.catch(() => undefined);
  }
}

/** Tools keep to their budget themselves, with words that fit them; this holds for whatever forgets to. */
function within(result: ToolResult, budget: number): ToolResult {
  const room = budget + NOTICE_ROOM;
  const text = typeof result.result === "string" ? result.result : (JSON.stringify(result.result) ?? "");
  if (text.length <= (typeof result.result === "string" ? room : 2 * room)) return result;
  return { ...result, result: boundText(text, budget, () => "ask for less at once") };
}

function inWords(error: unknown): string {
  if (error instanceof BuddyError) {
    const { message, hint } = error;
    return hint === undefined ? message : `${message}${/[.!?]$/.test(message) ? "" : "."} ${hint}`;
  }
  return error instanceof Error ? error.message : String(error);
}

function readable(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface Ready {
  readonly tool: Tool;
  readonly input: unknown;
  readonly intent: Intent;
}

interface Plan {
  readonly call: ToolCall;
  /** May run beside its neighbours. */
  readonly aside: boolean;
  readonly args: unknown;
  readonly title: string;
  readonly problem?: string;
  readonly ready?: Ready;
}

const CANCELLED: ToolResult = { ok: false, outcome: "cancelled", result: "operation cancelled by user" };
const SAME_FAILURES = 3;
const MOST_NEWS = 20;
const NOTICE_ROOM = 2_000;
/** A command on the target is stopped by then; a tool that hangs does not hold the operator. */
const CANCEL_GRACE_MS = 5_000;
