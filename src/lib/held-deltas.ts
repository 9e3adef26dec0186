/**
 * Passes streamed text through a filter that may hold back its end, and lets go of it before anything that must come
 * after.
 */

export interface TextFilter {
  push(delta: string): string;
  end(): string;
}

interface Streamed {
  readonly type: string;
}

/** Events in, events out: text and reasoning deltas filtered, everything else as it is. */
export class HeldDeltas<E extends Streamed> {
  readonly #filter: () => TextFilter | undefined;
  #open: { readonly filter: TextFilter; last: E & { delta: string } } | undefined;

  constructor(filter: () => TextFilter | undefined) {
    this.#filter = filter;
  }

  through(event: E): E[] {
    if (event.type === "discard") this.#open = undefined;
    if (!isDelta(event)) return ENDS.has(event.type) ? [...this.#rest(), event] : [event];
    const before = this.#open?.last.type === event.type ? [] : this.#rest();
    if (this.#open === undefined) {
      const filter = this.#filter();
      if (filter === undefined) return [...before, event];
      this.#open = { filter, last: event };
    }
    this.#open.last = event;
    const delta = this.#open.filter.push(event.delta);
    return delta === "" ? before : [...before, { ...event, delta }];
  }

  #rest(): E[] {
    if (this.#open === undefined) return [];
    const { filter, last } = this.#open;
    this.#open = undefined;
    const delta = filter.end();
    return delta === "" ? [] : [{ ...last, delta }];
  }
}

/** After these no more of the same text comes. News of the target may come in its middle. */
const ENDS = new Set(["message", "tool_started", "retry", "turn", "error", "done"]);

function isDelta<E extends Streamed>(event: E): event is E & { delta: string } {
  return event.type === "text" || event.type === "reasoning";
}
