/** Ctrl-R: finds earlier lines while the operator types a part of them. */
import { graphemes } from "../../lib/text.ts";
import type { KeyInput } from "../terminal/keys.ts";
import type { History } from "./history.ts";
import { type Cell, textOf } from "./line-buffer.ts";

export class HistorySearch {
  readonly #history: History;
  readonly #before: readonly Cell[];
  #query = "";
  #index: number | undefined;
  #failed = false;

  constructor(history: History, before: readonly Cell[]) {
    this.#history = history;
    this.#before = before;
  }

  get query(): string {
    return this.#query;
  }

  get failed(): boolean {
    return this.#failed;
  }

  get match(): string | undefined {
    return this.#index === undefined ? undefined : this.#history.entries[this.#index];
  }

  /** What the line shows: the match, or what stood there before. */
  get shown(): string {
    return this.match ?? textOf(this.#before);
  }

  /** `take`: into the line; `run`: into the line and let the key act; `cancel`: the line as it was. */
  key(input: KeyInput): "stay" | "take" | "run" | "cancel" {
    if (input.ctrl && input.name === "r") return this.#find((this.#index ?? this.#history.entries.length) - 1);
    if (input.ctrl && input.name === "s") return this.#forward();
    if (input.ctrl && (input.name === "g" || input.name === "c")) return "cancel";
    if (input.name === "escape" || input.name === "tab") return "take";
    if (input.name === "backspace" || (input.ctrl && input.name === "h")) {
      this.#query = graphemes(this.#query).slice(0, -1).join("");
      this.#index = undefined;
      return this.#find(this.#history.entries.length - 1);
    }
    if (input.ctrl || input.alt || [...input.name].length !== 1) return "run";
    this.#query += input.name;
    return this.#find(this.#index ?? this.#history.entries.length - 1);
  }

  #find(from: number): "stay" {
    if (this.#query === "" && this.#index === undefined && from >= this.#history.entries.length - 1) {
      this.#failed = false;
      return "stay";
    }
    const found = this.#history.search(this.#query, from);
    this.#failed = found === undefined;
    if (found !== undefined) this.#index = found;
    return "stay";
  }

  #forward(): "stay" {
    const { entries } = this.#history;
    for (let index = (this.#index ?? entries.length) + 1; index < entries.length; index++) {
      if (this.#history.search(this.#query, index) === index) {
        this.#index = index;
        this.#failed = false;
        return "stay";
      }
    }
    this.#failed = true;
    return "stay";
  }
}
