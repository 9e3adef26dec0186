/** Who follows the panes of a session: each hears its output, and what becomes of pane and connection. */
import type { PaneRow } from "./session-look.ts";

export interface PaneSink {
  output(bytes: Buffer): void;
  /** The connection is gone; `reconnected` or `gone` follows. */
  dropped(why: string): void;
  reconnected(): void;
  /** The pane does not exist any more, or cannot be reached again. */
  gone(why: string): void;
  /** tmux left output out. */
  paused(): void;
  resized(width: number): void;
}

export class PaneFollowers {
  readonly #sinks = new Map<string, PaneSink>();
  /** Output of panes without a follower yet: a new pane speaks before its number is known. */
  readonly #early = new Map<string, Buffer[]>();

  get none(): boolean {
    return this.#sinks.size === 0;
  }

  follow(pane: string, sink: PaneSink): () => void {
    this.#sinks.set(pane, sink);
    const early = this.#early.get(pane) ?? [];
    this.#early.delete(pane);
    for (const bytes of early) sink.output(bytes);
    return () => {
      if (this.#sinks.get(pane) === sink) this.#sinks.delete(pane);
    };
  }

  output(pane: string, bytes: Buffer): void {
    const sink = this.#sinks.get(pane);
    if (sink !== undefined) return sink.output(bytes);
    const early = this.#early.get(pane) ?? [];
    this.#early.set(pane, early);
    const oldest = this.#early.keys().next().value;
    if (this.#early.size > EARLY_PANES && oldest !== undefined) this.#early.delete(oldest);
    if (early.reduce((sum, one) => sum + one.length, 0) < EARLY_BYTES) early.push(bytes);
  }

  /** Of another session, or of another buddy that had this one. */
  forgetEarly(): void {
    this.#early.clear();
  }

  paused(pane: string): void {
    this.#sinks.get(pane)?.paused();
  }

  /** All panes that there are: what is missing is gone. */
  listed(rows: readonly PaneRow[]): void {
    const there = new Map(rows.filter((row) => !row.dead).map((row) => [row.id, row]));
    for (const [pane, sink] of this.#sinks) {
      const row = there.get(pane);
      if (row === undefined) this.lost(pane);
      else sink.resized(row.width);
    }
  }

  lost(pane: string): void {
    const sink = this.#sinks.get(pane);
    this.#sinks.delete(pane);
    sink?.gone("its pane was closed");
  }

  dropped(why: string): void {
    for (const sink of this.#sinks.values()) sink.dropped(why);
  }

  reconnected(): void {
    for (const sink of this.#sinks.values()) sink.reconnected();
  }

  endAll(why: string): void {
    const sinks = [...this.#sinks.values()];
    this.#sinks.clear();
    for (const sink of sinks) sink.gone(why);
  }
}

const EARLY_BYTES = 256 * 1024;
const EARLY_PANES = 8;
