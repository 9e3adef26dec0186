/**
 * Carries events from the work to whoever reads them; live output that is not read in time is joined and, past a
 * bound, counted instead of kept.
 */
import type { AgentEvent } from "./events.ts";

export class EventQueue {
  readonly #events: AgentEvent[] = [];
  #liveBytes = 0;
  #dropped = new Map<string, number>();
  #wake: (() => void) | undefined;
  #ended = false;

  push(event: AgentEvent): void {
    if (event.type === "tool_output" && !this.#room(event)) return;
    this.#events.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent, void> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) {
        if (event.type === "tool_output") this.#liveBytes -= event.text.length;
        yield this.#withDropped(event);
        continue;
      }
      if (this.#ended) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }

  /** True when the event must still be queued. */
  #room(event: AgentEvent & { type: "tool_output" }): boolean {
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

const MOST_JOINED = 64 * 1024;
const MOST_LIVE = 1024 * 1024;
