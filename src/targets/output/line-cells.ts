/** One line of a terminal with a cursor: writing, erasing and moving by columns, with wide characters. */
import { clusterWidth, graphemes } from "../../lib/text.ts";

export class LineCells {
  /** Until the cursor moves, the line is just text: the common case needs no cells. */
  #text = "";
  /** One entry per column; the second column of a wide character is "". */
  #cells: string[] | undefined;
  #column = 0;

  static of(text: string): LineCells {
    const line = new LineCells();
    line.#text = text;
    return line;
  }

  get empty(): boolean {
    return this.#cells === undefined ? this.#text === "" : this.#cells.length === 0;
  }

  /** The cursor has not left the end of the line. */
  get plain(): boolean {
    return this.#cells === undefined;
  }

  get width(): number {
    return this.#spread().length;
  }

  get column(): number {
    return this.#cells === undefined ? this.#spread().length : this.#column;
  }

  /** `gap` fills empty cells. */
  text(gap = " "): string {
    return this.#cells === undefined ? this.#text : this.#cells.map((cell) => (cell === GAP ? gap : cell)).join("");
  }

  put(text: string): void {
    if (this.#cells === undefined) {
      this.#text += text;
      return;
    }
    for (const char of graphemes(text)) {
      const width = char === "\t" ? TAB - (this.#column % TAB) : clusterWidth(char);
      if (width === 0) {
        const before = this.#column - 1;
        if (before >= 0) this.#cells[before] = (this.#cells[before] ?? "") + char;
        continue;
      }
      this.#fill(this.#column);
      if (char === "\t") this.#tab(width);
      else {
        this.#breakWide(this.#column);
        this.#breakWide(this.#column + width);
        this.#cells[this.#column] = char;
        for (let more = 1; more < width; more++) this.#cells[this.#column + more] = "";
      }
      this.#column += width;
    }
  }

  /** The rest of the row stays without text: a wide character did not fit, and is in the next one. */
  fillUp(width: number): void {
    const cells = this.#spread();
    while (cells.length < width) cells.push("");
  }

  /** No farther than any terminal is wide, or the line is long. */
  to(column: number): void {
    this.#column = Math.max(0, Math.min(column, Math.max(MOST_COLUMNS, this.#spread().length)));
  }

  right(count: number): void {
    this.to(this.column + count);
  }

  /** 0: to the end, 1: to the cursor, 2: all. */
  erase(what: number): void {
    const cells = this.#spread();
    if (what === 0) {
      this.#breakWide(this.#column);
      cells.length = Math.min(cells.length, this.#column);
    } else if (what === 1) this.#blankFrom(0, this.#column + 1);
    else cells.length = 0;
  }

  remove(count: number): void {
    this.#spread().splice(this.#column, count);
  }

  insert(count: number): void {
    this.#spread().splice(this.#column, 0, ...Array.from({ length: count }, () => " "));
  }

  blank(count: number): void {
    this.#spread();
    this.#blankFrom(this.#column, this.#column + count);
  }

  #blankFrom(from: number, to: number): void {
    const cells = this.#spread();
    this.#breakWide(from);
    this.#breakWide(to);
    for (let at = from; at < Math.min(to, cells.length); at++) cells[at] = GAP;
  }

  /** A tab over existing text only moves; at the end of the line it is kept as a tab. */
  #tab(width: number): void {
    const cells = this.#spread();
    if (this.#column < cells.length) return;
    cells[this.#column] = "\t";
    for (let more = 1; more < width; more++) cells[this.#column + more] = "";
  }

  #fill(column: number): void {
    const cells = this.#spread();
    while (cells.length < column) cells.push(GAP);
  }

  /** Overwriting half of a wide character or tab leaves blanks. */
  #breakWide(at: number): void {
    const cells = this.#spread();
    if (at >= cells.length || cells[at] !== "") return;
    let start = at;
    while (start > 0 && cells[start] === "") start--;
    cells[start] = GAP;
    for (let next = start + 1; next < cells.length && cells[next] === ""; next++) cells[next] = GAP;
  }

  #spread(): string[] {
    if (this.#cells === undefined) {
      this.#cells = [];
      this.#column = 0;
      const text = this.#text;
      this.#text = "";
      this.put(text);
    }
    return this.#cells;
  }
}

const TAB = 8;
const MOST_COLUMNS = 1000;
const GAP = "\0";
