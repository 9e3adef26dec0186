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
  /** What the operator wrote about the machine, as far as it is known which one that is. */
  about?(): string | undefined;
}

export class ResultNotes {
  readonly #source: NoteSource;
  /** News from the target the model has not heard yet. */
  readonly #news: string[] = [];
  /** The last call with its outcome, and how often in a row it came. */
  #repeated = { signature: "", times: 0 };
  /** What the model knows about the target. */
  #facts: Pick<TargetFacts, "who" | "system" | "cwd" | "tmux"> | undefined;
  /** What the model has learnt about it. */
  #about: string | undefined;
  /** The newest time that a result gave. */
  #stamped = 0;

  constructor(source: NoteSource) {
    this.#source = source;
  }

  /** Another turn: a call of the last one counts as new. */
  beginTurn(): void {
    this.#repeated = { signature: "", times: 0 };
  }

  /** Another session, whose model has heard nothing yet. */
  forget(): void {
    this.#about = undefined;
    this.#stamped = 0;
  }

  /** The model repeats one call and gets nowhere. */
  get stuck(): boolean {
    return this.#repeated.times >= STUCK_CALLS;
  }

  /** The system prompt says this of the target; what changes is added to results. */
  known(facts: TargetFacts): void {
    this.#facts = facts;
  }

  /**
   * What the operator wrote about the machine, where the model has not heard it yet: it goes into the newest message.
   */
  newAbout(): string | undefined {
    const about = this.#source.about?.();
    if (about === this.#about) return undefined;
    this.#about = about;
    return about;
  }

  /** Something happened on the target that the model must know with its next result. */
  tell(news: string): void {
    if (this.#news.length < MOST_NEWS && !this.#news.includes(news)) this.#news.push(news);
  }

  /** What was learnt about the target, or changed there, since the model was last informed. */
  #changedFacts(): string[] {
    const before = this.#facts;
    const now = this.#source.facts();
    this.#facts = now;
    if (before === undefined) return [];
    const notes: string[] = [];
    // Of this machine the system prompt says it all.
    if (now.label !== "local" && now.who !== undefined && (now.who !== before.who || now.system !== before.system))
      notes.push(
        `target: ${[now.who, now.system, now.cwd && `directory ${shownName(now.cwd)}`].filter(Boolean).join(", ")}`,
      );
    else if (now.cwd !== undefined && now.cwd !== before.cwd) notes.push(`cwd: ${shownName(now.cwd)}`);
    if (now.tmux === false && before.tmux !== false) notes.push("no tmux: commands run in a persistent shell");
    return notes;
  }

  /** The time, where the model has not had one for a minute: repeated with each result it would say nothing. */
  newTime(): number | undefined {
    const now = Date.now();
    if (Math.abs(now - this.#stamped) < STAMP_EVERY_MS) return undefined;
    return (this.#stamped = now);
  }

  /** What the model must know in addition to the result itself. */
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
