/** The input line: every key, history, search and completion; knows nothing about terminals or tasks. */
import type { KeyInput, TerminalInput } from "../terminal/keys.ts";
import { type Completer, DropDown, type Offer } from "./completion.ts";
import { type History, HistorySearch } from "./history.ts";
import { type Cell, cellAt, layout, LineBuffer } from "./line-buffer.ts";

export class Editor {
  readonly buffer = new LineBuffer();
  readonly #history: History;
  readonly #complete: Completer;
  readonly #changed: () => void;
  #recalled: number | undefined;
  #draft: readonly Cell[] = [];
  #search: HistorySearch | undefined;
  #dropDown: DropDown | undefined;
  #looking: AbortController | undefined;
  /** Column that Up and Down try to keep. */
  #goal: number | undefined;
  /** Ctrl-X was pressed: Ctrl-E makes it the editor of the operator's choice. */
  #prefixed = false;
  /** Width of the view, for moving between wrapped rows. */
  view = { promptWidth: 2, columns: 79 };

  /** `changed` is called when a completion arrives later. */
  constructor(history: History, complete: Completer, changed: () => void) {
    this.#history = history;
    this.#complete = complete;
    this.#changed = changed;
  }

  get dropDown(): DropDown | undefined {
    return this.#search === undefined ? this.#dropDown : undefined;
  }

  get search(): HistorySearch | undefined {
    return this.#search;
  }

  handle(input: TerminalInput): EditorAction {
    if (input.kind === "paste") {
      if (this.#search !== undefined) this.#leaveSearch(true);
      this.buffer.paste(input.text);
      this.#edited();
      return NONE;
    }
    if (input.kind !== "key") return NONE;
    const prefixed = this.#prefixed;
    this.#prefixed = input.ctrl && input.name === "x";
    if (this.#prefixed) return NONE;
    if (prefixed && input.ctrl && input.name === "e") {
      if (this.#search !== undefined) this.#leaveSearch(true);
      this.#close();
      return { kind: "edit-outside" };
    }
    if (this.#search !== undefined) {
      const done = this.#searchKey(this.#search, input);
      if (done !== undefined) return done;
    }
    if (this.#dropDown !== undefined) {
      const done = this.#dropDownKey(this.#dropDown, input);
      if (done !== undefined) return done;
    }
    return this.#key(input);
  }

  /** Empties the line and everything that depends on it. */
  clear(): void {
    this.buffer.clear();
    this.#recalled = undefined;
    this.#search = undefined;
    this.#close();
  }

  #key(input: KeyInput): EditorAction {
    const name = `${input.ctrl ? "ctrl-" : ""}${input.alt ? "alt-" : ""}${input.name}`;
    const vertical = name === "up" || name === "down";
    if (!vertical) this.#goal = undefined;
    const { buffer } = this;
    const move = MOVES[name];
    if (move !== undefined) {
      buffer.move(move(buffer));
      this.#close();
      return NONE;
    }
    const edit = EDITS[name];
    if (edit !== undefined) {
      edit(buffer);
      this.#edited();
      return NONE;
    }
    switch (name) {
      case "enter":
        return input.shift ? this.#newline() : this.#submit();
      case "alt-enter":
      case "ctrl-enter":
        return this.#newline();
      case "up":
      case "down":
        this.#vertical(name === "up" ? -1 : 1);
        return NONE;
      case "ctrl-p":
        this.#recall(-1);
        return NONE;
      case "ctrl-n":
        this.#recall(1);
        return NONE;
      case "alt-<":
      case "alt->":
        this.#recall(name === "alt-<" ? -this.#history.entries.length : this.#history.entries.length);
        return NONE;
      case "ctrl-r":
        this.#search = new HistorySearch(this.#history, buffer.cells);
        this.#close();
        return NONE;
      case "tab":
        this.#edited(true);
        return NONE;
      case "ctrl-c":
        return { kind: "interrupt" };
      case "ctrl-d":
        if (buffer.empty) return { kind: "end" };
        buffer.delete(buffer.cursor, buffer.cursor + 1);
        this.#edited();
        return NONE;
      case "ctrl-l":
        return { kind: "clear-screen" };
      case "ctrl-z":
        return { kind: "suspend" };
      case "ctrl-o":
        return { kind: "toggle-reasoning" };
      default:
        if (input.ctrl || input.alt || [...input.name].length !== 1) return NONE;
        buffer.insert(input.name);
        this.#edited();
        return NONE;
    }
  }

  #newline(): EditorAction {
    this.buffer.insert("\n");
    this.#edited();
    return NONE;
  }

  #submit(): EditorAction {
    const text = this.buffer.text;
    this.#close();
    if (text.trim() === "") return NONE;
    const shown = this.buffer.cells.map((cell) => (typeof cell === "string" ? cell : cell.shown)).join("");
    this.clear();
    return { kind: "submit", text, shown };
  }

  #vertical(by: number): void {
    const { buffer } = this;
    const view = layout(buffer.cells, buffer.cursor, this.view.promptWidth, this.view.columns);
    const target = view.cursor.row + by;
    if (target < 0 || target >= view.rows.length) return this.#recall(by);
    this.#goal ??= view.cursor.col;
    buffer.move(cellAt(view, buffer.cells, target, this.#goal));
    this.#close();
  }

  #recall(by: number): void {
    const { entries } = this.#history;
    if (entries.length === 0) return;
    const from = this.#recalled ?? entries.length;
    if (this.#recalled === undefined) this.#draft = this.buffer.cells;
    const to = Math.max(0, Math.min(entries.length, from + by));
    if (to === from) return;
    this.#close();
    if (to === entries.length) {
      this.#recalled = undefined;
      this.buffer.set(this.#draft);
    } else {
      this.#recalled = to;
      this.buffer.recall(entries[to]!);
    }
  }

  #searchKey(search: HistorySearch, input: KeyInput): EditorAction | undefined {
    const step = search.key(input);
    if (step === "stay") return NONE;
    this.#leaveSearch(step !== "cancel");
    return step === "cancel" || step === "take" ? NONE : undefined;
  }

  #leaveSearch(take: boolean): void {
    const search = this.#search;
    this.#search = undefined;
    if (search === undefined || !take) return;
    const found = search.match;
    if (found !== undefined) this.buffer.recall(found);
  }

  #dropDownKey(list: DropDown, input: KeyInput): EditorAction | undefined {
    const name = `${input.ctrl ? "ctrl-" : ""}${input.alt ? "alt-" : ""}${input.name}`;
    switch (name) {
      case "up":
      case "ctrl-p":
        list.move(-1);
        return NONE;
      case "down":
      case "ctrl-n":
        list.move(1);
        return NONE;
      case "tab":
        if (input.shift) list.move(-1);
        else this.#take(list);
        return NONE;
      case "escape":
        this.#close();
        return NONE;
      case "enter": {
        if (!list.chosen) return undefined;
        const { complete } = list.selected;
        this.#take(list);
        return complete ? undefined : NONE;
      }
      default:
        return undefined;
    }
  }

  #take(list: DropDown): void {
    this.buffer.replaceBefore(list.replaces, list.selected.value);
    this.#edited();
  }

  /** The text changed: a recalled entry becomes a draft, the drop-down follows. */
  #edited(asked = false): void {
    this.#recalled = undefined;
    this.#looking?.abort();
    this.#looking = undefined;
    if (!asked && this.buffer.empty) {
      this.#dropDown = undefined;
      return;
    }
    const looking = new AbortController();
    const offer = this.#complete(this.buffer.before, looking.signal);
    if (!(offer instanceof Promise)) return this.#show(offer);
    this.#looking = looking;
    offer.then(
      (found) => {
        if (looking.signal.aborted) return;
        this.#show(found);
        this.#changed();
      },
      () => {
        // A directory that cannot be listed offers nothing.
        if (!looking.signal.aborted) this.#dropDown = undefined;
      },
    );
  }

  #show(offer: Offer | undefined): void {
    const typed = offer === undefined ? "" : this.buffer.before.slice(-offer.replaces);
    const useless = offer === undefined || offer.items.length === 0;
    const exact = offer?.items.length === 1 && offer.items[0]!.value.trimEnd() === typed;
    this.#dropDown = useless || exact ? undefined : new DropDown(offer);
  }

  #close(): void {
    this.#looking?.abort();
    this.#looking = undefined;
    this.#dropDown = undefined;
  }
}

export type EditorAction =
  | { readonly kind: "none" }
  /** `shown` has long pastes folded. */
  | { readonly kind: "submit"; readonly text: string; readonly shown: string }
  | { readonly kind: "interrupt" | "end" | "clear-screen" | "suspend" | "toggle-reasoning" | "edit-outside" };

const NONE: EditorAction = { kind: "none" };

const MOVES: Record<string, (buffer: LineBuffer) => number> = {
  left: (b) => b.cursor - 1,
  right: (b) => b.cursor + 1,
  "ctrl-b": (b) => b.cursor - 1,
  "ctrl-f": (b) => b.cursor + 1,
  "ctrl-a": (b) => b.lineStart,
  "ctrl-e": (b) => b.lineEnd,
  home: (b) => b.lineStart,
  end: (b) => b.lineEnd,
  "ctrl-home": () => 0,
  "ctrl-end": (b) => b.cells.length,
  "alt-b": (b) => b.wordLeft,
  "alt-f": (b) => b.wordRight,
  "alt-left": (b) => b.wordLeft,
  "alt-right": (b) => b.wordRight,
  "ctrl-left": (b) => b.wordLeft,
  "ctrl-right": (b) => b.wordRight,
};

const EDITS: Record<string, (buffer: LineBuffer) => void> = {
  backspace: (b) => b.delete(b.cursor - 1, b.cursor),
  "ctrl-h": (b) => b.delete(b.cursor - 1, b.cursor),
  delete: (b) => b.delete(b.cursor, b.cursor + 1),
  "ctrl-k": (b) => b.kill(b.cursor, killEnd(b)),
  "ctrl-u": (b) => b.kill(b.cursor, b.lineStart === b.cursor ? Math.max(0, b.cursor - 1) : b.lineStart),
  "ctrl-w": (b) => b.kill(b.cursor, b.bigWordLeft),
  "alt-backspace": (b) => b.kill(b.cursor, b.wordLeft),
  "ctrl-backspace": (b) => b.kill(b.cursor, b.wordLeft),
  "alt-d": (b) => b.kill(b.cursor, b.wordRight),
  "ctrl-delete": (b) => b.kill(b.cursor, b.wordRight),
  "ctrl-y": (b) => b.yank(),
  "ctrl-t": (b) => b.transpose(),
  "ctrl-_": (b) => b.undo(),
  "ctrl-/": (b) => b.undo(),
};

/** To the end of the line; at its end the newline itself, so that lines can be joined. */
function killEnd(buffer: LineBuffer): number {
  return buffer.lineEnd === buffer.cursor ? buffer.cursor + 1 : buffer.lineEnd;
}
