/** The marks of a managed pane's shell: invisible ones in the stream, and visible prompts if only capture works. */
import { nameFrom, nameFromMark } from "../../lib/byte-names.ts";

/**
 * A mark in the pane's stream: `ESC ]7771;<key>;<kind>;… BEL`, written by the prompt hooks of templates/shell-init.
 * Bytes of a directory that a terminal or a prompt could interpret are encoded as `%` and two digits.
 */
export type Mark =
  /** A prompt is about to be drawn; `tag`: the command that ended with `code`, 0 if it was not buddy's. */
  | {
      readonly kind: "prompt";
      readonly id: number;
      readonly code: number;
      readonly tag: number;
      readonly cwd: string;
      /** The line editor cannot take lines from buddy (bash before 4.4, a read-only PS0): they are typed. */
      readonly typed?: true;
      /** The start-up files prevented marks: the shell runs without them. */
      readonly plain?: true;
    }
  /** The prompt is drawn and keys are read; an adopted shell reports its directory, "" if it cannot. */
  | { readonly kind: "ready"; readonly cwd?: string }
  /** The shell took buddy's line; `aside`: what the operator had typed. */
  | { readonly kind: "taken"; readonly tag: number; readonly aside: string }
  /**
   * `greets`: text of the shell itself follows (PS0 of bash), and then a mark. `line`: what the operator entered, if
   * the shell reports it (zsh, fish). `shownLines`: this many lines below the prompt are the text of the command.
   */
  | {
      readonly kind: "started";
      readonly tag: number;
      readonly greets?: true;
      readonly line?: string;
      readonly shownLines?: number;
    }
  /** The text shown to the operator ends, output begins. */
  | { readonly kind: "shown"; readonly tag: number }
  | { readonly kind: "ended"; readonly code: number; readonly tag: number }
  | { readonly kind: "incomplete" }
  /** The kind of the operator's shell: bash, zsh, fish, or sh for all others. */
  | { readonly kind: "shell-kind"; readonly name: "bash" | "zsh" | "fish" | "sh" }
  /** An adopted shell reads a line without echo. */
  | { readonly kind: "no-editor" }
  /** `cwd`: where the next shell starts. */
  | { readonly kind: "shell-ended"; readonly code: number; readonly cwd: string }
  /** The shell never reached its prompt: from now on it is started without start-up files. */
  | { readonly kind: "start-up-skipped"; readonly code: number }
  /** No shell starts: the pane waits for the operator. */
  | { readonly kind: "gave-up"; readonly code: number };

const ownLine = (call: string) => `{ ${call}; } 8>&1 9>&2 >/dev/null 2>/dev/null`;
/** The line after a typed command. */
export const CHECK = ownLine('__buddy_check "$?"');
/**
 * The same in sh. mksh traces to where stderr was at `set -x`: a redirection hides nothing there. It does not trace
 * loops and cases, and its first trace begins with PS4, which is the mark of the end.
 */
export const CHECK_IN_SH =
  'for __buddy_code in $?; do case $-${KSH_VERSION-} in *x*MIRBSD*) for __buddy_ps4 in "${PS4-}"; ' +
  `do for PS4 in "$__buddy_trace"; do \\set +x; done; done ;; esac; ${ownLine('__buddy_check "$__buddy_code"')}; done`;
/** With `set -v` a shell prints these lines of buddy before it runs them; a mark of an end follows. */
const ECHOED = [CHECK, CHECK_IN_SH, ownLine("__buddy_before")].map((line) => Buffer.from(`${line}\r\n`));
const LONGEST_ECHO = Math.max(...ECHOED.map((line) => line.length));

const START = "\u001b]7771;";
const BEL = 7;
const ESC = 0x1b;
/** A mark has at most a directory or a half-typed line; a longer one is not buddy's. */
const MAX_MARK = 64 * 1024;

/** Splits the stream of a pane into the output of programs and the marks with the key. */
export class MarkScanner {
  readonly #prefix: Buffer;
  readonly #text: (bytes: Buffer) => void;
  readonly #mark: (mark: Mark) => void;
  #held: Buffer | undefined;

  constructor(key: string, text: (bytes: Buffer) => void, mark: (mark: Mark) => void) {
    this.#prefix = Buffer.from(`${START}${key};`);
    this.#text = text;
    this.#mark = mark;
  }

  feed(chunk: Buffer): void {
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = undefined;
    let from = 0;
    for (;;) {
      const at = bytes.indexOf(this.#prefix, from);
      if (at < 0) break;
      const end = bytes.indexOf(BEL, at);
      if (end < 0 && bytes.length - at > MAX_MARK) break;
      this.#emit(bytes, from, withoutEcho(bytes, from, at));
      if (end < 0) {
        this.#held = bytes.subarray(at);
        return;
      }
      const mark = parseMark(nameFrom(bytes.subarray(at + this.#prefix.length, end)));
      if (mark !== undefined) this.#mark(mark);
      from = end + 1;
    }
    const hold = this.#possibleStart(bytes, from);
    this.#emit(bytes, from, hold);
    if (hold < bytes.length) this.#held = Buffer.from(bytes.subarray(hold));
  }

  #emit(bytes: Buffer, from: number, to: number): void {
    if (to > from) this.#text(bytes.subarray(from, to));
  }

  /** Where a mark may begin whose rest is in the next chunk. */
  #possibleStart(bytes: Buffer, from: number): number {
    const escape = bytes.lastIndexOf(ESC);
    const isMark = escape >= from && isPrefix(bytes.subarray(escape), this.#prefix);
    const text = isMark ? bytes.subarray(0, escape) : bytes;
    const end = text.subarray(Math.max(from, text.length - LONGEST_ECHO));
    for (const begin of ["for __buddy_code", "{ __buddy_"]) {
      const own = end.lastIndexOf(begin);
      const isOwn = own >= 0 && ECHOED.some((line) => isPrefix(end.subarray(own), line));
      if (isOwn) return text.length - end.length + own;
    }
    return text.length;
  }
}

function isPrefix(bytes: Buffer, whole: Buffer): boolean {
  return bytes.length <= whole.length && whole.subarray(0, bytes.length).equals(bytes);
}

function withoutEcho(bytes: Buffer, from: number, to: number): number {
  const own = ECHOED.find((line) => to - from >= line.length && bytes.subarray(to - line.length, to).equals(line));
  return to - (own?.length ?? 0);
}

export function parseMark(text: string): Mark | undefined {
  const match = /^([A-Z])(?:;(.*))?$/s.exec(text);
  const rest = match?.[2] ?? "";
  switch (match?.[1]) {
    case "P":
    case "Q":
    case "R":
    case "U": {
      const fields = /^(\d+);(\d+);(\d+);(.*)$/s.exec(rest);
      if (fields === null) return undefined;
      const [, id, code, tag, cwd] = fields;
      const numbers = { id: Number(id), code: Number(code), tag: Number(tag) };
      const typed = match[1] === "Q" || match[1] === "U" ? { typed: true as const } : {};
      const plain = match[1] === "R" || match[1] === "U" ? { plain: true as const } : {};
      return { kind: "prompt", ...numbers, cwd: nameFromMark(cwd ?? ""), ...typed, ...plain };
    }
    case "B":
      return { kind: "ready", ...(match[2] === undefined ? {} : { cwd: nameFromMark(rest) }) };
    case "T": {
      const fields = /^(\d*);?(.*)$/s.exec(rest);
      return { kind: "taken", tag: Number(fields?.[1] ?? 0), aside: fields?.[2] ?? "" };
    }
    case "C": {
      const [, tag, lines, greets, line] = /^(\d*)(?:\+(\d+))?(?:;(S)$|;L;(.*))?/s.exec(rest) ?? [];
      return {
        kind: "started",
        tag: Number(tag),
        ...(lines === undefined ? {} : { shownLines: Number(lines) }),
        ...(greets === undefined ? {} : { greets: true }),
        ...(line === undefined ? {} : { line }),
      };
    }
    case "S":
      return { kind: "shown", tag: Number(rest) || 0 };
    case "E": {
      const [code, tag] = rest.split(";");
      return { kind: "ended", code: Number(code) || 0, tag: Number(tag) || 0 };
    }
    case "I":
      return { kind: "incomplete" };
    case "K": {
      const at = rest.split(";").findIndex((version) => version !== "");
      return { kind: "shell-kind", name: (["bash", "zsh", "fish"] as const)[at] ?? "sh" };
    }
    case "N":
      return { kind: "no-editor" };
    case "X":
      return {
        kind: "shell-ended",
        code: Number.parseInt(rest, 10) || 0,
        cwd: nameFromMark(/^\d+;(.*)$/s.exec(rest)?.[1] ?? ""),
      };
    case "L":
      return { kind: "start-up-skipped", code: Number(rest) || 0 };
    case "G":
      return { kind: "gave-up", code: Number(rest) || 0 };
  }
  return undefined;
}

/** The last mark as tmux remembers it (OSC 7, `#{pane_path}`): the state of a pane to which no buddy was attached. */
export function parseRemembered(path: string, key: string): Mark | undefined {
  const prefix = `buddy;${key};`;
  return path.startsWith(prefix) ? parseMark(path.slice(prefix.length)) : undefined;
}

/** A visible prompt: `[buddy 8: 0]`, or the older `[agent 8: 0]`, anywhere in a line. */
export interface VisiblePrompt {
  readonly id: number;
  readonly code: number;
  readonly line: number;
  /** Columns of the prompt's brackets within the line. */
  readonly start: number;
  readonly end: number;
}

export function visiblePrompts(lines: readonly string[]): VisiblePrompt[] {
  const found: VisiblePrompt[] = [];
  for (const [line, text] of lines.entries()) {
    for (const match of text.matchAll(/\[\s*(?:buddy|agent)\s+(\d{1,9})\s*:\s*(\d{1,3})\s*\]/g)) {
      const start = match.index;
      found.push({ id: Number(match[1]), code: Number(match[2]), line, start, end: start + match[0].length });
    }
  }
  return found;
}

export type CapturedCommand =
  | { readonly kind: "ended"; readonly code: number; readonly output: string }
  | { readonly kind: "running"; readonly output: string }
  /** The screen does not show it: an error is better than the output of another command. */
  | { readonly kind: "unclear"; readonly why: string };

/**
 * What the command entered at prompt `id` printed, from a captured screen. The first `shownLines` below the prompt are
 * the text of the command.
 */
export function commandAfterPrompt(captured: string, id: number, shownLines = 0): CapturedCommand {
  const lines = captured.split("\n");
  const prompts = visiblePrompts(lines);
  const start = prompts.findLast((one) => one.id === id);
  if (start === undefined) {
    return { kind: "unclear", why: `the prompt [buddy ${id}: …] where the command began has scrolled away` };
  }
  const later = prompts.filter((one) => one.line > start.line || (one.line === start.line && one.start > start.end));
  const end = later.find((one) => one.id === id + 1);
  const jumped = later.find((one) => one.id > id + 1);
  if (end === undefined && jumped !== undefined) {
    return {
      kind: "unclear",
      why: `prompt ids jump from ${id} to ${jumped.id}: another command ran in between`,
    };
  }
  const from = start.line + 1 + shownLines;
  if (end === undefined) return { kind: "running", output: lines.slice(from).join("\n") };
  if (jumped !== undefined && jumped.line < end.line) {
    return { kind: "unclear", why: `prompt ids jump from ${id} to ${jumped.id}` };
  }
  const body = lines.slice(from, end.line).map((line) => `${line}\n`);
  const partial = lines[end.line]?.slice(0, end.start) ?? "";
  return { kind: "ended", code: end.code, output: body.join("") + partial };
}
