/** The first and last lines of what a tool prints, however much that is. */
export class OutputPreview {
  readonly #keep: number;
  #head: string[] = [];
  #tail: string[] = [];
  #partial = "";
  #lines = 0;

  constructor(keep: number) {
    this.#keep = keep;
  }

  /** Text that is safe to show; lines may be cut anywhere. */
  push(text: string): void {
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      this.#line(this.#partial + text.slice(from, Math.min(end, from + LINE)));
      this.#partial = "";
      from = end + 1;
    }
    if (this.#partial.length < LINE) this.#partial += text.slice(from, from + LINE);
  }

  get lines(): number {
    return this.#lines + (this.#partial === "" ? 0 : 1);
  }

  /** The newest lines, oldest first. */
  last(count: number): string[] {
    const all = this.#partial === "" ? this.#tail : [...this.#tail, this.#partial];
    return count <= 0 ? [] : all.slice(-count);
  }

  /** Head or tail of at most `count` lines, and how many are left out. */
  clipped(count: number, end: "head" | "tail"): { lines: string[]; more: number } {
    const total = this.lines;
    // One line left out would take a line to say so.
    const room = total <= count + 1 ? total : count;
    const lines =
      end === "tail" || total <= this.#keep ? this.last(Math.min(room, this.#keep)) : this.#head.slice(0, room);
    return { lines, more: total - lines.length };
  }

  #line(line: string): void {
    this.#lines++;
    const text = line.slice(0, LINE);
    if (this.#head.length < this.#keep) this.#head.push(text);
    this.#tail.push(text);
    if (this.#tail.length > this.#keep) this.#tail.shift();
  }
}

/** Characters kept of a line: wider than any terminal. */
const LINE = 1000;
