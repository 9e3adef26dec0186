/** A line that is being typed at a prompt, as the screen shows it, and text that only looks like one. */
import { ScreenText } from "../output/screen-text.ts";

const MAX_TYPED_BYTES = 8192;
const GAP = "\0";
const NEWLINE = 10;
const WRITTEN = /[^\0]|$/;
/** How mksh and ksh show that the line is longer. */
const SCROLLED = /[\s\0]*[<>+*]\s*$/;

/** Restores an erased line, in shells that scroll it: the screen does not show all of it. */
export const YANK = "\u0019";
/** Recalls the line that was run last. */
export const RECALL = "\u0010";
/** How mksh shows the bytes of a character that it does not know. */
export const SHOWN_BYTES = /\\x[0-9A-F]{2}/;

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
export const OWN_SCRIPT = /(?:^|\s)\\?\. \S*\/buddy[-/]\S*\/\d+\.sh'?(?: #.*)?$/;
