/** Text of the model that needs no Markdown, as rows while it arrives: its reasoning, and plain answers. */
import { TerminalText } from "../../policy/screen/terminal-text.ts";

/** A stretch of the model's reasoning. */
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

/** As it is, line by line: for `[display] markdown = false`. */
export class PlainStream {
  readonly #width: () => number;
  #partial = "";
  #lines: string[] = [];

  constructor(width: () => number) {
    this.#width = width;
  }

  push(text: string): void {
    const lines = (this.#partial + text).split("\n");
    this.#partial = lines.pop()!;
    this.#lines.push(...lines);
  }

  end(): void {
    if (this.#partial !== "") this.#lines.push(this.#partial);
    this.#partial = "";
  }

  take(): string[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }

  tail(): string[] {
    // Only the end can be seen; a line of a megabyte must not be wrapped for every frame.
    const end = this.#partial.slice(-SEEN);
    return end === "" ? [] : Bun.wrapAnsi(end, this.#width(), { hard: true, trim: false }).split("\n");
  }
}

const SEEN = 4000;
