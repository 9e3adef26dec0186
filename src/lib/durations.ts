/** Times and durations as people write them, and the value of --approve, which may be one. */

/** "90s", "10m", "1h30m", "500ms"; a bare number is seconds. */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return finite(Number(trimmed) * UNITS.s);
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$/.test(trimmed)) return undefined;
  let total = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/g)) {
    total += Number(amount) * UNITS[unit as keyof typeof UNITS];
  }
  return finite(total);
}

/** 120000 → "2m", 90500 → "1m30s", 800 → "800ms". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  let seconds = Math.round(ms / 1000);
  let text = "";
  for (const unit of "dhms" as Iterable<"d" | "h" | "m" | "s">) {
    const size = UNITS[unit] / 1000;
    const amount = Math.floor(seconds / size);
    if (amount > 0) text += `${amount}${unit}`;
    seconds -= amount * size;
  }
  return text;
}

/** "2026-11-17 09:05:03", in the time zone of this machine. */
export function localTime(time: Date): string {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace("T", " ");
}

/** What a duration looks like, for messages. */
export const DURATION_FORMAT = "a duration such as 500ms, 10s, 5m, 2h or 1d";

/** The runtime's timers hold 31 bits of milliseconds, about 24.8 days; a longer one would fire at once. */
export const LONGEST_DURATION_MS = 2_147_483_647;

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function finite(ms: number): number | undefined {
  return Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : undefined;
}

/** The value of --approve and /approve: ask, all, none, or how long to approve everything; undefined if invalid. */
export function parseApproveMode(text: string): ApproveMode | undefined {
  if (text === "ask" || text === "all" || text === "none") return { kind: text };
  const ms = parseDuration(text);
  return ms === undefined || ms <= 0 || ms > LONGEST_DURATION_MS ? undefined : { kind: "duration", ms };
}

export type ApproveMode =
  { readonly kind: "ask" | "all" | "none" } | { readonly kind: "duration"; readonly ms: number };
