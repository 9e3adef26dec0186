/** A line being typed at a prompt, as the screen shows it, and what only looks like one. */
import { ScreenText } from "../output/screen-text.ts";

const MAX_TYPED_BYTES = 8192;
const GAP = "\0";
const WRITTEN = /[^\0]|$/;

export class TypedLine {
  #bytes = 0;
  /** Read when someone asks: of most commands, as the shell draws them, no one does. */
  readonly #unread: Buffer[] = [];
  readonly #screen = new ScreenText(() => {}, GAP);

  write(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes < MAX_TYPED_BYTES) this.#unread.push(bytes);
  }

  text(): string {
    return this.#lines().join(" ").trim();
  }

  /** What was run, where the shell does not say so: nothing of a line that was given up with Ctrl-C. */
  entered(): string {
    const [first = ""] = this.#lines();
    return first.includes("^C") ? "" : first.trim();
  }

  /** A prompt at the right is drawn by a jump: it is neither what comes first in the line, nor before the cursor. */
  #lines(): string[] {
    for (const bytes of this.#unread.splice(0)) this.#screen.write(bytes);
    const lines = this.#screen.pending().split("\n");
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
export const OWN_SCRIPT = /^\. \S*\/buddy[-/]\S*\/\d+\.sh'?$/;
