/** `exec --json`: every event as one line of JSON, as it happens, without secrets. */
import { mapTexts } from "../../lib/values.ts";
import type { AgentEvent } from "../../agent/events.ts";
import { HeldDeltas, type TextFilter } from "../../lib/held-deltas.ts";
import type { Output } from "../../lib/output.ts";

export class JsonLines {
  readonly #out: Output;
  readonly #redact: (text: string) => string;

  readonly #held: HeldDeltas<AgentEvent>;

  /** `stream` makes the same filter for text that comes in pieces. */
  constructor(out: Output, redact: (text: string) => string, stream: () => TextFilter) {
    this.#out = out;
    this.#redact = redact;
    this.#held = new HeldDeltas(stream);
  }

  async show(event: AgentEvent): Promise<void> {
    for (const item of this.#held.through(event))
      await this.#out.write(`${JSON.stringify(mapTexts(item, this.#redact))}\n`);
  }
}

/** Redacts the texts inside, not the line: a pattern that swallowed a quote would make it no JSON. */
