/** What --approve and /approve take: ask, all, none, or a duration that approves everything and then asks again. */
import { LONGEST_DURATION_MS, parseDuration } from "./durations.ts";

/** Undefined when the text is none of them. */
export function parseApproveMode(text: string): ApproveMode | undefined {
  if (text === "ask" || text === "all" || text === "none") return { kind: text };
  const ms = parseDuration(text);
  return ms === undefined || ms <= 0 || ms > LONGEST_DURATION_MS ? undefined : { kind: "duration", ms };
}

export type ApproveMode =
  { readonly kind: "ask" | "all" | "none" } | { readonly kind: "duration"; readonly ms: number };
