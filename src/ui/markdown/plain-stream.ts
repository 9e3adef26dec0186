/** Text shown as it is, line by line: for `[display] markdown = false`. */
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
