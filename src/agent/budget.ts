/** What a session may cost and how many tokens a turn may take: a warning at 80 %, then a question, or the end. */
import { BuddyError } from "../lib/errors.ts";
import type { Totals } from "./agent.ts";
import type { AgentEventBody } from "./events.ts";

export interface BudgetOptions {
  /** USD for the session; 0: no limit. */
  readonly costSession: number;
  /** Tokens, sent and received, for one turn; 0: no limit. */
  readonly tokensTurn: number;
  /** Asks a person whether to continue; absent: the turn ends instead. */
  ask?(question: BudgetQuestion, signal: AbortSignal): Promise<boolean>;
}

export interface BudgetQuestion {
  readonly of: "session" | "turn";
  readonly action: string;
  readonly why: string;
}

export interface BudgetCheck {
  readonly totals: Totals;
  readonly signal: AbortSignal;
  /** What was done in this turn, one line each. */
  readonly done: readonly string[];
  publish(body: AgentEventBody): void;
}

export class Budget {
  readonly #options: BudgetOptions;
  readonly #cost: Limit | undefined;
  #tokens: Limit | undefined;
  #before: Totals = { input: 0, output: 0 };

  constructor(options: BudgetOptions) {
    this.#options = options;
    this.#cost = options.costSession > 0 ? newLimit(options.costSession) : undefined;
  }

  /** The limits now: higher than configured once the operator has agreed to continue. */
  get limits(): { readonly cost?: number; readonly tokens?: number } {
    const { tokensTurn } = this.#options;
    return {
      ...(this.#cost === undefined ? {} : { cost: this.#cost.most }),
      ...(tokensTurn > 0 ? { tokens: this.#tokens?.most ?? tokensTurn } : {}),
    };
  }

  beginTurn(totals: Totals): void {
    this.#before = totals;
    this.#tokens = this.#options.tokensTurn > 0 ? newLimit(this.#options.tokensTurn) : undefined;
  }

  /** Another session: what it has cost so far is in its totals. */
  forget(): void {
    if (this.#cost === undefined) return;
    this.#cost.most = this.#cost.step;
    this.#cost.warned = false;
  }

  /** Before a request: throws when a limit is reached and the operator does not agree to continue. */
  async check(check: BudgetCheck): Promise<void> {
    const { totals } = check;
    if (this.#cost !== undefined)
      await this.#checkLimit(this.#cost, totals.costUsd ?? 0, check, {
        of: "session",
        used: (amount) => `the session has cost ${usd(amount)}`,
        most: usd,
        hint: "--max-cost, [limits] cost_session",
      });
    if (this.#tokens !== undefined)
      await this.#checkLimit(
        this.#tokens,
        totals.input + totals.output - this.#before.input - this.#before.output,
        check,
        {
          of: "turn",
          used: (amount) => `this turn has used ${amount} tokens`,
          most: (amount) => `${amount} tokens`,
          hint: "[limits] tokens_turn",
        },
      );
  }

  async #checkLimit(limit: Limit, used: number, { signal, done, publish }: BudgetCheck, words: Words): Promise<void> {
    while (used >= limit.most) {
      const why = `${words.used(used)}, and its budget is ${words.most(limit.most)}`;
      const more = limit.most + limit.step;
      const question = { of: words.of, action: `continue, up to ${words.most(more)}`, why };
      if (!(await this.#options.ask?.(question, signal))) throw budgetReached(why, done, words.hint);
      limit.most = more;
      // The operator has just agreed to it: no warning.
      limit.warned = used >= more * WARN_AT;
    }
    if (used < limit.most * WARN_AT || limit.warned) return;
    limit.warned = true;
    const share = Math.floor((used / limit.most) * 100);
    publish({ type: "warning", message: `${words.used(used)}, ${share} % of its budget of ${words.most(limit.most)}` });
  }
}

interface Limit {
  /** What was configured; a yes adds as much again. */
  readonly step: number;
  most: number;
  warned: boolean;
}

interface Words {
  readonly of: "session" | "turn";
  used(amount: number): string;
  most(amount: number): string;
  readonly hint: string;
}

function newLimit(step: number): Limit {
  return { step, most: step, warned: false };
}

function budgetReached(why: string, done: readonly string[], setting: string): BuddyError {
  const shown = done.slice(-MOST_SHOWN);
  const before = done.length - shown.length;
  const list = [...(before > 0 ? [`  … ${before} more`] : []), ...shown.map((one) => `  ${one}`)];
  const work = done.length === 0 ? ["Nothing was done in this turn."] : ["Done in this turn:", ...list];
  return new BuddyError("budget", why, { hint: [...work, `To continue, allow more: ${setting}.`].join("\n") });
}

export function usd(amount: number): string {
  return `$${amount.toFixed(amount < 1 ? 4 : 2).replace(/(\.\d\d)0+$/, "$1")}`;
}

const WARN_AT = 0.8;
const MOST_SHOWN = 10;
