/**
 * Passes the output of each pane of a session, and what happens to pane and connection, on to the one who follows it.
 */
import type { PaneRow } from "./session-info.ts";

export interface PaneSink {
  output(bytes: Buffer): void;
  /** The connection is gone; `reconnected` or `gone` follows. */
  dropped(why: string): void;
  reconnected(): void;
  /** The pane no longer exists, or cannot be reached again. */
  gone(why: string): void;
  /** tmux dropped output. */
  paused(): void;
  resized(width: number): void;
}

export class PaneFollowers {
  readonly #sinks = new Map<string, PaneSink>();
  /** Output of panes without a follower yet: a new pane prints before its id is known. */
  readonly #early = new Map<string, { readonly parts: Buffer[]; bytes: number }>();

  get none(): boolean {
    return this.#sinks.size === 0;
  }

  follow(pane: string, sink: PaneSink): () => void {
    this.#sinks.set(pane, sink);
    const early = this.#early.get(pane)?.parts ?? [];
    this.#early.delete(pane);
    for (const bytes of early) sink.output(bytes);
    return () => {
      if (this.#sinks.get(pane) === sink) this.#sinks.delete(pane);
    };
  }

  output(pane: string, bytes: Buffer): void {
    const sink = this.#sinks.get(pane);
    if (sink !== undefined) return sink.output(bytes);
    const early = this.#early.get(pane) ?? { parts: [], bytes: 0 };
    this.#early.set(pane, early);
    const oldest = this.#early.keys().next().value;
    if (this.#early.size > EARLY_PANES && oldest !== undefined) this.#early.delete(oldest);
    if (early.bytes >= EARLY_BYTES) return;
    early.bytes += bytes.length + PART_BYTES;
    early.parts.push(bytes);
  }

  /** It belongs to another session, or to another buddy that used this one. */
  forgetEarly(): void {
    this.#early.clear();
  }

  paused(pane: string): void {
    this.#sinks.get(pane)?.paused();
  }

  /** All existing panes: a pane that is not listed is gone. */
  listed(rows: readonly PaneRow[]): void {
    const existing = new Map(rows.filter((row) => !row.dead).map((row) => [row.id, row]));
    for (const [pane, sink] of this.#sinks) {
      const row = existing.get(pane);
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
/** What a part takes in memory beside its bytes. */
const PART_BYTES = 128;
const EARLY_PANES = 8;
