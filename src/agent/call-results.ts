/** Results that the calls themselves do not give: cancelled, refused, cut to their budget; and errors in words. */
import { BuddyError } from "../lib/errors.ts";
import { isTimeout } from "../lib/waiting.ts";
import { boundText } from "../tools/bound-output.ts";
import type { ToolResult } from "../tools/tool.ts";

/** The operator stopped it, or its time was over. */
export function cancelled(signal: AbortSignal): ToolResult {
  return isTimeout(signal.reason)
    ? {
        ok: false,
        outcome: "timeout",
        result: "operation stopped: the time given for the task is over",
        display: "out of time",
      }
    : { ok: false, outcome: "cancelled", result: "operation cancelled by user", display: "stopped" };
}

export function textOf(result: unknown): string {
  return typeof result === "string" ? result : (JSON.stringify(result, undefined, 2) ?? "");
}

/** Resolves once the tool has ended, or shortly after cancellation even if the tool does not. */
export async function orCancelled(work: Promise<ToolResult>, signal: AbortSignal): Promise<ToolResult> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onAbort: (() => void) | undefined;
  const gaveUp = new Promise<ToolResult>((resolve) => {
    onAbort = () => (timer = setTimeout(() => resolve(cancelled(signal)), CANCEL_GRACE_MS));
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
export function within(result: ToolResult, budget: number): ToolResult {
  const room = budget + NOTICE_ROOM;
  const text = typeof result.result === "string" ? result.result : (JSON.stringify(result.result) ?? "");
  if (text.length <= (typeof result.result === "string" ? room : 2 * room)) return result;
  return { ...result, result: boundText(text, budget, () => "ask for less at once") };
}

export function refusedWithoutRecord(why: string): ToolResult {
  return {
    ok: false,
    outcome: "denied",
    result: `Not allowed: ${why}, and [audit] required = true allows no change without it. Continue with read-only work.`,
    display: `Not allowed: ${why}`,
  };
}

export function inWords(error: unknown): string {
  if (error instanceof BuddyError) {
    const { message, hint } = error;
    if (hint === undefined) return message;
    // The words of a program end a message as they are.
    if (message.includes("\n")) return `${message}\n${hint}`;
    return `${message}${/[.!?]$/.test(message) ? "" : "."} ${hint}`;
  }
  return error instanceof Error ? error.message : String(error);
}

const NOTICE_ROOM = 2_000;
/** A command on the target is stopped by then; a tool that hangs does not hold the operator. */
const CANCEL_GRACE_MS = 5_000;
