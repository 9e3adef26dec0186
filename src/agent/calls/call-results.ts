/**
 * Results of calls: those that come from no tool (cancelled, refused, cut to their budget), and secrets kept out of all
 * of them.
 */

import { isTimeout } from "../../lib/waiting.ts";
import { boundText } from "../../tools/bound-output.ts";
import type { ToolResult, Tool } from "../../tools/tool.ts";
import { mapTexts } from "../../lib/values.ts";
import type { OutputKind } from "../../policy/privacy/output-kind.ts";
import type { HeldText } from "../../lib/secrets/redact.ts";
import type { Privacy } from "../../policy/privacy/privacy.ts";

/** The operator stopped it, or its time ran out. */
export function cancelled(signal: AbortSignal): ToolResult {
  return isTimeout(signal.reason)
    ? {
        ok: false,
        outcome: "timeout",
        result: "operation stopped: the task ran out of time",
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

/** For tools that do not keep to their budget themselves. */
export function bounded(result: ToolResult, budget: number): ToolResult {
  const room = budget + NOTICE_ROOM;
  const text = typeof result.result === "string" ? result.result : (JSON.stringify(result.result) ?? "");
  if (text.length <= (typeof result.result === "string" ? room : 2 * room)) return result;
  return { ...result, result: boundText(text, budget, () => "narrow the request") };
}

export function refusedWithoutRecord(why: string): ToolResult {
  return {
    ok: false,
    outcome: "denied",
    result: `Not allowed: ${why}, and [audit] required = true allows no change without it. Continue with read-only work.`,
    display: `Not allowed: ${why}`,
  };
}

const NOTICE_ROOM = 2_000;
/** By then a command on the target is stopped; a tool that hangs must not keep the operator waiting. */
const CANCEL_GRACE_MS = 5_000;

// Secrets of one tool call: in its output, and their names in its arguments.

/** The output of one call on its way to the model and the screen, without secrets. */
export class CallOutput {
  readonly #privacy: Privacy;
  readonly #from: string;
  readonly #streams = new Map<Stream, HeldText>();
  #output: OutputKind = "ordinary";

  constructor(privacy: Privacy, from: string) {
    this.#privacy = privacy;
    this.#from = from;
  }

  /** What the call is about to print. */
  expect(output: OutputKind): void {
    this.#output = output;
    this.#privacy.storing = output;
  }

  /** What the call is about to show was printed earlier. */
  looksAt(output: OutputKind): void {
    this.#output = output;
  }

  mask(text: string, cut: { readonly start?: boolean; readonly end?: boolean } = {}): string {
    const { start = false, end = false } = cut;
    return this.#privacy.mask(text, { ...this.#context(), cutStart: start, cutEnd: end });
  }

  /** As it arrives; what may be the beginning of a secret waits for the next piece. */
  live(stream: Stream, text: string): string {
    if (!this.#privacy.enabled) return text;
    let filter = this.#streams.get(stream);
    if (filter === undefined) this.#streams.set(stream, (filter = this.#privacy.stream(this.#context())));
    return stream === "info" ? filter.push(text) + filter.end() : filter.push(text);
  }

  rest(): (readonly [Stream, string])[] {
    return [...this.#streams].map(([stream, filter]) => [stream, filter.end()] as const);
  }

  #context(): { from: string; output?: OutputKind } {
    return this.#output === "ordinary" ? { from: this.#from } : { from: this.#from, output: this.#output };
  }
}

/** The texts of a call in which names of secrets are replaced. */
export function secretTexts(tool: Tool, input: unknown): string[] {
  const { secretFields = [] } = tool;
  if (secretFields === "all") {
    const texts: string[] = [];
    mapTexts(input, (text) => (texts.push(text), text));
    return texts;
  }
  const given = input as Readonly<Record<string, unknown>>;
  return secretFields.map((field) => given[field]).filter((text) => typeof text === "string");
}

export function withValues(tool: Tool, input: unknown, reveal: (text: string) => string): unknown {
  const { secretFields = [] } = tool;
  if (secretFields === "all") return mapTexts(input, reveal);
  const given = input as Readonly<Record<string, unknown>>;
  const changed = secretFields.flatMap((field) => {
    const text = given[field];
    if (typeof text !== "string") return [];
    const real = reveal(text);
    return real === text ? [] : [[field, real] as const];
  });
  return changed.length === 0 ? input : { ...given, ...Object.fromEntries(changed) };
}

export function unknownSecrets(names: readonly string[]): ToolResult {
  return {
    ok: false,
    outcome: "invalid",
    result: `error: ${names.join(", ")} has no value in this session. Only names like ‹secret-1: …› that you were given can be used; read the source again to get one.`,
  };
}

export type Stream = "stdout" | "stderr" | "info";
