/** The question before something is changed: what, where and why as a small panel; one key answers it. */
import { foldNames, matchNames } from "../../lib/names.ts";
import { clip } from "../../lib/text.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../policy/approvals.ts";
import { showText } from "../../policy/screen/terminal-text.ts";
import { Editor } from "../editor/editor.ts";
import { History } from "../editor/history.ts";
import { type Cell, layout, type LineBuffer } from "../editor/line-buffer.ts";
import { key, type KeyInput, type TerminalInput } from "../terminal/keys.ts";
import type { Theme } from "../theme.ts";
import { KeyGuard, type TakenKeys } from "./key-guard.ts";
import { inRows, listed } from "./question-text.ts";
import { QuestionView } from "./question-view.ts";

interface PromptHooks {
  answer(answer: ApprovalAnswer): void;
  /** `v`: shows the whole command or change, and comes back. */
  view?(document: readonly string[]): void;
  /** Ctrl-X Ctrl-E: the line in the operator's editor; undefined leaves it as it was. */
  editOutside?(text: string): Promise<string | undefined>;
  /** Something changed that no key caused. */
  changed?(): void;
  /** Escape: to the input line, where there is one. */
  leave?(): void;
  /** What other keys do on this screen, for the help. */
  readonly otherKeys: readonly string[];
}

export class ApprovalPrompt {
  readonly request: ApprovalRequest;
  readonly #style: Theme;
  readonly #hooks: PromptHooks;
  #mode: "choose" | "reason" | "edit" | "name" | "machines" = "choose";
  #help = false;
  #note = "";
  /** Of the screen it was last shown on. */
  #columns = 80;
  #size = "";
  readonly #view: QuestionView;
  readonly #editor: Editor;
  readonly #line: LineBuffer;
  readonly #guard = new KeyGuard();
  #answered = false;
  #alwaysFits = true;

  constructor(request: ApprovalRequest, style: Theme, hooks: PromptHooks) {
    this.request = request;
    this.#view = new QuestionView(request, style);
    this.#style = style;
    this.#hooks = {
      ...hooks,
      answer: (answer) => {
        this.#answered = true;
        hooks.answer(answer);
      },
    };
    this.#editor = new Editor(
      new History(undefined),
      () => undefined,
      () => {},
    );
    this.#line = this.#editor.buffer;
  }

  /** It waits for a key, not for a line. */
  get choosing(): boolean {
    return this.#mode === "choose";
  }

  /** Lines for the scrollback: what does not fit into the panel, so that nothing is approved unseen. */
  preamble(columns: number, rows: number): string[] {
    return this.#view.preamble(columns, rows);
  }

  /** The live rows and the cursor's place among them. */
  view(columns: number, rows: number, behind: number): { rows: string[]; cursor: { row: number; col: number } } {
    this.#columns = columns;
    // Laid out for another size it has to be read again: its first frame there asks for no key yet.
    const size = `${columns}×${rows}`;
    if (size !== this.#size) this.#guard.hidden();
    this.#size = size;
    const facts = (below: number) => this.#view.facts(columns, behind, this.#note, rows - below);
    if (this.#mode !== "choose") {
      // What is answered stays in sight; an edit shows it anyway.
      const command = this.#mode === "edit" ? [] : [this.#view.command(columns)];
      return this.#lineView([...facts(command.length + LINE_ROWS), ...command], columns, rows);
    }
    const { open } = this.#guard;
    const question = this.#view.question(columns, rows, open);
    this.#alwaysFits = true;
    const letters = this.#letters();
    const keys = this.#keyRows(letters, columns, open);
    const body = [...question.rows];
    const wrapped = keys.flatMap((row) => inRows(row, columns, Infinity));
    const out = facts(body.length + (this.#help ? 1 : wrapped.length));
    const cursor = { row: out.length + body.length - 1, col: question.col };
    // The command stays in sight; what `a` would remember is shown whole also on a small screen.
    const fits = out.length + body.length + wrapped.length <= rows;
    const small = keys.flatMap((row) =>
      row.includes("  a  ") || row.includes(ALWAYS) ? inRows(row, columns, Infinity) : [clip(row, columns)],
    );
    const room = Math.max(1, rows - body.length);
    if (open && !this.#help && !fits && small.length > room && letters.includes("a")) {
      // What it would allow cannot be shown.
      this.#alwaysFits = false;
      const others = this.#view.keys(this.#letters(), columns).map((row) => clip(row, columns));
      return { rows: [...out, ...body, ...others.slice(0, room)], cursor };
    }
    return { rows: [...out, ...body, ...(fits ? wrapped : small).slice(0, room)], cursor };
  }

  #keyRows(letters: readonly string[], columns: number, open: boolean): string[] {
    if (this.#help) return this.#view.help(letters, this.#hooks.otherKeys);
    return open ? this.#view.keys(letters, columns) : [this.#style.grey(clip(NOT_YET, columns))];
  }

  /** Shown above the line while the operator is still typing. */
  announcement(columns: number, note: string): string[] {
    return [
      ...this.#view.facts(columns, 0, this.#note).slice(0, 1),
      this.#view.command(columns),
      clip(this.#style.grey(`  ${note}`), columns),
    ];
  }

  /** A frame with the whole question has left for the terminal. */
  shown(): void {
    this.#guard.shown();
  }

  hidden(): void {
    this.#guard.hidden();
  }

  /** When `look` is to be called (milliseconds since the epoch). */
  get due(): number | undefined {
    return this.#guard.due;
  }

  /** Keys and pastes that came together; returns those that were not meant for the question. */
  take(inputs: readonly TerminalInput[]): readonly TerminalInput[] {
    if (this.#mode === "choose") return this.#follow(this.#guard.take(inputs));
    for (const [index, input] of inputs.entries()) {
      if (this.#answered || this.choosing) return inputs.slice(index);
      this.#lineKey(input);
    }
    return [];
  }

  /** Time has passed without a key. */
  look(): readonly TerminalInput[] {
    return this.#mode === "choose" ? this.#follow(this.#guard.look()) : [];
  }

  #follow({ answer, refused }: TakenKeys): readonly TerminalInput[] {
    for (const one of answer) {
      if (this.choosing) this.#key(one);
      else this.#lineKey(one);
    }
    if (refused.length > 0) this.#note = NOT_COUNTED;
    return refused;
  }

  #key(input: KeyInput): void {
    this.#note = "";
    if (input.name === "escape" && !input.ctrl && !input.alt) {
      if (this.#help) this.#help = false;
      else this.#hooks.leave?.();
      return;
    }
    if (input.ctrl && (input.name === "c" || input.name === "d")) return this.#hooks.answer({ kind: "no" });
    if (input.ctrl || input.alt) return;
    const letter = input.name.toLowerCase();
    if (this.request.keep !== undefined && (letter === "k" || letter === "r"))
      return this.#hooks.answer({ kind: letter === "k" ? "yes" : "no" });
    if (!this.#letters().includes(letter)) {
      this.#note = this.#refusal(letter);
      return;
    }
    switch (letter) {
      case "y":
        if (this.request.typed === undefined) this.#hooks.answer({ kind: "yes" });
        else this.#open("name", "");
        return;
      case "n":
        return this.#open("reason", "");
      case "a":
        return this.#hooks.answer({ kind: "always" });
      case "e":
        return this.#open("edit", this.request.action);
      case "v":
        return this.#hooks.view?.(this.#view.document(this.#columns));
      case "c":
        return this.#hooks.answer({ kind: "canary" });
      case "s":
        if (this.request.machines === undefined) this.#hooks.answer({ kind: "no", stop: true });
        else this.#open("machines", "");
        return;
      default:
        this.#help = !this.#help;
    }
  }

  /** The question as lines, for line mode. */
  plainQuestion(behind: number, columns: number): string[] {
    this.#columns = columns;
    return this.#view.plain(behind, columns, this.#letters().includes("a"));
  }

  /** What precedes the answer in line mode. */
  plainLabel(): string {
    if (this.#mode === "reason") return "Reason (optional): ";
    if (this.#mode === "edit") return "New command (empty: keep it): ";
    if (this.#mode === "name") return this.#nameLabel();
    if (this.#mode === "machines") return MACHINES_LABEL;
    return `${listed(this.#letters())}: `;
  }

  /** An answer typed as a line, "y" or "yes"; returns what to print. */
  plainAnswer(line: string): readonly string[] {
    const text = line.trim();
    if (this.#mode === "reason") this.#deny(text);
    else if (this.#mode === "name" || this.#mode === "machines") {
      if (this.#mode === "name") this.#approveByName(text);
      else this.#choose(text);
      return this.#note === "" ? [] : [this.#note];
    } else if (this.#mode === "edit") {
      this.#mode = "choose";
      if (text !== "" && text !== this.request.action.trim()) this.#hooks.answer({ kind: "edit", command: line });
    } else if (/^(v|view)$/i.test(text)) return this.#view.document(this.#columns);
    else if (/^(k|keep|r|revert|y|yes|n|no|a|always|e|edit|c|canary|s|stop|select|\?|h|help)$/i.test(text)) {
      this.#key(key(text[0]!));
      const rows = this.#help ? this.#view.help(this.#letters(), this.#hooks.otherKeys) : [];
      this.#help = false;
      return this.#note === "" ? rows : [this.#note];
    } else return [`answer ${listed(this.#letters())}`];
    return [];
  }

  /** The terminal is gone. */
  giveUp(): void {
    this.#hooks.answer({ kind: "cancelled" });
  }

  /** The keys that count; those that approve only once it is clear what is not shown. */
  #letters(): string[] {
    if (this.request.keep !== undefined) return ["k", "r", "v"];
    const { prefixes, editable, machines, typed } = this.request;
    const approving = this.#view.approvable;
    return [
      ...(approving ? ["y"] : []),
      ...(approving && machines !== undefined && typed === undefined ? ["c"] : []),
      "n",
      ...(approving && this.#alwaysFits && prefixes !== undefined && this.request.answer === undefined ? ["a"] : []),
      ...(editable ? ["e"] : []),
      "v",
      "s",
      "?",
      "h",
    ];
  }

  #refusal(letter: string): string {
    if (letter === "a") return "this can only be approved on its own: y or n";
    if (letter === "e") return "this cannot be edited: y or n";
    return `press ${listed(this.#letters())}`;
  }

  #deny(reason: string): void {
    this.#hooks.answer(reason === "" ? { kind: "no" } : { kind: "no", reason });
  }

  /** A wrong name approves nothing: back to the question. */
  #approveByName(text: string): void {
    const { typed, alsoTyped = [] } = this.request;
    if (typed !== undefined && [typed, ...alsoTyped].includes(text))
      return this.#hooks.answer({ kind: "yes", typed: text });
    this.#mode = "choose";
    const names = this.#view.severalNames ? "the names of these machines are" : "the name of this machine is";
    this.#note = text === "" ? "" : `${names} ${this.#view.machineName()}; nothing was approved`;
  }

  /** Names, globs and ranges, separated by blanks or commas. */
  #choose(text: string): void {
    const names = this.request.machines?.map(({ name }) => name) ?? [];
    const only = matchNames(text.split(/\s+/), names);
    if (only.length > 0) return this.#hooks.answer({ kind: "choose", only });
    this.#mode = "choose";
    this.#note = text === "" ? "" : `none of ${foldNames(names)} has that name; nothing was approved`;
  }

  #nameLabel(): string {
    return `Type ${this.#view.machineName()} to approve: `;
  }

  #open(mode: "reason" | "edit" | "name" | "machines", text: string): void {
    this.#mode = mode;
    this.#line.clear();
    this.#line.setText(text);
  }

  #lineKey(input: TerminalInput): void {
    // One step back; only an answer denies.
    if (input.kind === "key" && (input.name === "escape" || (input.ctrl && input.name === "c"))) {
      this.#mode = "choose";
      return;
    }
    if (input.kind === "key" && input.name === "enter" && !input.alt && !input.shift) {
      const text = this.#line.text.trim();
      if (this.#mode === "reason") this.#deny(text);
      else if (this.#mode === "name") this.#approveByName(text);
      else if (this.#mode === "machines") this.#choose(text);
      else if (text === "" || text === this.request.action.trim()) this.#mode = "choose";
      else this.#hooks.answer({ kind: "edit", command: this.#line.text });
      return;
    }
    if (this.#editor.handle(input).kind !== "edit-outside" || this.#mode === "name" || this.#mode === "machines")
      return;
    void this.#hooks.editOutside?.(this.#line.text).then((text) => {
      if (text !== undefined) this.#line.setText(text);
      this.#hooks.changed?.();
    });
  }

  #lineView(above: string[], columns: number, rows: number): { rows: string[]; cursor: { row: number; col: number } } {
    const label = {
      reason: "Reason (optional): ",
      name: this.#nameLabel(),
      machines: MACHINES_LABEL,
      edit: "edit: ",
      choose: "",
    }[this.#mode];
    const shownLabel = clip(label, Math.max(6, columns - 12));
    const { cells, cursor } = this.#mode === "edit" ? exactly(this.#line) : this.#line;
    const view = layout(cells, cursor, Bun.stringWidth(shownLabel), columns);
    this.#editor.view = { promptWidth: Bun.stringWidth(shownLabel), columns };
    const height = Math.max(1, rows - above.length - 1);
    const first = Math.max(0, Math.min(view.cursor.row - height + 1, view.rows.length - height));
    const visible = view.rows
      .slice(first, first + height)
      .map((row, i) => (first + i === 0 ? this.#style.warning(shownLabel) : " ".repeat(row.indent)) + row.text);
    const lines = view.rows.length;
    const size = lines > visible.length ? `rows ${first + 1}-${first + visible.length} of ${lines}  ` : "";
    const keys = LINE_KEYS[this.#asksNext() ? "chosen" : this.#mode];
    const back = this.#style.grey(clip(`${size}${keys}`, columns));
    return {
      rows: [...above, ...visible, ...(above.length + visible.length < rows ? [back] : [])],
      cursor: { row: above.length + view.cursor.row - first, col: view.cursor.col },
    };
  }

  /** Choosing machines approves nothing yet where a name must be typed. */
  #asksNext(): boolean {
    return this.#mode === "machines" && this.request.typed !== undefined;
  }
}

/** As the question shows a command: what is not plainly visible is written out, and nothing is folded. */
function exactly({ cells, cursor }: LineBuffer): { readonly cells: readonly Cell[]; readonly cursor: number } {
  const shown = cells.map((cell) => {
    const text = showText(typeof cell === "string" ? cell : cell.text, { mode: "command" });
    return typeof cell === "string" && text !== cell && cell !== "\n" && cell !== "\t"
      ? [{ text: cell, shown: text }]
      : typeof cell === "string"
        ? [cell]
        : [...text];
  });
  return { cells: shown.flat(), cursor: shown.slice(0, cursor).reduce((sum, one) => sum + one.length, 0) };
}

/** The keys of each line that can be typed. */
const LINE_KEYS = {
  reason: "Enter denies  Esc back  Ctrl-X Ctrl-E editor",
  edit: "Enter runs it  Esc back  Ctrl-X Ctrl-E editor",
  name: "Enter approves  Esc back",
  machines: "Enter approves for these  Esc back",
  chosen: "Enter chooses these  Esc back",
  choose: "",
} as const;

const ALWAYS = "a always ";
const NOT_YET = "keys count in a moment";
export const NOT_COUNTED = "what was typed did not count: one key answers, pressed alone";

/** A typed line and its keys. */
const LINE_ROWS = 2;

const MACHINES_LABEL = "Machines (web01, web*, web[02-05]): ";
