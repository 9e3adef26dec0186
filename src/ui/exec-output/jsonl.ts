/** `exec --json`: every event as one line of JSON, as it happens, without secrets. */
import { gathered, jsonPieces } from "../../lib/large-texts.ts";
import { mapTexts } from "../../lib/values.ts";
import { type AgentEvent, resultText } from "../../agent/events.ts";
import { HeldDeltas, type TextFilter } from "../../lib/secrets/redact.ts";
import { type Output, visibleJson } from "../../lib/output.ts";

export class JsonLines {
  readonly #out: Output;
  readonly #redact: (text: string) => string;

  readonly #held: HeldDeltas<AgentEvent>;
  #rested = -Infinity;

  /** `stream` makes the same filter for text that comes in pieces. */
  constructor(out: Output, redact: (text: string) => string, stream: () => TextFilter) {
    this.#out = out;
    this.#redact = redact;
    this.#held = new HeldDeltas(stream);
  }

  /**
   * Before `show`, for callers that take events from a queue: a short wait, after which the lines of machines that
   * answer at the same time follow together.
   */
  async aside(event: AgentEvent): Promise<void> {
    if (!isOfMany(event) || performance.now() - this.#rested < ASIDE_MS) return;
    await Bun.sleep(ASIDE_MS);
    this.#rested = performance.now();
  }

  async show(event: AgentEvent): Promise<void> {
    for (const item of this.#held.through(event)) {
      // The texts inside, not the line: a pattern that matched a quote would break the JSON.
      const json = jsonPieces(mapTexts(withOutput(item), this.#redact));
      for (const piece of gathered(json, ["\n"])) {
        const line = visibleJson(piece);
        await (isOfMany(item) ? this.#out.writeAmongMany(line) : this.#out.write(line));
      }
    }
  }
}

const ASIDE_MS = 10;

/** Machines of one call answer at the same moment: a write for each of them would take longer than they do. */
function isOfMany(event: AgentEvent): boolean {
  return event.type === "machine_finished" || (event.type === "tool_output" && event.machine !== undefined);
}

/** The result of a call as plain text, for `jq -r .output`; the session log does not need it twice. */
function withOutput(event: AgentEvent): AgentEvent {
  if (event.type !== "tool_finished") return event;
  return { ...event, output: resultText(event) };
}
