/** A line being typed at a prompt, as the screen shows it, and what only looks like one. */
import { ScreenText } from "../output/screen-text.ts";

const MAX_TYPED_BYTES = 8192;

export class TypedLine {
  #bytes = 0;
  readonly #screen = new ScreenText(() => {});

  write(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes < MAX_TYPED_BYTES) this.#screen.write(bytes);
  }

  text(): string {
    return this.#screen.pending().split("\n").join(" ").trim();
  }

  firstLine(): string {
    return this.#screen.pending().split("\n")[0]?.trim() ?? "";
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
