/** The drop-down below the input line: what could be typed here, and what is chosen. */
import { clip } from "../../lib/text.ts";
import type { Theme } from "../theme.ts";

export class DropDown {
  readonly #offer: Offer;
  #selected = 0;
  /** The operator moved the selection: Enter takes it instead of sending the line. */
  #chosen = false;

  constructor(offer: Offer) {
    this.#offer = offer;
  }

  get items(): readonly Suggestion[] {
    return this.#offer.items;
  }

  get replaces(): number {
    return this.#offer.replaces;
  }

  get selected(): Suggestion {
    return this.#offer.items[this.#selected]!;
  }

  get chosen(): boolean {
    return this.#chosen;
  }

  move(by: number): void {
    const count = this.#offer.items.length;
    this.#selected = (this.#selected + by + count) % count;
    this.#chosen = true;
  }

  rows(columns: number, limit: number, style: Theme): string[] {
    const { items } = this.#offer;
    const height = Math.max(1, Math.min(limit, items.length, VISIBLE));
    const first = Math.max(0, Math.min(this.#selected - Math.floor(height / 2), items.length - height));
    const labels = items.slice(first, first + height).map((item) => item.label);
    const wide = Math.min(Math.max(...labels.map((text) => Bun.stringWidth(text))), Math.floor(columns * 0.6));
    return items.slice(first, first + height).map((item, index) => {
      const active = first + index === this.#selected;
      const label = clip(item.label, wide);
      const more =
        index === height - 1 && first + height < items.length ? ` (${items.length - first - height} more)` : "";
      const room = columns - wide - 4;
      const hint = clip(item.hint, room - Bun.stringWidth(more)) + clip(more, room);
      const padding = hint === "" ? "" : " ".repeat(Math.max(0, wide - Bun.stringWidth(label)) + 2);
      return `${active ? "› " : "  "}${active ? style.bold(label) : label}${padding}${style.grey(hint)}`;
    });
  }
}

export interface Suggestion {
  /** Text that replaces what was typed. */
  readonly value: string;
  readonly label: string;
  readonly hint: string;
  /** Nothing more has to follow it: Enter may run it at once. */
  readonly complete: boolean;
}

export interface Offer {
  /** Characters before the cursor that a suggestion replaces. */
  readonly replaces: number;
  readonly items: readonly Suggestion[];
}

/** Looks at the text before the cursor; undefined when there is nothing to offer. */
export type Completer = (before: string, signal: AbortSignal) => Offer | undefined | Promise<Offer | undefined>;

const VISIBLE = 8;
