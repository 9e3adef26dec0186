/** A line typed at a prompt, as the screen shows it; text that only looks like one; the effect of keys on it. */
import { ScreenText } from "../output/screen-text.ts";
import { shownName } from "../../lib/byte-names.ts";
import { words } from "../../lib/text.ts";
import { BuddyError } from "../../lib/errors.ts";
import type { ShellPlace } from "../target.ts";

const MAX_TYPED_BYTES = 8192;
const GAP = "\0";
const NEWLINE = 10;
const WRITTEN = /[^\0]|$/;
/** How mksh and ksh show that the line is longer. */
const SCROLLED = /[\s\0]*[<>+*]\s*$/;

/** Restores an erased line, in shells that scroll it: the screen does not show all of it. */
export const YANK = "\u0019";

interface PromptBefore {
  /** What the shell drew before the line: decides where it begins and wraps. */
  readonly prompt: Buffer;
  readonly width: () => number;
  /** The shell prints a newline only when the line is entered: text after it was not typed. */
  readonly isOneRow?: boolean;
}

export class TypedLine {
  readonly #after: PromptBefore | undefined;
  /** What was typed before a newline came. */
  #before: string | undefined;
  #bytes = 0;
  /** Rendered on demand, since for most lines that is never needed. */
  readonly #unread: Buffer[] = [];
  #begin = 0;
  #drawn: ScreenText | undefined;

  constructor(after?: PromptBefore) {
    this.#after = after;
  }

  write(bytes: Buffer): void {
    if (this.#after?.isOneRow === true && bytes.includes(NEWLINE)) this.#before ??= this.text();
    this.#bytes += bytes.length;
    if (this.#bytes < MAX_TYPED_BYTES) this.#unread.push(bytes);
  }

  text(): string {
    const lines = this.#lines();
    // busybox prints a newline at the end of a row to continue in the next one.
    const isWhole = this.#before === undefined || lines.length === 1;
    return (isWhole ? lines.join(" ") : `${this.#before}${lines.at(-1)}`).trim();
  }

  /** The line that was run, for shells that do not report it; "" if it was abandoned with Ctrl-C. */
  entered(): string {
    const [first = ""] = this.#lines();
    return first.includes("^C") ? "" : first.trim();
  }

  /** The editor shows only a part of the line, over the prompt: mksh and ksh do not wrap lines. */
  get isScrolled(): boolean {
    return this.#bytes > 0 && !/^(?:\0|\n|$)/.test(this.#screen.pending()) && this.#begin > 0;
  }

  get #screen(): ScreenText {
    this.#drawn ??= this.#empty();
    for (const bytes of this.#unread.splice(0)) this.#drawn.write(bytes);
    return this.#drawn;
  }

  #empty(): ScreenText {
    const width = this.#after?.width();
    const empty = new ScreenText(() => {}, GAP, width);
    if (this.#after === undefined || width === undefined) return empty;
    const prompt = new ScreenText(() => {}, GAP, width);
    prompt.write(this.#after.prompt);
    this.#begin = prompt.column % width;
    if (this.#begin > 0) empty.write(Buffer.from(`\u001b[${this.#begin}C`));
    return empty;
  }

  /** Without a right prompt, which is drawn after a jump and is neither first in the line nor before the cursor. */
  #lines(): string[] {
    const lines = this.#screen.pending().split("\n");
    if (this.isScrolled) return [`…${lines[0]?.replace(SCROLLED, "")}`];
    return lines.map((line, at) => {
      const start = line.search(WRITTEN);
      const isBehind = at === lines.length - 1 && start > this.#screen.column;
      return isBehind ? "" : (line.slice(start).split(GAP)[0] ?? "");
    });
  }
}

/**
 * Whether the line is a reply of the terminal to a query (device attributes, cursor position, colours, versions) that
 * the program did not read: after binary data was printed, for example.
 */
export function isTerminalReply(line: string): boolean {
  const rest = line.replace(/\d*;?rgb:[\da-f/]+|>\|tmux [\w.-]+/g, "0c").trim();
  // The line editor has removed parts of them.
  return /\d[cRnty]/.test(rest) && /^[\d;?>=cRntyGP^[\]\\\s]+$/.test(rest);
}

/** The line with which buddy runs a script in a shell without a line editor. */
export const OWN_SCRIPT = /(?:^|\s)\\?\. \S*\/buddy[-/]\S*\/\d+\.sh'?$/;

export interface KeysInput {
  readonly keys?: string | readonly string[] | undefined;
  readonly literal_text?: string | undefined;
  readonly enter?: boolean | undefined;
}

export interface TypedLines {
  /** Entered with Enter, in this order. */
  readonly lines: readonly string[];
  /** The line afterwards. */
  readonly rest: string;
  /** A key with an unknown effect in the shell's editor: history, completion, a move of the cursor. */
  readonly unknown: string | undefined;
}

/** `before`: the text that is already in the line. */
export function typedLines(before: string, input: KeysInput): TypedLines {
  const lines: string[] = [];
  let rest = before;
  let unknown: string | undefined;
  const enter = () => {
    lines.push(rest);
    rest = "";
  };
  const type = (text: string) => {
    for (const char of text) {
      if (char === "\n" || char === "\r") enter();
      // oxlint-disable-next-line no-control-regex
      else if (/[\0-\x1f\x7f]/.test(char)) unknown ??= "a control character";
      else rest += char;
    }
  };
  type(input.literal_text ?? "");
  for (const key of keyList(input.keys)) {
    if (!isKeyName(key)) type(key);
    else if (/^(?:Enter|KPEnter|C-m|C-j|\^M|\^J)$/.test(key)) enter();
    else if (key === "Space") rest += " ";
    else if (/^(?:C-[cu]|\^[CU])$/.test(key)) rest = "";
    else if (/^(?:BSpace|C-h|\^H)$/.test(key)) rest = [...rest].slice(0, -1).join("");
    else unknown ??= key;
  }
  if (input.enter === true) enter();
  return { lines: lines.filter((line) => line.trim() !== ""), rest: rest.trim() === "" ? "" : rest, unknown };
}

export function keyList(keys: KeysInput["keys"]): readonly string[] {
  if (keys === undefined) return [];
  return (typeof keys === "string" ? keys.split(/\s+/) : keys).filter((key) => key !== "");
}

/** Anything else is typed letter by letter. */
export function isKeyName(key: string): boolean {
  return /^(?:[CMS]-)+.+$|^\^.$|^F\d+$|^KP.+$|^0x[\da-f]+$|^User\d+$|^Mouse/i.test(key) || NAMES.has(key.toLowerCase());
}

/** Whether a printable character would reach the program: buddy types none at a password prompt. */
export function hasPrintable(keys: readonly string[], text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (/[^\0-\x1f\x7f]/.test(text)) return true;
  return keys.some((key) => !isKeyName(key) || !(/^(?:C-.|\^.)$/.test(key) || SILENT.has(key.toLowerCase())));
}

/** Keys that send no printable character. */
const SILENT = new Set(
  words(`enter kpenter escape bspace tab btab up down left right home end ic insert dc delete npage ppage pagedown pageup
    pgdn pgup`),
);
const NAMES = new Set([...SILENT, ...words("space any")]);

/** Why a command that was approved for one directory does not run in another. */
export function movedAway(now: string, approved: string): string {
  return `the shell is now in ${shownName(now)}; the command was approved for ${shownName(approved)}. It did not run`;
}

/** Throws if program, user, directory or line are not those that the keys were approved for. */
export function stillThere(now: ShellPlace, then: ShellPlace): void {
  const moved = difference(now, then);
  if (moved === undefined) return;
  throw new BuddyError("tool", `${moved}: nothing was typed`, { advice: "Look at the pane with capture-pane first." });
}

function difference(now: ShellPlace, then: ShellPlace): string | undefined {
  // A tmux target such as `{last}` may mean another pane than when it was approved.
  if (now.pane !== then.pane) return `it would now be typed into ${now.pane ?? "the shared pane"}`;
  const [program, before] = [now, then].map((place) => place.program ?? "the shell");
  if (program !== before) return `${program} is now in the foreground of the pane, not ${before}`;
  if (now.user !== then.user) return `the foreground program now runs as ${now.user || "another user"}`;
  if (now.cwd !== then.cwd)
    return `the shell is now in ${shownName(now.cwd) || "another directory"}, not in ${shownName(then.cwd)}`;
  if (now.typed.trim() !== then.typed.trim()) return "the text in the line has changed";
  return undefined;
}
