/** Events on their way from a turn to a reader, bounded. */
import type { AgentEvent } from "./events.ts";

/**
 * Carries events from a turn to its reader. Live output that is not read in time is joined and, beyond a limit, counted
 * instead of kept; the model's text waits for room.
 */
export class EventQueue {
  readonly #events: AgentEvent[] = [];
  #liveBytes = 0;
  #textLength = 0;
  #dropped = new Map<string, number>();
  #wake: (() => void) | undefined;
  #roomMade: (() => void) | undefined;
  #ended = false;

  push(event: AgentEvent): void {
    if (event.type === "tool_output" && !this.#mustQueue(event)) return;
    this.#textLength += textLength(event);
    this.#events.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Resolves when more of an answer may be read; undefined: at once. */
  room(signal: AbortSignal): Promise<void> | undefined {
    if (this.#textLength < MOST_LIVE || signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const leave = () => resolve();
    this.#roomMade = leave;
    signal.addEventListener("abort", leave);
    return promise.finally(() => signal.removeEventListener("abort", leave));
  }

  get length(): number {
    return this.#events.length;
  }

  /** The next event; undefined: none waits. */
  take(): AgentEvent | undefined {
    const event = this.#events.shift();
    if (event === undefined) return undefined;
    if (event.type === "tool_output") this.#liveBytes -= event.text.length;
    this.#textLength -= textLength(event);
    if (this.#textLength < MOST_LIVE / 2) this.#roomMade?.();
    return this.#withDropped(event);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent, void> {
    for (;;) {
      const event = this.take();
      if (event !== undefined) {
        yield event;
        continue;
      }
      if (this.#ended) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
    }
  }

  /** True when the event must still be queued. */
  #mustQueue(event: AgentEvent & { type: "tool_output" }): boolean {
    if (this.#liveBytes + event.text.length > MOST_LIVE) {
      this.#dropped.set(event.call, (this.#dropped.get(event.call) ?? 0) + event.text.length);
      return false;
    }
    this.#liveBytes += event.text.length;
    const last = this.#events.at(-1);
    if (last?.type !== "tool_output" || last.call !== event.call || last.stream !== event.stream) return true;
    if (last.machine !== event.machine) return true;
    if (last.text.length + event.text.length > MOST_JOINED) return true;
    this.#events[this.#events.length - 1] = { ...last, text: last.text + event.text };
    return false;
  }

  #withDropped(event: AgentEvent): AgentEvent {
    if (event.type !== "tool_output") return event;
    const dropped = this.#dropped.get(event.call);
    if (dropped === undefined || this.#liveBytes > 0) return event;
    this.#dropped.delete(event.call);
    return { ...event, text: `${event.text}\n[${dropped} characters not shown live]\n` };
  }
}

function textLength(event: AgentEvent): number {
  return event.type === "text" || event.type === "reasoning" ? event.delta.length : 0;
}

const MOST_JOINED = 32 * 1024;
const MOST_LIVE = 128 * 1024;
