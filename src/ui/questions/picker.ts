/** A list to choose from with the arrow keys, a number or the first letters. */
import { clip } from "../../lib/text.ts";
import type { TerminalInput } from "../terminal/keys.ts";
import type { Theme } from "../theme.ts";

export class Picker {
  readonly #title: string;
  readonly #choices: readonly Choice[];
  readonly #done: (choice: Choice | undefined) => void;
  #selected: number;
  #typed = "";

  /** `done` gets undefined when nothing was chosen. */
  constructor(title: string, choices: readonly Choice[], selected: number, done: (choice: Choice | undefined) => void) {
    this.#title = title;
    this.#choices = choices;
    this.#selected = Math.max(0, Math.min(selected, choices.length - 1));
    this.#done = done;
  }

  handle(input: TerminalInput): void {
    if (input.kind !== "key") return;
    const name = `${input.ctrl ? "ctrl-" : ""}${input.name}`;
    switch (name) {
      case "up":
      case "ctrl-p":
        return this.#move(-1);
      case "down":
      case "ctrl-n":
      case "tab":
        return this.#move(input.shift ? -1 : 1);
      case "home":
        this.#selected = 0;
        return;
      case "end":
        this.#selected = this.#choices.length - 1;
        return;
      case "enter":
        return this.#done(this.#choices[this.#selected]);
      case "escape":
      case "ctrl-c":
      case "ctrl-d":
      case "ctrl-g":
        return this.#done(undefined);
      case "backspace":
        this.#typed = this.#typed.slice(0, -1);
        return this.#jump();
      default:
        if (input.ctrl || input.alt || [...input.name].length !== 1) return;
        this.#typed += input.name;
        this.#jump();
    }
  }

  rows(columns: number, limit: number, style: Theme): string[] {
    const height = Math.max(1, Math.min(this.#choices.length, limit - 1));
    const first = Math.max(0, Math.min(this.#selected - Math.floor(height / 2), this.#choices.length - height));
    const visible = this.#choices.slice(first, first + height);
    const widest = (part: "label" | "hint"): number =>
      Math.max(...visible.map((choice) => Bun.stringWidth(choice[part])));
    const digits = String(this.#choices.length).length;
    // Labels give way to hints, such as the id of a session, but keep a part of the row.
    const room = columns - digits - 5 - widest("hint");
    const wide = Math.min(widest("label"), Math.max(room, Math.floor(columns * 0.4)));
    const rows = visible.map((choice, index) => {
      const active = first + index === this.#selected;
      const number = String(first + index + 1).padStart(digits);
      const text = clip(choice.label, wide);
      const label = `${active ? "›" : " "} ${number} ${text}`;
      const padding = choice.hint === "" ? "" : " ".repeat(Math.max(0, wide - Bun.stringWidth(text)) + 2);
      return clip(`${active ? style.bold(label) : label}${padding}${style.grey(choice.hint)}`, columns);
    });
    const left = columns - Bun.stringWidth(this.#title) - 1;
    const keys = KEYS.find((text) => text.length <= left) ?? "";
    return [clip(`${this.#title} ${this.#typed === "" ? style.grey(keys) : this.#typed}`, columns), ...rows];
  }

  #move(by: number): void {
    this.#typed = "";
    this.#selected = (this.#selected + by + this.#choices.length) % this.#choices.length;
  }

  #jump(): void {
    if (this.#typed === "") return;
    const number = Number(this.#typed);
    const wanted = this.#typed.toLowerCase();
    const found =
      Number.isInteger(number) && number >= 1 && number <= this.#choices.length
        ? number - 1
        : this.#choices.findIndex((choice) => choice.label.toLowerCase().startsWith(wanted));
    if (found >= 0) {
      this.#selected = found;
      return;
    }
    // No label begins like that: the search starts again with the last letter.
    const again = this.#typed.length > 1;
    this.#typed = again ? this.#typed.slice(-1) : "";
    if (again) this.#jump();
  }
}

/** The longest that fits after the title is shown. */
const KEYS = [
  "(Up/Down, number or first letters; Enter; Esc cancels)",
  "(Up/Down; Enter; Esc cancels)",
  "(Enter; Esc cancels)",
  "(Enter; Esc)",
];

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly hint: string;
}
