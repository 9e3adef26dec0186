/** When a failed request is tried again: how long to wait, how often, how long in all. */
import { parseDuration } from "../../lib/durations.ts";
import { once } from "../../lib/values.ts";

/** No single wait is longer; a server that asks for more is not waited for. */
export const MAX_WAIT_MS = 60_000;
/** All waits of one turn together. */
export const MAX_TOTAL_WAIT_MS = 180_000;
export const FIRST_WAIT_MS = 500;

/** `Retry-After` in milliseconds: seconds, a date, or (OpenAI) `retry-after-ms`; garbage counts as absent. */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const millis = headers.get("retry-after-ms");
  if (millis !== null && /^\s*\d+(\.\d+)?\s*$/.test(millis)) return Number(millis);
  const value = headers.get("retry-after")?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  // A date has letters: Date.parse would take "-5" or "12,5" for a year.
  const date = /^[a-z]{3}/i.test(value) || /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/**
 * A wait named in a sentence: "try again in 7m12s", "retry after 10 seconds", "Please wait 3600 seconds before
 * retrying", "retry in about 5 minutes".
 */
export function waitInWords(text: string): number | undefined {
  const named = waitPattern().sentence.exec(text)?.[1];
  if (named === undefined) return undefined;
  const short = named.replace(waitPattern().unit, (_, amount: string, unit: string) => {
    const word = unit.toLowerCase();
    return `${amount}${word.startsWith("ms") || word.startsWith("mil") ? "ms" : word[0]}`;
  });
  return parseDuration(short.replace(/,|and/g, "").replace(/\s+/g, ""));
}

const waitPattern = once(() => {
  const unit = "(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])";
  const one = String.raw`\d+(?:\.\d+)?\s*${unit}`;
  const opening = String.raw`(?:try again|retry(?:ing)?|retry your request|wait|available again|resets?)\s+(?:(?:in|after|for)\s+)?`;
  return {
    sentence: new RegExp(
      String.raw`${opening}(?:about\s+|at least\s+)?(${one}(?:(?:,|\s|and)*${one})*|\d+(?=\.?\s*$|\.\s))`,
      "i",
    ),
    unit: new RegExp(String.raw`(\d+(?:\.\d+)?)\s*(${unit})`, "gi"),
  };
});

/** The wait before attempt `attempt` (1 = the first retry): doubled each time, at most `MAX_WAIT_MS`, spread by up to a quarter so that many clients do not return at once. */
export function backoffMs(attempt: number, firstMs: number, random: () => number): number {
  const full = Math.min(MAX_WAIT_MS, firstMs * 2 ** (attempt - 1));
  return Math.round(full * (1 - random() / 4));
}

/** In whole milliseconds: what the server asked for and a little more, or the backoff. */
export function waitBefore(attempt: number, askedMs: number | undefined, firstMs: number): number {
  return askedMs === undefined ? backoffMs(attempt, firstMs, Math.random) : Math.round(askedMs + Math.random() * 250);
}
