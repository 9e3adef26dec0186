/** Turns the bytes a terminal sends into keys, pastes and focus changes, however they are cut into chunks. */
export class KeyDecoder {
  #text = new TextDecoder();
  #rest = "";
  #paste: string[] | undefined;
  #pasteSize = 0;
  /** The rest is the beginning of an answer that a slow link has cut in two. */
  #late = false;
  /** Until then the terminal may answer a question, however slowly. */
  #answerUntil = 0;
  /** The Escape key just now may have been the first byte of an answer. */
  #escaped = false;

  /** The terminal was asked something. */
  expectAnswer(): void {
    this.#answerUntil = performance.now() + ANSWER_WAIT_MS;
  }

  /** Inputs of this chunk; an unfinished sequence is kept until the next chunk or `flush`. */
  push(chunk: Uint8Array | string): TerminalInput[] {
    this.#rest += typeof chunk === "string" ? chunk : this.#text.decode(chunk, { stream: true });
    const inputs: TerminalInput[] = [];
    if (this.#escaped && /^[[\]]/.test(this.#rest)) this.#rest = `\x1b${this.#rest}`;
    this.#escaped = false;
    if (this.#late) this.#readLate();
    while (this.#rest !== "") {
      if (this.#paste !== undefined) {
        if (!this.#readPaste(inputs)) break;
        continue;
      }
      const step = next(this.#rest);
      if (step === "incomplete") break;
      this.#rest = this.#rest.slice(step.length);
      if (step.input === undefined) continue;
      if (step.input === "paste-start") {
        this.#paste = [];
        this.#pasteSize = 0;
      } else {
        inputs.push(step.input);
        if (step.input.kind === "background" || step.input.kind === "cursor") this.#answerUntil = 0;
      }
    }
    return inputs;
  }

  /** True when a lone ESC or half a sequence waits; call `flush` once nothing followed for a moment. */
  get pending(): boolean {
    return this.#rest !== "" && this.#paste === undefined;
  }

  /** Nothing followed: a lone ESC was the Escape key, half a sequence is noise. */
  flush(): TerminalInput[] {
    const rest = this.#rest;
    const awaited = performance.now() < this.#answerUntil;
    this.#late = ANSWER.test(rest);
    if (this.#late || (awaited && BEGUN.test(rest))) return [];
    this.#rest = "";
    this.#escaped = awaited && rest === "\x1b";
    if (rest === "\x1b") return [key("escape")];
    if (rest === "\x1b\x1b") return [key("escape"), key("escape")];
    if (rest === "\x1b[" || rest === "\x1bO") return [key(rest.slice(1), { alt: true })];
    return [];
  }

  /** The rest of a late answer may follow, or never come: then the next key ends it. */
  #readLate(): void {
    const [answer = "", ended] = LATE.exec(this.#rest) ?? [];
    this.#late = ended === undefined && ANSWER.test(this.#rest) && answer.length <= LONGEST_ANSWER;
    if (ended === undefined && !this.#late) this.#rest = this.#rest.slice(answer.length);
  }

  #readPaste(inputs: TerminalInput[]): boolean {
    const paste = this.#paste!;
    const end = this.#rest.indexOf(PASTE_END);
    // A terminator may be cut in two: its possible beginning stays behind.
    const upTo = end >= 0 ? end : Math.max(0, this.#rest.length - (PASTE_END.length - 1));
    const piece = this.#rest.slice(0, Math.min(upTo, Math.max(0, PASTE_LIMIT - this.#pasteSize)));
    if (piece !== "") paste.push(piece);
    this.#pasteSize += upTo;
    this.#rest = this.#rest.slice(end >= 0 ? end + PASTE_END.length : upTo);
    if (end < 0) return false;
    inputs.push({ kind: "paste", text: paste.join(""), cut: this.#pasteSize > PASTE_LIMIT });
    this.#paste = undefined;
    return true;
  }
}

export type TerminalInput =
  | KeyInput
  | { readonly kind: "paste"; readonly text: string; readonly cut: boolean }
  | { readonly kind: "focus"; readonly focused: boolean }
  /** Answer to "what is the background" (OSC 11). */
  | { readonly kind: "background"; readonly light: boolean }
  /** Answer to "where is the cursor" (CSI 6n), counted from 1. */
  | { readonly kind: "cursor"; readonly row: number; readonly col: number }
  /** Answer to "which terminal is this" (CSI > c). */
  | { readonly kind: "terminal"; readonly version: string };

export interface KeyInput {
  readonly kind: "key";
  /** A printable character, a letter for Ctrl or Alt combinations, or a name: up, home, enter, … */
  readonly name: string;
  readonly ctrl: boolean;
  readonly alt: boolean;
  readonly shift: boolean;
}

export function key(name: string, modifiers: { ctrl?: boolean; alt?: boolean; shift?: boolean } = {}): KeyInput {
  return {
    kind: "key",
    name,
    ctrl: modifiers.ctrl ?? false,
    alt: modifiers.alt ?? false,
    shift: modifiers.shift ?? false,
  };
}

/** Pastes are kept up to this many characters. */
export const PASTE_LIMIT = 8 * 1024 * 1024;

/** The answer to "what is the background", as far as it came. */
const ANSWER = /^\x1b\]11;[0-9a-f:/rgb#]*\x1b?$/i;
/** The first bytes of that, or of the answer to "where is the cursor". */
const BEGUN = /^\x1b(?:\]1{0,2}|\[[\d;]*)$/;
const ANSWER_WAIT_MS = 5000;
const LATE = /^\x1b\]11;[0-9a-f:/rgb#]*(\x07|\x1b\\)?/i;
const LONGEST_ANSWER = 40;

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";

interface Step {
  readonly length: number;
  readonly input?: TerminalInput | "paste-start" | undefined;
}

function next(text: string): Step | "incomplete" {
  if (text[0] !== "\x1b") return plain(text);
  if (text.length === 1) return "incomplete";
  if (text[1] === "[") return csi(text);
  if (text[1] === "O") {
    if (text.length < 3) return "incomplete";
    const name = FINALS[text[2]!];
    return { length: 3, input: name === undefined ? undefined : key(name) };
  }
  if (text[1] === "\x1b") {
    // Alt with an arrow is ESC ESC [ A in some terminals; otherwise the first ESC was a separate key.
    if (text.length === 2) return "incomplete";
    if (text[2] !== "[" && text[2] !== "O") return { length: 1, input: key("escape") };
    const inner = next(text.slice(1));
    if (inner === "incomplete") return "incomplete";
    return { length: inner.length + 1, input: withAlt(inner.input) };
  }
  // An OSC, DCS or APC answer of the terminal is not a key: it is taken whole.
  if ("]P_^".includes(text[1]!)) {
    const end = /\x07|\x1b\\/.exec(text.slice(2));
    if (end === null) return text.length > 4096 ? { length: text.length } : "incomplete";
    return { length: 2 + end.index + end[0].length, input: background(text.slice(2, 2 + end.index)) };
  }
  const inner = plain(text.slice(1));
  return { length: inner.length + 1, input: withAlt(inner.input) };
}

/** `11;rgb:ffff/ffff/ffff`; the components have one to four digits. */
function background(answer: string): TerminalInput | undefined {
  const parts = /^11;rgba?:([0-9a-f]{1,4})\/([0-9a-f]{1,4})\/([0-9a-f]{1,4})/i.exec(answer)?.slice(1, 4);
  if (parts === undefined) return undefined;
  const [red, green, blue] = parts.map((part) => Number.parseInt(part, 16) / (16 ** part.length - 1)) as [
    number,
    number,
    number,
  ];
  return { kind: "background", light: 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 };
}

function withAlt(input: Step["input"]): Step["input"] {
  return typeof input === "object" && input.kind === "key" ? { ...input, alt: true } : input;
}

function plain(text: string): Step {
  const code = text.charCodeAt(0);
  if (code >= 0x20 && code !== 0x7f) {
    const character = String.fromCodePoint(text.codePointAt(0)!);
    const c1 = code >= 0x80 && code < 0xa0;
    return { length: character.length, input: c1 ? undefined : key(character) };
  }
  const named = CONTROL[code];
  if (named !== undefined) return { length: 1, input: key(named) };
  if (code === 0) return { length: 1, input: key("space", { ctrl: true }) };
  if (code <= 26) return { length: 1, input: key(String.fromCharCode(code + 96), { ctrl: true }) };
  return { length: 1, input: key(String.fromCharCode(code + 64).toLowerCase(), { ctrl: true }) };
}

const CONTROL: Record<number, string> = { 8: "backspace", 9: "tab", 10: "enter", 13: "enter", 127: "backspace" };

function csi(text: string): Step | "incomplete" {
  if (text.startsWith(PASTE_START)) return { length: PASTE_START.length, input: "paste-start" };
  if (text.startsWith("\x1b[[")) {
    // Linux console: ESC [ [ A is F1.
    return text.length < 4 ? "incomplete" : { length: 4 };
  }
  const match = /^\x1b\[([0-?]*)([ -/]*)([@-~])/.exec(text);
  if (match === null) {
    if (/^\x1b\[[0-?]*[ -/]*$/.test(text) && text.length < 64) return "incomplete";
    return { length: 2 };
  }
  return { length: match[0].length, input: meaning(match[1]!, match[3]!) };
}

function meaning(parameters: string, final: string): TerminalInput | undefined {
  if (parameters === "" && final === "I") return { kind: "focus", focused: true };
  if (parameters === "" && final === "O") return { kind: "focus", focused: false };
  if (parameters === "" && final === "Z") return key("tab", { shift: true });
  const [first = "", second = "", third = ""] = parameters.split(";");
  const number = Number.parseInt(first, 10);
  if (final === "c" && parameters.startsWith(">")) return { kind: "terminal", version: parameters.slice(1) };
  if (/^[<=>?]/.test(parameters)) return undefined;
  if (final === "R" && second !== "") {
    return { kind: "cursor", row: number, col: Number.parseInt(second, 10) };
  }
  if (final === "u") return fromCode(number, modifiers(second));
  if (final === "~" && number === 27) return fromCode(Number.parseInt(third, 10), modifiers(second));
  if (final === "~") {
    const name = TILDE[number];
    return name === undefined ? undefined : key(name, modifiers(second));
  }
  // rxvt: CSI 3$ and lower-case finals carry shift and control.
  const name = FINALS[final] ?? FINALS[final.toUpperCase()];
  if (name === undefined) return undefined;
  if (FINALS[final] === undefined) return key(name, { shift: true });
  return key(name, modifiers(second));
}

function fromCode(code: number, held: ReturnType<typeof modifiers>): KeyInput | undefined {
  if (!Number.isInteger(code) || code <= 0 || code > 0x10ffff) return undefined;
  if (code === 27) return key("escape", held);
  const named = CONTROL[code];
  if (named !== undefined) return key(named, held);
  // Private-use codes are keys without a character: Caps Lock, media keys.
  if (code < 32 || (code >= 0xe000 && code <= 0xf8ff)) return undefined;
  const character = String.fromCodePoint(code);
  return key(held.ctrl ? character.toLowerCase() : character, held);
}

function modifiers(parameter: string): { ctrl: boolean; alt: boolean; shift: boolean } {
  const bits = Math.max(0, (Number.parseInt(parameter, 10) || 1) - 1);
  return { shift: (bits & 1) !== 0, alt: (bits & 2) !== 0, ctrl: (bits & 4) !== 0 };
}

const FINALS: Record<string, string> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  M: "enter", // SS3 M: keypad Enter
};

const TILDE: Record<number, string> = {
  1: "home",
  2: "insert",
  3: "delete",
  4: "end",
  5: "page-up",
  6: "page-down",
  7: "home",
  8: "end",
};
