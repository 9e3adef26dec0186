/** Text that is longer than the screen, to be read with the arrow keys; the screen below it comes back afterwards. */
import { clip, withoutTabs } from "../../lib/text.ts";
import type { Theme } from "../theme.ts";
import type { TerminalInput } from "./keys.ts";

export class ScrollView {
  readonly #lines: readonly string[];
  readonly #style: Theme;
  #rows: string[] = [];
  #columns = 0;
  #height = 1;
  #top = 0;

  constructor(lines: readonly string[], style: Theme) {
    this.#lines = lines;
    this.#style = style;
  }

  /** True when the reader is done. */
  handle(input: TerminalInput): boolean {
    if (input.kind !== "key") return false;
    switch (`${input.ctrl ? "ctrl-" : ""}${input.name}`) {
      case "q":
      case "v":
      case "escape":
      case "enter":
      case "ctrl-c":
      case "ctrl-d":
        return true;
      case "up":
      case "k":
      case "ctrl-p":
        this.#move(-1);
        return false;
      case "down":
      case "j":
      case "ctrl-n":
        this.#move(1);
        return false;
      case "page-up":
      case "b":
      case "ctrl-b":
        this.#move(1 - this.#height);
        return false;
      case "page-down":
      case " ":
      case "ctrl-f":
        this.#move(this.#height - 1);
        return false;
      case "home":
      case "g":
        this.#top = 0;
        return false;
      case "end":
      case "G":
        this.#top = Number.MAX_SAFE_INTEGER;
        return false;
      default:
        return false;
    }
  }

  /** The bytes that paint it whole. */
  frame(columns: number, rows: number): string {
    if (columns !== this.#columns) this.#wrap(columns);
    this.#height = Math.max(1, rows - 1);
    this.#top = Math.max(0, Math.min(this.#top, this.#rows.length - this.#height));
    const shown = this.#rows.slice(this.#top, this.#top + this.#height);
    const last = Math.min(this.#rows.length, this.#top + this.#height);
    const share = this.#rows.length === 0 ? 100 : Math.floor((last / this.#rows.length) * 100);
    const bar = clip(` ${share}%  q or Esc returns  arrows, Space, b, g, G move`, columns);
    // Cleared before it is written: after a full row, CSI K would erase its last character.
    const body = Array.from({ length: this.#height }, (_, row) => `\x1b[K${shown[row] ?? ""}\x1b[0m`).join("\r\n");
    return `\x1b[?25l\x1b[H${body}\r\n\x1b[K${this.#style.selected(bar.padEnd(columns))}`;
  }

  #move(by: number): void {
    this.#top = Math.max(0, this.#top + by);
  }

  /** A line is wrapped, never cut: everything can be read. */
  #wrap(columns: number): void {
    this.#columns = columns;
    this.#rows = this.#lines.flatMap((line) =>
      Bun.wrapAnsi(withoutTabs(line), columns, { hard: true, trim: false, wordWrap: false }).split("\n"),
    );
  }
}

export const SCROLL_ON = "\x1b[?1049h\x1b[H";
export const SCROLL_OFF = "\x1b[?1049l\x1b[?25h";
