/** A line being typed at a prompt, as the screen shows it, and what only looks like one. */
import { ScreenText } from "../output/screen-text.ts";

const MAX_TYPED_BYTES = 8192;
const GAP = "\0";
const NEWLINE = 10;
const WRITTEN = /[^\0]|$/;
/** How mksh and ksh say that there is more. */
const SCROLLED = /[\s\0]*[<>+*]\s*$/;

/** Brings back a line that was erased, in shells that scroll it: what is on the screen is not all of it. */
export const YANK = "\u0019";

interface PromptBefore {
  /** What the shell drew before the line: where it begins, and so where it wraps. */
  readonly prompt: Buffer;
  readonly width: () => number;
  /** The shell ends a row only when the line is entered: what comes with a newline was not typed. */
  readonly isOneRow?: boolean;
}

export class TypedLine {
  readonly #after: PromptBefore | undefined;
  /** What was typed before a newline came. */
  #before: string | undefined;
  #bytes = 0;
  /** Read when someone asks: of most commands, as the shell draws them, no one does. */
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
    // A newline at the end of a row is how busybox goes on in the next one.
    const isWhole = this.#before === undefined || lines.length === 1;
    return (isWhole ? lines.join(" ") : `${this.#before}${lines.at(-1)}`).trim();
  }

  /** What was run, where the shell does not say so: nothing of a line that was given up with Ctrl-C. */
  entered(): string {
    const [first = ""] = this.#lines();
    return first.includes("^C") ? "" : first.trim();
  }

  /** The editor shows only a part of it, where the prompt was: mksh and ksh do not wrap lines. */
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

  /** A prompt at the right is drawn by a jump: it is neither what comes first in the line, nor before the cursor. */
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
 * What a terminal answers to a program that asked (device attributes, cursor position, colours, versions), as it is
 * left in a line when the program did not read it: after binary data was printed, say.
 */
export function isTerminalReply(line: string): boolean {
  const rest = line.replace(/\d*;?rgb:[\da-f/]+|>\|tmux [\w.-]+/g, "0c").trim();
  // The line editor has swallowed parts of them.
  return /\d[cRnty]/.test(rest) && /^[\d;?>=cRntyGP^[\]\\\s]+$/.test(rest);
}

/** How buddy itself runs a script, in a shell that cannot be given a line. */
export const OWN_SCRIPT = /(?:^|\s)\\?\. \S*\/buddy[-/]\S*\/\d+\.sh'?$/;
