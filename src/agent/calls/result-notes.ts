/**
 * What the model must know in addition to a result: news, what changed on the target, the time, and that it repeats
 * itself.
 */
import { shownName, withoutBytes } from "../../lib/byte-names.ts";
import type { ToolCall } from "../../model/types.ts";
import { type TargetFacts, type ToolResult, withNote } from "../../tools/tool.ts";
import { textOf } from "./call-results.ts";

interface NoteSource {
  facts(): TargetFacts;
  /** What the operator wrote about the machine; undefined until it is known which one that is. */
  about?(): string | undefined;
}

export class ResultNotes {
  readonly #source: NoteSource;
  /** News from the target that the model has not been sent yet. */
  readonly #news: string[] = [];
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
  addNews(news: string): void {
    if (this.#news.length < MOST_NEWS && !this.#news.includes(news)) this.#news.push(news);
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
    for (const news of [...this.#news.splice(0), ...this.#changedFacts(), ...(about === undefined ? [] : [about])])
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
