/** The budget of a run: from --max-cost and [limits], with a model whose price is known. */
import { Budget, type BudgetQuestion } from "../agent/budget.ts";
import type { GlobalOptions } from "../cli/args/options.ts";
import type { Settings } from "../config/schema.ts";
import { BuddyError } from "../lib/errors.ts";
import type { ModelClient } from "../model/types.ts";
import { type Approvals, approvalRequest } from "../policy/approvals.ts";
import { NO_MACHINE } from "../policy/subject.ts";

type Limits = Pick<Settings["limits"], "cost_session" | "tokens_turn">;

/** `approvals`: for the question at the limit; without it, the turn ends. */
export function runBudget(
  { maxCost }: Pick<GlobalOptions, "maxCost">,
  { cost_session, tokens_turn }: Limits,
  approvals: Approvals | undefined,
): Budget | undefined {
  const costSession = maxCost ?? cost_session;
  if (costSession === 0 && tokens_turn === 0) return undefined;
  return new Budget({
    costSession,
    tokensTurn: tokens_turn,
    ...(approvals === undefined ? {} : { ask: (question, signal) => askToContinue(approvals, question, signal) }),
  });
}

/** No approval mode answers this: modes are about changes, not about money. */
async function askToContinue(
  approvals: Approvals,
  { of, action, why }: BudgetQuestion,
  signal: AbortSignal,
): Promise<boolean> {
  const about = { call: "budget", tool: "budget", where: `this ${of}`, subject: NO_MACHINE, action };
  const request = approvalRequest({ ...about, risk: "low", policy: why, answer: "in-person" });
  const { kind } = await approvals.decide(request, signal);
  signal.throwIfAborted();
  return kind === "approved";
}

/** A limit in money needs a known price: without one, --max-cost is an error, [limits] cost_session a warning. */
export function requirePrice(
  client: Pick<ModelClient, "info" | "profile">,
  { maxCost }: Pick<GlobalOptions, "maxCost">,
  { cost_session }: Limits,
): string | undefined {
  if (maxCost === undefined && cost_session === 0) return undefined;
  const { info, profile } = client;
  const known = info.priceIn !== undefined && info.priceOut !== undefined;
  if (known || reportsCost(profile.baseUrl) || profile.name === "demo") return undefined;
  const problem = `the price of ${profile.model} is not known`;
  const hint = `set it: [[model_rules]] with exact = ${JSON.stringify(profile.model)}, price_in and price_out (0 for a free model)`;
  if (maxCost === undefined) return `${problem}, so [limits] cost_session cannot be enforced; ${hint}`;
  throw new BuddyError("config", `${problem}, so --max-cost cannot be enforced`, { hint });
}

/** Gateways that say with each answer what it cost. */
function reportsCost(baseUrl: string): boolean {
  return URL.parse(baseUrl)?.hostname === "openrouter.ai";
}
