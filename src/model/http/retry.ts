/** When a failed request is tried again: how long to wait, how often, how long in all. */
import { parseDuration } from "../../lib/durations.ts";
import { once } from "../../lib/values.ts";
import { waitUntil } from "../provider-error.ts";

/** The longest single wait; a server that asks for more is not waited for. */
export const MAX_WAIT_MS = 60_000;
/** All waits of one turn together. */
export const MAX_TOTAL_WAIT_MS = 180_000;
export const FIRST_WAIT_MS = 500;

/**
 * The wait that the headers ask for, in milliseconds: `Retry-After` as seconds or a date, `retry-after-ms` (OpenAI,
 * Azure), or when an exhausted limit is reset. Garbage counts as absent.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const millis = headers.get("retry-after-ms") ?? headers.get("x-ms-retry-after-ms");
  if (millis !== null && /^\s*\d+(\.\d+)?\s*$/.test(millis)) return Number(millis);
  const asked = waitOf(headers.get("retry-after") ?? headers.get("x-retry-after"), now);
  if (asked !== undefined) return asked;
  // The structured form: `"default";r=0;t=25`.
  const left = /;\s*r=0\b.*;\s*t=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1];
  let longest = left === undefined ? undefined : Number(left) * 1000;
  for (const [name, value] of headers) {
    const reset = usedUp(name, value.trim());
    if (reset === undefined) continue;
    const wait = RESETS.map((end) => waitOf(headers.get(`${reset}${end}`), now)).find((one) => one !== undefined);
    // All limits that are used up must be reset.
    if (wait !== undefined) longest = Math.max(longest ?? 0, wait);
  }
  return longest;
}

/** How the name of the header with the reset begins, if this one says that nothing is left. */
function usedUp(name: string, value: string): string | undefined {
  if (/ratelimit.*-remaining/.test(name) && value === "0") return name.replace("-remaining", "-reset");
  // OpenAI's sign-in counts what is used of a plan.
  return /^x-codex-.*-used-percent$/.test(name) && Number(value) >= 100
    ? name.replace("-used-percent", "-reset")
    : undefined;
}

const RESETS = ["", "-after", "-at", "-after-seconds"];

/** Seconds, a moment in Unix time, a duration ("6m0s"), a date. */
function waitOf(given: string | null, now: number): number | undefined {
  // Two proxies may each have added it; in a date the comma follows a word.
  const value = given?.trim().replace(/^([\d.]+\w*), .*$/, "$1");
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) {
    const amount = Number(value);
    return amount > 1e9 ? Math.max(0, (amount > 1e11 ? amount : amount * 1000) - now) : amount * 1000;
  }
  if (/^[\d.]+[a-z]/.test(value)) return parseDuration(value);
  // A date has letters: Date.parse would take "-5" or "12,5" for a year.
  const date = /^[a-z]{3}/i.test(value) || /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/**
 * A wait named in a sentence: "try again in 7m12s", "retry after 10 seconds", "Please wait 3600 seconds before
 * retrying", "retry in about 5 minutes", "Try again in 04:12:30", "10 秒后重试", "resets at 2026-12-01 00:00 UTC".
 */
export function waitInWords(text: string): number | undefined {
  const { sentence, clock, chinese, moment } = waitPattern();
  const [, day, time, zone] = moment.exec(text) ?? [];
  if (day !== undefined) {
    const offset = /^[+-]/.test(zone!) ? zone!.replace(/(\d\d):?(\d\d)/, "$1:$2") : "Z";
    return waitUntil(Date.parse(`${day}T${time}${offset}`), Date.now());
  }
  const [, hours, minutes, seconds] = clock.exec(text) ?? [];
  if (hours !== undefined) return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  const [, amount, unit] = chinese.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * ({ 秒: 1_000, 分: 60_000 }[unit ?? ""] ?? 3_600_000);
  const named = sentence.exec(text)?.[1];
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
  const opening = String.raw`(?:again|retry(?:ing|[-_]after)?|retry your request|wait|available|allowed|lifted|resets?|replenished|cooldown|blocked)[\s:=]+(?:(?:in|after|for)\s+)?`;
  return {
    sentence: new RegExp(
      String.raw`${opening}(?:about\s+|at least\s+|~\s*)?(${one}(?:(?:,|\s|and)*${one})*|\d+(?=\.?\s*$|\.\s))`,
      "i",
    ),
    clock: new RegExp(String.raw`${opening}(\d+):(\d\d):(\d\d)`, "i"),
    // Without a zone it could be the time of anywhere.
    moment:
      /(?:again|retry|wait|until|resets?|access|available|allowed|lifted|replenished)\s+(?:(?:at|on|after|until)\s+)?(\d{4}-\d\d-\d\d)(?:T|\s+(?:at\s+)?)(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)/i,
    chinese: /(\d+)\s*(秒|分|小时|个小时)钟?[之以]?后/,
    unit: new RegExp(String.raw`(\d+(?:\.\d+)?)\s*(${unit})`, "gi"),
  };
});

/**
 * The wait before attempt `attempt` (1 = the first retry): doubled each time, at most `MAX_WAIT_MS`, spread by up to a
 * quarter so that many clients do not return at once.
 */
export function backoffMs(attempt: number, firstMs: number, random: () => number): number {
  const full = Math.min(MAX_WAIT_MS, firstMs * 2 ** (attempt - 1));
  return Math.round(full * (1 - random() / 4));
}

/** In whole milliseconds: what the server asked for and a little more, or the backoff. */
export function waitBefore(attempt: number, askedMs: number | undefined, firstMs: number): number {
  return askedMs === undefined ? backoffMs(attempt, firstMs, Math.random) : Math.round(askedMs + Math.random() * 250);
}
