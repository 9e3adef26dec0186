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
    return this.#partial === ""
      ? []
      : Bun.wrapAnsi(this.#partial, this.#width(), { hard: true, trim: false }).split("\n");
  }
}
