/** A stretch of the model's reasoning, wrapped into rows as it arrives. */
import { TerminalText } from "../../policy/terminal-text.ts";

export class Thought {
  readonly since = Date.now();
  /** Its first rows, to be shown later when they are folded now. */
  readonly kept: string[] = [];
  /** Some of it is on the screen. */
  shown = false;
  readonly #width: () => number;
  readonly #text = new TerminalText();
  #partial = "";

  constructor(width: () => number) {
    this.#width = width;
  }

  /** The rows that are finished now. */
  push(delta: string): string[] {
    const lines = (this.#partial + this.#text.push(delta)).split("\n");
    let partial = lines.pop()!;
    while (partial.length > LONGEST_LINE) {
      const blank = partial.lastIndexOf(" ", LONGEST_LINE);
      const end = blank > 0 ? blank : LONGEST_LINE;
      lines.push(partial.slice(0, end));
      partial = partial.slice(end).trimStart();
    }
    this.#partial = partial;
    return this.#keep(lines);
  }

  end(): string[] {
    const rest = this.#partial + this.#text.end();
    this.#partial = "";
    return rest === "" ? [] : this.#keep([rest]);
  }

  /** Rows that still change. */
  tail(): string[] {
    return this.#partial === "" ? [] : this.#rows(this.#partial);
  }

  #keep(lines: readonly string[]): string[] {
    const rows = lines.flatMap((line) => this.#rows(line));
    if (this.kept.length < MOST_KEPT) this.kept.push(...rows);
    return rows;
  }

  #rows(line: string): string[] {
    return line === "" ? [""] : Bun.wrapAnsi(line, this.#width(), { hard: true }).split("\n");
  }
}

const MOST_KEPT = 2000;
/** A longer line is shown in parts. */
const LONGEST_LINE = 2000;
