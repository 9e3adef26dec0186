/**
 * Results of calls: those that come from no tool (cancelled, refused, cut to their budget), and secrets kept out of all
 * of them.
 */
import { shownName, withoutBytes } from "../../lib/byte-names.ts";
import { foldNames } from "../../lib/names.ts";
import type { HeldText } from "../../lib/secrets/redact.ts";
import { mapTexts } from "../../lib/values.ts";
import { isTimeout } from "../../lib/waiting.ts";
import type { ToolCall } from "../../model/types.ts";
import type { OutputKind } from "../../policy/privacy/listed-secrets.ts";
import type { Privacy } from "../../policy/privacy/privacy.ts";
import { boundText } from "../../tools/bound-output.ts";
import { type TargetFacts, type Tool, type ToolResult, withNote } from "../../tools/tool.ts";

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

// ── What the model must know in addition to a result: news, what changed on the target, the time, and that it
// repeats itself.

interface NoteSource {
  facts(): TargetFacts;
  /** What the operator wrote about the machine; undefined until it is known which one that is. */
  about?(): string | undefined;
}

export class ResultNotes {
  readonly #source: NoteSource;
  /** News that the model has not been sent yet, and the machines that they are about, if there are several. */
  readonly #news = new Map<string, Set<string>>();
  /** The last call with its outcome, and how many times in a row it was made. */
  #repeated = { signature: "", times: 0 };
  /** What the model knows about the target, and which of the operator's notes on the machine. */
  #facts: Pick<TargetFacts, "who" | "system" | "cwd" | "tmux"> | undefined;
  #about: string | undefined;
  /** The last time that was given with a result. */
  #stamped = 0;

  constructor(source: NoteSource) {
    this.#source = source;
  }

  /** Calls of the last turn do not count as repeated. */
  beginTurn(): void {
    this.#repeated = { signature: "", times: 0 };
  }

  /** Another session, whose model knows nothing yet. */
  forget(): void {
    this.#about = undefined;
    this.#stamped = 0;
  }

  /** The model keeps repeating one call. */
  get stuck(): boolean {
    return this.#repeated.times >= STUCK_CALLS;
  }

  /** What the system prompt says about the target; changes are added to results. */
  known(facts: TargetFacts): void {
    this.#facts = facts;
  }

  /** What the operator wrote about the machine, if the model does not know it yet: for the newest message. */
  newAbout(): string | undefined {
    const about = this.#source.about?.();
    if (about === this.#about) return undefined;
    this.#about = about;
    return about;
  }

  /** Something happened on the target: the model learns it with its next result. */
  addNews(news: string, machine?: string): void {
    const machines = this.#news.get(news) ?? new Set();
    if (this.#news.size < MOST_NEWS || this.#news.has(news)) this.#news.set(news, machines);
    if (machine !== undefined) machines.add(machine);
  }

  #newNews(): string[] {
    const news = [...this.#news].map(([text, on]) => (on.size === 0 ? text : `${foldNames([...on])}: ${text}`));
    this.#news.clear();
    return news;
  }

  /** What has changed, or is known now, about the target since the last result. */
  #changedFacts(): string[] {
    const before = this.#facts;
    const now = this.#source.facts();
    this.#facts = now;
    if (before === undefined) return [];
    const notes: string[] = [];
    // Of this machine, the system prompt has all of it.
    if (now.label !== "local" && now.who !== undefined && (now.who !== before.who || now.system !== before.system))
      notes.push(
        `target: ${[now.who, now.system, now.cwd && `directory ${shownName(now.cwd)}`].filter(Boolean).join(", ")}`,
      );
    else if (now.cwd !== undefined && now.cwd !== before.cwd) notes.push(`cwd: ${shownName(now.cwd)}`);
    if (now.tmux === false && before.tmux !== false) notes.push("no tmux: commands run in a persistent shell");
    return notes;
  }

  /** The time, at most once a minute. */
  newTime(): number | undefined {
    const now = Date.now();
    if (Math.abs(now - this.#stamped) < STAMP_EVERY_MS) return undefined;
    return (this.#stamped = now);
  }

  /** Adds the notes to a result. */
  add(outcome: ToolResult, call: ToolCall): ToolResult {
    let result = typeof outcome.result === "string" ? withoutBytes(outcome.result) : outcome.result;
    const text = textOf(result);
    const about = this.newAbout();
    for (const news of [...this.#newNews(), ...this.#changedFacts(), ...(about === undefined ? [] : [about])])
      if (!text.includes(news)) result = withNote(result, news);
    if (outcome.outcome === "cancelled" || outcome.outcome === "timeout") this.#repeated = { signature: "", times: 0 };
    else {
      const signature = [call.name, call.arguments, ...(outcome.ok ? [text] : [])].join("\n");
      const times = this.#repeated.signature === signature ? this.#repeated.times + 1 : 1;
      this.#repeated = { signature, times };
      if (times >= SAME_CALLS) {
        const what = outcome.ok ? `has now given the same result ${times} times` : `has now failed ${times} times`;
        result = withNote(
          result,
          `this same call ${what} in a row. Do not send it again: change your approach, or tell the operator what is blocking you`,
        );
      }
    }
    // What is added is for the model alone.
    return result === outcome.result ? outcome : { display: text, ...outcome, result };
  }
}

/** From here on the model is asked to stop repeating a call. */
const SAME_CALLS = 3;
/** From here on the turn ends. */
const STUCK_CALLS = 10;
const STAMP_EVERY_MS = 60_000;
const MOST_NEWS = 20;
