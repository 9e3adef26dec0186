/** Turns the bytes that a program writes to a terminal into the text that a person would read on it. */
import { graphemes } from "../../lib/text.ts";
import { LineCells } from "./line-cells.ts";

/** Lines that can still change: a terminal cannot move its cursor above the top of the screen. */
const ROWS = 50;
const FLUSH_AT = 32 * 1024;
/** Text that cannot just be appended: control characters other than newline, tab and the CR of CRLF. */
// oxlint-disable-next-line no-control-regex
const SPECIAL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/;
// oxlint-disable-next-line no-control-regex
const PLAIN_RUN = /[^\0-\x08\x0a-\x1f\x7f-\x9f]+/y;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;
/** A longer escape sequence is treated as garbage. */
const MAX_SEQUENCE = 64 * 1024;

export class ScreenText {
  readonly #commit: (text: string) => void;
  readonly #gap: string;
  readonly #width: number | undefined;
  #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Plain mode: text whose last ROWS lines can still change. */
  #plain = "";
  /** Screen mode, entered when the cursor leaves the last line: the lines that can still change. */
  #screen: LineCells[] | undefined;
  #row = 0;
  #line = new LineCells();
  /** The alternate screen, while a full-screen program runs. */
  #alternate: ScreenText | undefined;
  #carry = "";
  #graphics = false;
  #savedColumn = 0;
  #asked = false;
  #binary = false;

  /**
   * `commit` gets text that no later output can change; `gap` fills cells that the cursor skipped. With `width`, lines
   * wrap as on the terminal: a full row and the next one are one line.
   */
  constructor(commit: (text: string) => void, gap = " ", width?: number) {
    this.#commit = commit;
    this.#gap = gap;
    this.#width = width;
  }

  get fullScreen(): boolean {
    return this.#alternate !== undefined;
  }

  /** Column of the cursor in its line, which may have several rows. */
  get column(): number {
    let column = this.#current().column;
    for (let row = this.#row - 1; this.#continues(row); row--) column += this.#width ?? 0;
    return column;
  }

  /** A program sent the terminal a query; it may not have read the reply. */
  get asked(): boolean {
    return this.#asked || this.#alternate?.asked === true;
  }

  /** A part of it is binary: there, control characters and sequences have no effect. */
  get binary(): boolean {
    return this.#binary;
  }

  write(bytes: Uint8Array): void {
    this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** After missing bytes: drops a sequence that they cut, and switches to the screen that is shown now. */
  resync(alternate: boolean): void {
    this.#decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    this.#carry = "";
    this.#graphics = false;
    if (alternate !== this.fullScreen) this.#take(alternate ? "\u001b[?1049h" : "\u001b[?1049l");
  }

  /** Text not yet committed, as it is now. */
  pending(): string {
    const main = this.#plain + this.#lines();
    return this.#alternate === undefined ? main : main + this.#alternate.pending();
  }

  /** Commits the rest. */
  end(): void {
    const rest = this.pending();
    this.#plain = "";
    this.#screen = undefined;
    this.#line = new LineCells();
    this.#alternate = undefined;
    this.#carry = "";
    if (rest !== "") this.#commit(rest);
  }

  #take(chunk: string): void {
    let text = this.#carry === "" ? chunk : this.#carry + chunk;
    this.#carry = "";
    if (text === "") return;
    if (text.endsWith("\r")) {
      this.#carry = "\r";
      text = text.slice(0, -1);
    }
    if (this.#screen === undefined && this.#line.plain && !this.#line.empty) {
      this.#plain += this.#line.text(this.#gap);
      this.#line = new LineCells();
    }
    const simple =
      this.#screen === undefined &&
      this.#alternate === undefined &&
      this.#line.empty &&
      !this.#graphics &&
      this.#width === undefined;
    if (simple && !SPECIAL.test(text)) this.#plain += text.includes("\r") ? text.replaceAll("\r\n", "\n") : text;
    else if (this.#alternate === undefined && isBinary(text)) this.#takeBinary(text);
    else this.#interpret(text);
    if (this.#plain.length > FLUSH_AT) this.#flush();
  }

  #takeBinary(text: string): void {
    this.#binary = true;
    // A terminal may have taken some of it for a query.
    this.#asked ||= text.includes("\u001b");
    this.#plain += this.#lines() + text.replace(CONTROLS, "");
    this.#line = new LineCells();
    this.#screen = undefined;
  }

  #flush(): void {
    let at = this.#plain.length;
    for (let left = ROWS; left > 0 && at > 0; left--) at = this.#plain.lastIndexOf("\n", at - 1);
    // An endless line is cut as well: no progress bar is 32 KiB wide.
    if (at <= 0) at = this.#plain.length - 4096;
    this.#commit(this.#plain.slice(0, at + 1));
    this.#plain = this.#plain.slice(at + 1);
  }

  #lines(): string {
    if (this.#screen === undefined) return this.#line.text(this.#gap);
    const lines = this.#screen.map((line) => line.text(this.#gap));
    const all = lines.length;
    while (lines.length > this.#row + 1 && lines.at(-1) === "") lines.pop();
    const text = lines
      .map((line, row) => (row < lines.length - 1 && !this.#continues(row) ? `${line}\n` : line))
      .join("");
    return text + (lines.length < all ? "\n" : "");
  }

  /** The row is full: the next one belongs to the same line. */
  #continues(row: number): boolean {
    return this.#width !== undefined && (this.#screen?.[row]?.width ?? 0) >= this.#width;
  }

  #interpret(text: string): void {
    this.#takeUnfinishedLine();
    let at = 0;
    while (at < text.length) {
      if (this.#alternate !== undefined) {
        at = this.#inAlternate(text, at);
        continue;
      }
      PLAIN_RUN.lastIndex = at;
      const run = PLAIN_RUN.exec(text)?.[0];
      if (run !== undefined) {
        this.#print(run);
        at += run.length;
        continue;
      }
      const char = text.charAt(at);
      if (char === "\u001b" || char === "\u009b") {
        const end = sequenceEnd(text, at);
        if (end < 0) {
          this.#carry = text.length - at > MAX_SEQUENCE ? "" : text.slice(at) + this.#carry;
          return;
        }
        this.#escape(text.slice(at, end));
        at = end;
        continue;
      }
      this.#control(char);
      at++;
    }
  }

  /** From here on the cursor may move back into the last line of the plain text. */
  #takeUnfinishedLine(): void {
    if (this.#screen !== undefined || !this.#line.empty) return;
    const start = this.#plain.lastIndexOf("\n") + 1;
    if (start === this.#plain.length) return;
    this.#line = LineCells.of(this.#plain.slice(start));
    this.#plain = this.#plain.slice(0, start);
  }

  #inAlternate(text: string, at: number): number {
    // oxlint-disable-next-line no-control-regex
    const leave = /\u001b\[\?(?:1049|1047|47)l/g;
    leave.lastIndex = at;
    const found = leave.exec(text);
    const alternate = this.#alternate;
    if (alternate === undefined) return at;
    alternate.#take(text.slice(at, found === null ? undefined : found.index));
    if (found === null) {
      const split = /\u001b(?:\[(?:\?\d*)?)?$/.exec(text);
      // The sequence that leaves the screen may be split: its first half is kept in this screen, not in the alternate.
      if (split !== null && split.index >= at) {
        this.#carry = split[0] + this.#carry;
        alternate.#carry = "";
      }
      return text.length;
    }
    this.#asked ||= alternate.asked;
    this.#alternate = undefined;
    return found.index + found[0].length;
  }

  #print(run: string): void {
    const shown = this.#graphics ? run.replace(/[`-~]/g, (c) => LINE_DRAWING[c.charCodeAt(0) - 96] ?? c) : run;
    if (this.#width !== undefined) this.#printWrapped(shown, this.#width);
    else if (this.#screen === undefined) this.#line.put(shown);
    else this.#current().put(shown);
  }

  #printWrapped(text: string, width: number): void {
    this.#enterScreen();
    for (const char of graphemes(text)) {
      if (this.#current().column + Bun.stringWidth(char) > width) {
        this.#current().fillUp(width);
        this.#newline();
      }
      this.#current().put(char);
    }
  }

  #current(): LineCells {
    if (this.#screen === undefined) return this.#line;
    while (this.#screen.length <= this.#row) this.#screen.push(new LineCells());
    return this.#screen[this.#row] as LineCells;
  }

  #control(char: string): void {
    switch (char) {
      case "\n":
      case "\u000b":
      case "\u000c":
        return this.#newline();
      case "\r":
        return this.#current().to(0);
      case "\b":
        return this.#left(1);
      case "\t":
        return this.#current().put("\t");
    }
  }

  /** A cursor after the last column counts as on it. */
  #left(count: number): void {
    const line = this.#current();
    line.to(Math.min(line.column, (this.#width ?? Infinity) - 1) - count);
  }

  #newline(): void {
    if (this.#screen === undefined) {
      this.#plain += `${this.#line.text(this.#gap)}\n`;
      this.#line = new LineCells();
      return;
    }
    this.#row++;
    this.#current().to(0);
    while (this.#screen.length > ROWS) {
      this.#plain += `${(this.#screen.shift() as LineCells).text(this.#gap)}\n`;
      this.#row--;
    }
  }

  /** From here on lines above the last can change, too. */
  #enterScreen(): LineCells[] {
    if (this.#screen !== undefined) return this.#screen;
    let at = this.#plain.length;
    for (let left = ROWS; left > 0 && at > 0; left--) at = this.#plain.lastIndexOf("\n", at - 1);
    const from = at < 0 ? 0 : at + (at === 0 && this.#plain[0] !== "\n" ? 0 : 1);
    const lines = this.#plain.slice(from).split("\n");
    this.#plain = this.#plain.slice(0, from);
    lines.pop();
    this.#screen = lines.map((line) => LineCells.of(line));
    this.#screen.push(this.#line);
    this.#row = this.#screen.length - 1;
    this.#line = new LineCells();
    return this.#screen;
  }

  /** The screen was cleared or addressed from its top: its text is kept, and a new screen begins below. */
  #freshScreen(): void {
    const kept = this.#lines();
    this.#plain += kept === "" || kept.endsWith("\n") ? kept : `${kept}\n`;
    this.#line = new LineCells();
    this.#screen = undefined;
  }

  #escape(sequence: string): void {
    // Colours, the most frequent sequence.
    if (sequence.endsWith("m") && sequence.charCodeAt(1) === 0x5b) return;
    if (isQuestion(sequence)) this.#asked = true;
    // oxlint-disable-next-line no-control-regex
    const csi = /^(?:\u001b\[|\u009b)([?>=!]?)([\d;:]*)[ -/]*([@-~])$/.exec(sequence);
    if (csi !== null) return this.#csi(csi[1] ?? "", csi[2] ?? "", csi[3] ?? "");
    if (sequence === "\u001b(0") this.#graphics = true;
    else if (sequence === "\u001b(B") this.#graphics = false;
    else if (sequence === "\u001bM") this.#up(1);
    else if (sequence === "\u001b7") this.#savedColumn = this.#current().column;
    else if (sequence === "\u001b8") this.#current().to(this.#savedColumn);
    else if (sequence === "\u001bc") this.#freshScreen();
  }

  #csi(prefix: string, parameters: string, final: string): void {
    const numbers = parameters.split(";").map((one) => (/^\d/.test(one) ? Number.parseInt(one, 10) : undefined));
    const first = numbers[0];
    const count = Math.min(first === undefined || first === 0 ? 1 : first, 1000);
    if (prefix === "?") {
      if (final === "h" && numbers.some((one) => one === 1049 || one === 1047 || one === 47)) {
        this.#alternate = new ScreenText(() => {});
      }
      return;
    }
    if (prefix !== "") return;
    switch (final) {
      case "A":
      case "F":
        this.#up(count);
        if (final === "F") this.#current().to(0);
        return;
      case "B":
      case "E":
        this.#down(count);
        if (final === "E") this.#current().to(0);
        return;
      case "C":
        return this.#current().right(count);
      case "D":
        return this.#left(count);
      case "G":
      case "`":
        return this.#current().to((first ?? 1) - 1);
      case "K":
        return this.#current().erase(first ?? 0);
      case "P":
        return this.#current().remove(count);
      case "@":
        return this.#current().insert(count);
      case "X":
        return this.#current().blank(count);
      case "J":
        return this.#eraseDisplay(first ?? 0);
      case "H":
      case "f":
        return this.#address(numbers[0] ?? 1, numbers[1] ?? 1);
      case "d":
        return this.#address(first ?? 1, this.#current().column + 1);
    }
  }

  #up(count: number): void {
    const screen = this.#enterScreen();
    const column = this.#current().column;
    this.#row = Math.max(0, Math.min(this.#row, screen.length - 1) - count);
    this.#current().to(column);
  }

  #down(count: number): void {
    if (this.#screen === undefined) return;
    const column = this.#current().column;
    this.#row = Math.min(this.#row + count, ROWS - 1);
    this.#current().to(column);
  }

  #eraseDisplay(what: number): void {
    if (what === 0) {
      this.#current().erase(0);
      this.#screen?.splice(this.#row + 1);
    } else if (what === 2 && !this.#onFreshScreen()) this.#freshScreen();
  }

  #onFreshScreen(): boolean {
    return this.#screen === undefined ? this.#line.empty : this.#screen.every((line) => line.text() === "");
  }

  #address(row: number, column: number): void {
    if (row === 1 && column === 1 && !this.#onFreshScreen()) this.#freshScreen();
    if (this.#screen === undefined) {
      this.#screen = [this.#line];
      this.#line = new LineCells();
    }
    this.#row = Math.min(Math.max(row, 1), ROWS) - 1;
    this.#current().to(column - 1);
  }
}

/**
 * Whether text is made from bytes that are none: by its beginning. Names that end with NUL are text, and so is text in
 * another encoding.
 */
function isBinary(text: string): boolean {
  const length = Math.min(text.length, 1024);
  let odd = 0;
  let undecoded = 0;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0xfffd) undecoded++;
    // Not the bell, or what moves the cursor, or changes the character set, or begins a sequence.
    else if (code < 7 || (code > 15 && code < 32 && code !== 27)) odd++;
  }
  return length >= 64 && odd > length / 50 && undecoded > length / 50;
}

/** Queries for attributes, positions, sizes, modes, versions, colours and settings. */
function isQuestion(sequence: string): boolean {
  switch (sequence.at(-1)) {
    case "c":
    case "n":
    case "p":
    case "q":
    case "t":
      // oxlint-disable-next-line no-control-regex
      return /^(?:\u001b\[|\u009b)(?:[?>]?[\d;]*c|\??[\d;]*(?:n|\$p)|>[\d;]*q|(?:1[1-9]|2[01])t)$/.test(sequence);
    case "\u0007":
    case "\\":
    case "\u009c":
      // oxlint-disable-next-line no-control-regex
      return /^\u001b(?:\].*;\?|P[$+]q)/s.test(sequence);
  }
  return false;
}

/** Index after the escape sequence that starts at `at`, or -1 if it is incomplete. */
function sequenceEnd(text: string, at: number): number {
  if (text.charAt(at) === "\u009b") return csiEnd(text, at + 1);
  const kind = text.charAt(at + 1);
  if (kind === "") return -1;
  if (kind === "[") return csiEnd(text, at + 2);
  if (kind === "]" || kind === "P" || kind === "X" || kind === "^" || kind === "_" || kind === "k") {
    // oxlint-disable-next-line no-control-regex
    const end = /\u0007|\u001b|\u009c|\u0018|\u001a/g;
    end.lastIndex = at + 2;
    const found = end.exec(text);
    if (found === null) return -1;
    if (found[0] !== "\u001b") return found.index + 1;
    const next = text.charAt(found.index + 1);
    if (next === "") return -1;
    return next === "\\" ? found.index + 2 : found.index;
  }
  if (kind >= " " && kind <= "/") return text.length > at + 2 ? at + 3 : -1;
  return at + 2;
}

function csiEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x40 && code <= 0x7e) return at + 1;
    if (code < 0x20 || code > 0x7e) return at;
  }
  return -1;
}

/** DEC special graphics, from ` to ~. */
const LINE_DRAWING = [..."◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"];
