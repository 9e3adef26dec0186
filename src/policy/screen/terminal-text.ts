/** The only way text from a model, a tool or a page reaches the operator's screen. */
import { shownName } from "../../lib/byte-names.ts";
import { once } from "../../lib/values.ts";
import { combining, escaped, inLatin, joins, plainCommand, plainOutput, varies } from "./invisible.ts";

/**
 * A filter for text that arrives in pieces; the result does not depend on where they were cut.
 *
 * - `output`: control sequences are dropped, colour is rewritten in a plain form and reset at the end of each line, a
 *   lone carriage return starts a new line (nothing is overwritten), invisible characters are escaped: `\u{202e}`.
 * - `command`: for approval. Nothing is dropped; everything that is not clearly visible is escaped: `\u{1b}`.
 * - `line`: as `command`, with line ends and tabs escaped too: for names and one-line questions.
 */
export class TerminalText {
  readonly #command: boolean;
  readonly #inline: boolean;
  readonly #plain: RegExp;
  readonly #colors: ColorState | undefined;
  readonly #maxLine: number;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  #out = "";
  #state: State = "ground";
  #parameters = "";
  #skipped = 0;
  /** A carriage return or a joiner; the next character decides what it means. */
  #held = "";
  /** The first half of a character that was cut in two. */
  #half = "";
  #atStart = true;
  #before = "";
  #marks = 0;
  #column = 0;
  #cut = 0;
  #written = "";

  constructor(options: TerminalTextOptions = {}) {
    const mode = options.mode ?? "output";
    this.#command = mode !== "output";
    this.#inline = mode === "line";
    this.#plain = this.#command ? plainCommand() : plainOutput();
    this.#colors = options.color === true && !this.#command ? new ColorState() : undefined;
    // Cutting a command would hide what is approved.
    this.#maxLine = this.#command ? Number.POSITIVE_INFINITY : (options.maxLine ?? MAX_LINE);
  }

  push(chunk: string | Uint8Array): string {
    this.#feed(typeof chunk === "string" ? chunk : this.#decoder.decode(chunk, { stream: true }));
    return this.#take();
  }

  end(): string {
    this.#feed(this.#decoder.decode());
    if (this.#half !== "") this.#one("\ufffd");
    this.#half = "";
    if (this.#held === "\u200c" || this.#held === "\u200d") this.#show(escaped(this.#held));
    this.#held = "";
    this.#endLine();
    this.#state = "ground";
    return this.#take();
  }

  #take(): string {
    const out = this.#out;
    this.#out = "";
    return out;
  }

  #feed(chunk: string): void {
    const text = chunk === "" ? "" : this.#half + chunk;
    if (chunk !== "") this.#half = "";
    let at = 0;
    while (at < text.length) {
      const lines = this.#plainLines(text, at);
      if (lines > at) {
        this.#out += text.slice(at, lines);
        this.#before = "";
        this.#marks = 0;
        this.#atStart = false;
        at = lines;
        continue;
      }
      const run = this.#state === "ground" ? this.#plainAt(text, at) : "";
      const character = run === "" ? firstOf(text.slice(at, at + 2)) : run;
      if (at + 1 === text.length && isHighSurrogate(character)) {
        this.#half = character;
        return;
      }
      if (run === "") this.#one(character);
      else this.#pass(run);
      at += character.length;
    }
  }

  /** Fast path for floods of output: the end of the whole plain lines that begin at `at`. */
  #plainLines(text: string, at: number): number {
    if (this.#command || this.#state !== "ground" || this.#column > 0 || this.#cut > 0 || this.#held !== "") return at;
    if (this.#colors !== undefined && this.#colors.sequence() !== "") return at;
    PLAIN_LINES.lastIndex = at;
    if (!PLAIN_LINES.test(text)) return at;
    const end = text.lastIndexOf("\n", PLAIN_LINES.lastIndex - 1) + 1;
    let line = at;
    while (line < end) {
      const next = text.indexOf("\n", line);
      if (next - line > this.#maxLine) break;
      line = next + 1;
    }
    return line;
  }

  #plainAt(text: string, at: number): string {
    this.#plain.lastIndex = at;
    return this.#plain.test(text) ? text.slice(at, this.#plain.lastIndex) : "";
  }

  #pass(run: string): void {
    this.#settle(firstOf(run));
    this.#atStart = false;
    this.#show(run);
  }

  #one(character: string): void {
    if (this.#state !== "ground") this.#inSequence(character);
    else if (this.#plainAt(character, 0) !== "") this.#pass(character);
    else if (this.#command) this.#inCommand(character);
    else this.#inGround(character);
  }

  /** Handles a held carriage return or joiner now that the next character is known. */
  #settle(next: string): void {
    const held = this.#held;
    if (held === "") return;
    this.#held = "";
    if (held === "\r") {
      if (next !== "\n" && next !== "\r") this.#newLine();
    } else if (joins(this.#before, held, next)) {
      this.#show(held);
    } else this.#show(escaped(held));
  }

  #inCommand(character: string): void {
    if (character === "\n" && !this.#inline) this.#newLine();
    else if (character === "\t" && !this.#inline) this.#show(character);
    else if (combining().test(character) && this.#marks < MAX_MARKS) this.#mark(character);
    else this.#show(isLoneSurrogate(character) ? replaced(character) : escaped(character));
  }

  #inGround(character: string): void {
    const code = character.codePointAt(0) ?? 0;
    this.#settle(character);
    const first = this.#atStart;
    this.#atStart = false;
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) this.#control(character);
    else if (character === "\u2028" || character === "\u2029") this.#newLine();
    else if (character === "\u200c" || character === "\u200d") this.#held = character;
    else if (character === "\u00ad" || (first && character === "\ufeff")) return;
    else if (combining().test(character)) {
      if (this.#marks < MAX_MARKS) this.#mark(character);
    } else if (isLoneSurrogate(character) || noncharacter().test(character)) this.#show(replaced(character));
    else this.#show(varies(this.#before, character) || seenFormat().test(character) ? character : escaped(character));
  }

  #mark(character: string): void {
    const marks = this.#marks;
    this.#show(character);
    this.#marks = marks + 1;
  }

  #control(character: string): void {
    if (character === "\t") this.#show(character);
    else if (character === "\r") this.#held = character;
    // Form feed, vertical tab and next-line move down on a terminal.
    else if (character === "\n" || character === "\f" || character === "\v" || character === "\x85") this.#newLine();
    else this.#enter(character === "\x1b" ? "escape" : (OPENERS_8BIT[character] ?? "ground"));
  }

  #enter(state: State): void {
    this.#state = state;
    this.#parameters = "";
    this.#skipped = 0;
  }

  /** A line end always ends a sequence, so that an unfinished one can hide at most one line. */
  #inSequence(character: string): void {
    const code = character.codePointAt(0) ?? 0;
    if (code === 0x1b) return this.#enter("escape");
    if (code === 0x18 || code === 0x1a) return this.#enter("ground");
    if (code === 0x0a || code === 0x0d || code === 0x85 || (code >= 0x80 && code <= 0x9f)) {
      this.#enter("ground");
      return this.#inGround(character);
    }
    switch (this.#state) {
      case "escape":
        if (code >= 0x20 && code <= 0x2f) {
          this.#state = "escape-more";
          return;
        }
        if (character in OPENERS) return this.#enter(OPENERS[character] ?? "ground");
        break;
      case "escape-more":
        if (code >= 0x20 && code <= 0x2f) return;
        break;
      case "csi":
        if (code >= 0x20 && code <= 0x3f) {
          if (this.#parameters.length <= MAX_PARAMETERS) this.#parameters += character;
          return;
        }
        if (character === "m" && this.#parameters.length <= MAX_PARAMETERS) this.#colors?.apply(this.#parameters);
        break;
      case "osc":
        if (code === 0x07) return this.#enter("ground");
        if (++this.#skipped >= MAX_STRING) this.#enter("ground");
        return;
      case "string":
        if (++this.#skipped >= MAX_STRING) this.#enter("ground");
        return;
      case "ground":
        return;
    }
    if (code < 0x20 || code === 0x7f) return;
    this.#enter("ground");
    if (code > 0x7f) this.#one(character);
  }

  #newLine(): void {
    this.#endLine();
    this.#out += this.#inline ? "\\n" : "\n";
    this.#before = "";
    this.#marks = 0;
  }

  #endLine(): void {
    if (this.#written !== "") this.#out += "\x1b[0m";
    this.#written = "";
    if (this.#cut > 0) this.#out += ` … [${this.#cut} more characters in this line]`;
    this.#cut = 0;
    this.#column = 0;
  }

  #show(text: string): void {
    this.#before = lastOf(text);
    this.#marks = 0;
    let shown = text;
    if (this.#cut > 0) shown = "";
    else if (this.#column + text.length > this.#maxLine) {
      const room = this.#maxLine - this.#column;
      shown = text.slice(0, room > 0 && isHighSurrogate(text[room - 1] ?? "") ? room - 1 : room);
    }
    this.#cut += text.length - shown.length;
    if (shown === "") return;
    this.#column += shown.length;
    const wanted = this.#colors?.sequence() ?? "";
    if (wanted !== this.#written) this.#out += wanted === "" ? "\x1b[0m" : wanted;
    this.#written = wanted;
    this.#out += shown;
  }
}

export interface TerminalTextOptions {
  readonly mode?: "output" | "command" | "line";
  /** Keep plain colour; only in output. */
  readonly color?: boolean;
  /** The most characters shown of a line of output. */
  readonly maxLine?: number;
}

export function showText(text: string | Uint8Array, options: TerminalTextOptions = {}): string {
  // The expressions for other text take milliseconds to compile, and a start shows only short plain text.
  const short = Math.min(SHORT, options.maxLine ?? SHORT);
  if (typeof text === "string" && text.length <= short && /^[\x20-\x7e]*$/.test(text)) return text;
  const filter = new TerminalText(options);
  return filter.push(text) + filter.end();
}

/** Always one line. */
export function showLine(text: string): string {
  return showText(text, { mode: "line" });
}

/** Words that mix Latin letters with others that look like Latin ones, which are escaped: `\u{430}`. */
export function mixedWords(text: string): string[] {
  // oxlint-disable-next-line no-control-regex
  if (/^[\0-\x7f]*$/.test(text)) return [];
  const words = text.split(/[\s"'`/=:@,;|&()<>]+/).filter((word) => /[a-z]/i.test(word) && inLatin(word) !== word);
  const written = words.map((word) =>
    Array.from(word, (letter) => (inLatin(letter) === letter ? letter : escaped(letter))).join(""),
  );
  return [...new Set(written)];
}

const SHORT = 1_000;

type State = "ground" | "escape" | "escape-more" | "csi" | "osc" | "string";

const MAX_LINE = 20_000;
/** Bounded: it is matched again after each line that is too long. */
const PLAIN_LINES = /[\t\n\x20-\x7e]{1,65536}/y;
/** Combining marks on one character: scripts in use need up to five. */
const MAX_MARKS = 8;
const MAX_PARAMETERS = 128;
/** Characters of an OSC, DCS, APC, PM or SOS string that are skipped; the rest is text. */
const MAX_STRING = 65_536;

const OPENERS: Readonly<Record<string, State>> = {
  "[": "csi",
  "]": "osc",
  P: "string",
  X: "string",
  "^": "string",
  _: "string",
};
const OPENERS_8BIT: Readonly<Record<string, State>> = {
  "\x90": "string",
  "\x98": "string",
  "\x9b": "csi",
  "\x9d": "osc",
  "\x9e": "string",
  "\x9f": "string",
};

/** Format characters that have a glyph (Arabic number signs and the like), and unassigned ones. */
const seenFormat = once(() => /^[[\p{Cf}\p{Cn}]--[\p{DI}\ufff9-\ufffb]]$/v);
const noncharacter = once(() => /^\p{Noncharacter_Code_Point}$/v);

function firstOf(text: string): string {
  const code = text.codePointAt(0);
  return code === undefined ? "" : code > 0xffff ? text.slice(0, 2) : text.slice(0, 1);
}

function lastOf(text: string): string {
  const last = text.slice(-1);
  return last >= "\udc00" && last <= "\udfff" ? text.slice(-2) : last;
}

function isHighSurrogate(text: string): boolean {
  return text >= "\ud800" && text <= "\udbff";
}

/** Shows which byte it is if it stands for one of a file name. */
function replaced(character: string): string {
  return character >= "\udc80" && character <= "\udcff" ? shownName(character) : "\ufffd";
}

function isLoneSurrogate(character: string): boolean {
  return character.length === 1 && character >= "\ud800" && character <= "\udfff";
}

/** The colours that untrusted text sets, kept as a state and written in one plain form; other SGR codes are dropped. */
class ColorState {
  readonly #on = new Set<number>();
  #front: Color = "";
  #behind: Color = "";

  /** `parameters`: of an SGR sequence, between CSI and m. Conceal, blink and unknown codes are ignored. */
  apply(parameters: string): void {
    if (!/^[0-9;:]*$/.test(parameters)) return;
    const plain = parameters.includes(":") ? withoutColons(parameters) : parameters;
    const numbers = plain.split(";").map((part) => (part === "" ? 0 : Number.parseInt(part, 10)));
    for (let i = 0; i < numbers.length; i++) i += this.#one(numbers, i);
  }

  /** The sequence that sets this state from any other; empty for the default state. */
  sequence(): string {
    const codes = [...this.#on].sort().map(String);
    // The same colour in front and behind would hide text.
    if (this.#front !== this.#behind) codes.push(...codesOf(this.#front, 3), ...codesOf(this.#behind, 4));
    return codes.length === 0 ? "" : `\x1b[0;${codes.join(";")}m`;
  }

  /** Returns how many further numbers the code took. */
  #one(numbers: readonly number[], at: number): number {
    const code = numbers[at] ?? 0;
    if (code === 0) {
      this.#on.clear();
      this.#front = this.#behind = "";
    } else if (ATTRIBUTES.has(code)) this.#on.add(code);
    else if (code >= 21 && code <= 29) for (const attribute of ENDED_BY[code] ?? []) this.#on.delete(attribute);
    else if (code >= 30 && code <= 37) this.#front = `${code - 30}`;
    else if (code >= 40 && code <= 47) this.#behind = `${code - 40}`;
    else if (code >= 90 && code <= 97) this.#front = `${code - 82}`;
    else if (code >= 100 && code <= 107) this.#behind = `${code - 92}`;
    else if (code === 39) this.#front = "";
    else if (code === 49) this.#behind = "";
    else if (code === 38 || code === 48) return this.#extended(code, numbers, at);
    return 0;
  }

  #extended(code: 38 | 48, numbers: readonly number[], at: number): number {
    const kind = numbers[at + 1];
    const wanted = kind === 5 ? 1 : kind === 2 ? 3 : 0;
    const values = numbers.slice(at + 2, at + 2 + wanted);
    if (wanted > 0 && values.length === wanted && values.every((value) => value <= 255)) {
      const color = kind === 5 && Number(values[0]) < 16 ? `${values[0]}` : `${kind};${values.join(";")}`;
      if (code === 38) this.#front = color;
      else this.#behind = color;
    }
    return values.length + 1;
  }
}

/** "" default, "0" … "15" the terminal's own, "5;n" of 256, "2;r;g;b". */
type Color = string;

/** Bold, dim, italic, underline, inverse, struck. */
const ATTRIBUTES: ReadonlySet<number> = new Set([1, 2, 3, 4, 7, 9]);
const ENDED_BY: Readonly<Record<number, readonly number[]>> = { 22: [1, 2], 23: [3], 24: [4], 27: [7], 29: [9] };

/** 38:2::r:g:b and 38:2:r:g:b mean 38;2;r;g;b; `Number.parseInt` reads the first number of other forms, such as 4:3. */
function withoutColons(parameters: string): string {
  return parameters
    .replace(/([34]8):2:[0-9]*:([0-9]+):([0-9]+):([0-9]+)/g, "$1;2;$2;$3;$4")
    .replace(/([34]8):2:([0-9]+):([0-9]+):([0-9]+)/g, "$1;2;$2;$3;$4")
    .replace(/([34]8):5:([0-9]+)/g, "$1;5;$2");
}

function codesOf(color: Color, ground: 3 | 4): string[] {
  if (color === "") return [];
  if (color.includes(";")) return [`${ground}8;${color}`];
  const index = Number(color);
  return [index < 8 ? `${ground}${index}` : `${(ground === 3 ? 90 : 100) + index - 8}`];
}
