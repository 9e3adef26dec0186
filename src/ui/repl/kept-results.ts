/** Results of calls that /output can show by number. */
import type { AgentEvent, ToolFinishedEvent } from "../../agent/events.ts";
import type { KeptResult } from "../commands/slash-commands.ts";
import { resultText } from "../transcript/tool-view.ts";

export class KeptResults {
  readonly #kept: KeptResult[] = [];
  /** Of the calls of the running task. */
  readonly #titles = new Map<string, string>();
  #count = 0;

  follow(event: AgentEvent): void {
    if (event.type === "tool_started") this.#titles.set(event.call, event.title);
    if (event.type === "approval_answered" && event.edited !== undefined) this.#titles.set(event.call, event.edited);
  }

  /** The command that shows it. */
  keep(event: ToolFinishedEvent): string {
    const number = ++this.#count;
    const outputId = event.output_id;
    this.#kept.push({
      number,
      title: this.#titles.get(event.call) ?? event.tool,
      ...(outputId === undefined ? {} : { outputId }),
      text: resultText(event),
    });
    if (this.#kept.length > MOST) this.#kept.shift();
    return `/output ${outputId ?? number}`;
  }

  /** The last one, without a number. */
  find(number?: number): KeptResult | undefined {
    return number === undefined ? this.#kept.at(-1) : this.#kept.find((other) => other.number === number);
  }

  taskEnded(): void {
    this.#titles.clear();
  }
}

const MOST = 50;
