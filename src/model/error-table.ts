/** What kind of failure a provider's error is: one table of words, then the HTTP status. */
import { PARAMETERS } from "./adjustments.ts";
import { errorRows, NO_STATUS } from "./error-rows.ts";
import type { ModelFailure } from "./errors.ts";
import type { ProviderError } from "./provider-error.ts";

export interface Failure {
  readonly reason: ModelFailure;
  /** The same request may succeed after a wait; "once" where a third try would not help either. */
  readonly retry: boolean | "once";
}

/** `wait`: the server asked for one, in a header, in the body or in its words. */
export function classify(error: ProviderError, status: number | undefined, wait: boolean): Failure {
  const code = status ?? NO_STATUS;
  for (const row of errorRows()) {
    if (row.status !== undefined && !row.status.includes(code)) continue;
    if (row.except?.includes(code)) continue;
    if (row.wait !== undefined && row.wait !== wait) continue;
    if (row.words.test(error.text)) return { reason: row.reason, retry: row.retry ?? false };
  }
  return byCulprit(error.param, code) ?? byStatus(code);
}

/** No words that are known, but the field that the server objects to. */
function byCulprit(param: string | undefined, status: number): Failure | undefined {
  if (param === undefined || ![400, 404, 422].includes(status)) return undefined;
  if (param === "model") return { reason: "unknown-model", retry: false };
  return new RegExp(`^(${PARAMETERS})$`).test(param) ? { reason: "parameter", retry: false } : undefined;
}

function byStatus(status: number): Failure {
  switch (status) {
    case 401:
      return { reason: "auth", retry: false };
    case 402:
      return { reason: "quota", retry: false };
    case 404:
    case 405:
      return { reason: "not-found", retry: false };
    case 408:
      return { reason: "timeout", retry: true };
    case 410:
      return { reason: "unknown-model", retry: false };
    case 413:
      return { reason: "context-limit", retry: false };
    case 429:
      return { reason: "rate-limit", retry: true };
    case NO_STATUS:
    case 409:
    case 424:
    case 425:
    case 498:
    case 499:
      return { reason: "overloaded", retry: true };
    default:
      return status >= 500 && status !== 501
        ? { reason: "overloaded", retry: true }
        : { reason: "refused", retry: false };
  }
}
