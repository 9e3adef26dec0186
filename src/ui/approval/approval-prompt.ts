/** The question before something is changed: what, where and why as a small panel; one key answers it. */
import { foldNames, matchNames } from "../../lib/fold-names.ts";
import { clip } from "../../lib/text.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../policy/approvals.ts";
import { showText } from "../../policy/terminal-text.ts";
import { layout } from "../editor/layout.ts";
import type { LineBuffer } from "../editor/line-buffer.ts";
import { Editor } from "../editor/editor.ts";
import { History } from "../editor/history.ts";
import { highlight } from "../markdown/highlight.ts";
import { key, type TerminalInput } from "../terminal/keys.ts";
import type { Theme } from "../theme.ts";
import { oneLine } from "../transcript/tool-view.ts";
import { timeOfDay } from "../words.ts";
import {
  inRows,
  KEEP_KEY_NAMES,
  KEY_NAMES,
  listed,
  SET_KEY_NAMES,
  privilegedUser,
  signOf,
  stated,
} from "./question-text.ts";

export interface PromptHooks {
  answer(answer: ApprovalAnswer): void;
  /** `v`: shows the whole command or change, and comes back. */
  view?(document: readonly string[]): void;
  /** Ctrl-X Ctrl-E: the line in the operator's editor; undefined leaves it as it was. */
  editOutside?(text: string): Promise<string | undefined>;
  /** Something changed that no key caused. */
  changed?(): void;
}

export class ApprovalPrompt {
  readonly request: ApprovalRequest;
  readonly #style: Theme;
  readonly #hooks: PromptHooks;
  #mode: "choose" | "reason" | "edit" | "name" | "machines" = "choose";
  #help = false;
  #note = "";
  /** What is too long for the panel was printed above it, as far as it is printed at all. */
  #printed = false;
  readonly #editor: Editor;
  readonly #line: LineBuffer;

  constructor(request: ApprovalRequest, style: Theme, hooks: PromptHooks) {
    this.request = request;
    this.#style = style;
    this.#hooks = hooks;
    this.#editor = new Editor(
      new History(undefined),
      () => undefined,
      () => {},
    );
    this.#line = this.#editor.buffer;
  }

  /** A key is awaited, not a line. */
  get choosing(): boolean {
    return this.#mode === "choose";
  }

  /** Lines for the scrollback: what does not fit into the panel, so that nothing is approved unseen. */
  preamble(columns: number, rows: number): string[] {
    const long = this.#tooTall(columns, rows);
    this.#printed = this.#printed || long || this.#diff.length > 0;
    const diff = this.#diff;
    return [
      ...(diff.length > 0
        ? [this.#changeLine(), ...diff.slice(0, PRINTED_LINES).map((line) => this.#diffRow(line))]
        : []),
      ...(long ? this.#commandLines.slice(0, PRINTED_LINES).map((line) => `  ${line}`) : []),
    ];
  }

  /** The whole of it, to be read in a pager. */
  document(): string[] {
    return [
      ...this.#facts(Number.MAX_SAFE_INTEGER, 0),
      "",
      ...(this.request.write === undefined ? this.#commandLines : [this.#changeLine(Infinity)]),
      ...this.#diff.map((line) => this.#diffRow(line)),
    ];
  }

  /** The live rows and the cursor's place among them. */
  view(columns: number, rows: number, behind: number): { rows: string[]; cursor: { row: number; col: number } } {
    const out = this.#facts(columns, behind);
    if (this.#mode !== "choose") return this.#lineView(out, columns, rows);
    const question = this.#question(columns, rows);
    const keys = this.#help ? this.#helpRows() : [this.#style.grey(this.#keys(columns))];
    const body = [...question.rows];
    const cursor = { row: out.length + body.length - 1, col: question.col };
    const wrapped = keys.flatMap((row) => inRows(row, columns, Infinity));
    // The command stays in sight; what `a` would remember is shown whole also on a small screen.
    const fits = out.length + body.length + wrapped.length <= rows;
    const small = keys.flatMap((row) =>
      row.includes("  a  ") ? inRows(row, columns, Infinity) : [clip(row, columns)],
    );
    const below = (fits ? wrapped : small).slice(0, Math.max(1, rows - body.length));
    return { rows: [...out, ...body, ...below], cursor };
  }

  /** Shown above the line while the operator is still typing. */
  announcement(columns: number, note: string): string[] {
    const where = this.#where();
    const command = clip(this.#commandLines.join("⏎"), Math.max(10, columns - where.length));
    return [
      ...this.#facts(columns, 0).slice(0, 1),
      clip(`${this.#style.prompt(where)}${this.#style.bold(command)}`, columns),
      clip(this.#style.grey(`  ${note}`), columns),
    ];
  }

  handle(input: TerminalInput): void {
    if (this.#mode !== "choose") {
      this.#lineKey(input);
      return;
    }
    // Pasted text never answers.
    if (input.kind !== "key") return;
    this.#note = "";
    if (input.ctrl && (input.name === "c" || input.name === "d")) {
      this.#hooks.answer({ kind: "no" });
      return;
    }
    if (input.ctrl || input.alt) return;
    const letter = input.name.toLowerCase();
    if (this.request.keep !== undefined && (letter === "k" || letter === "r")) {
      this.#hooks.answer({ kind: letter === "k" ? "yes" : "no" });
      return;
    }
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
        this.#open("reason", "");
        return;
      case "a":
        this.#hooks.answer({ kind: "always" });
        return;
      case "e":
        this.#open("edit", this.request.action);
        return;
      case "v":
        this.#hooks.view?.(this.document());
        return;
      case "c":
        this.#hooks.answer({ kind: "canary" });
        return;
      case "s":
        if (this.request.machines === undefined) this.#hooks.answer({ kind: "no", stop: true });
        else this.#open("machines", "");
        return;
      default:
        this.#help = !this.#help;
    }
  }

  /** The question as lines, for line mode. */
  plainQuestion(behind: number): string[] {
    this.#printed = true;
    return [
      ...this.#facts(Number.MAX_SAFE_INTEGER, behind),
      ...`${this.#where()}${this.#commandLines.join("\n")}${this.#ask}`.split("\n"),
    ];
  }

  /** What stands before the answer in line mode. */
  plainLabel(): string {
    if (this.#mode === "reason") return "Reason (optional): ";
    if (this.#mode === "edit") return "New command (empty: keep it): ";
    if (this.#mode === "name") return this.#nameLabel();
    if (this.#mode === "machines") return MACHINES_LABEL;
    return `${listed(this.#letters())}: `;
  }

  /** An answer typed as a line, "y" or "yes"; returns what to say. */
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
    } else if (/^(v|view)$/i.test(text)) return this.document();
    else if (/^(k|keep|r|revert|y|yes|n|no|a|always|e|edit|c|canary|s|stop|select|\?|h|help)$/i.test(text)) {
      this.handle(key(text[0]!));
      const rows = this.#help ? this.#helpRows() : [];
      this.#help = false;
      return this.#note === "" ? rows : [this.#note];
    } else return [`answer ${listed(this.#letters())}`];
    return [];
  }

  /** No one is left to answer. */
  giveUp(): void {
    this.#hooks.answer({ kind: "cancelled" });
  }

  /** What can be pressed; approving only once it was said what is not shown. */
  #letters(): string[] {
    if (this.request.keep !== undefined) return ["k", "r", "v"];
    const { prefixes, editable, machines, typed } = this.request;
    const approving = this.#printed || (this.#diff.length === 0 && this.#commandLines.length <= PRINTED_LINES);
    return [
      ...(approving ? ["y"] : []),
      ...(approving && machines !== undefined && typed === undefined ? ["c"] : []),
      "n",
      ...(approving && prefixes !== undefined && this.request.answer === undefined ? ["a"] : []),
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
    const { typed } = this.request;
    if (typed !== undefined && text === typed) {
      this.#hooks.answer({ kind: "yes", typed });
      return;
    }
    this.#mode = "choose";
    this.#note = text === "" ? "" : `the name of this machine is ${this.#machineName()}; nothing was approved`;
  }

  /** Names, globs and ranges, parted by blanks or commas. */
  #choose(text: string): void {
    const names = this.request.machines?.map(({ name }) => name) ?? [];
    const only = matchNames(text.split(/\s+/), names);
    if (only.length > 0) {
      this.#hooks.answer({ kind: "choose", only });
      return;
    }
    this.#mode = "choose";
    this.#note = text === "" ? "" : `none of ${foldNames(names)} is called that; nothing was approved`;
  }

  #machineName(): string {
    return oneLine(this.request.typed ?? "");
  }

  #nameLabel(): string {
    return `Type ${this.#machineName()} to approve: `;
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

  #facts(columns: number, behind: number): string[] {
    const { request } = this;
    const style = this.#style;
    const risk =
      request.risk === "high"
        ? style.error("high risk")
        : request.risk === "medium"
          ? style.warning("medium risk")
          : "low risk";
    const traits = [risk, ...(request.mutation && request.write === undefined ? ["makes changes"] : [])];
    const more = behind > 0 ? style.grey(` · 1 of ${behind + 1} waiting`) : "";
    const place = [
      `${showText(request.where, { mode: "line" })}${request.label === undefined ? "" : ` ${style.error(oneLine(request.label))}`}`,
      ...(request.pane === undefined ? [] : [`pane ${oneLine(request.pane)}`]),
      ...(request.cwd === undefined ? [] : [`in ${showText(request.cwd, { mode: "line" })}`]),
    ];
    const rows = [
      `${style.warning("?")} ${style.bold(this.#happening())} · ${traits.join(", ")}${more}`,
      `  ${style.grey("on")} ${place.join(", ")}`,
    ];
    if (request.why !== "") rows.push(`  ${style.grey(`why: ${oneLine(request.why)}`)}`);
    if (request.understated)
      rows.push(
        `  ${style.warning(`model declared: ${stated(request.declared)} · buddy found: ${stated(request.found ?? request)}`)}`,
      );
    if (request.policy !== "") rows.push(`  ${style.grey(oneLine(request.policy))}`);
    if (request.typed !== undefined)
      rows.push(`  ${style.warning(`approving this takes the name of the machine: ${this.#machineName()}`)}`);
    if (this.#note !== "") rows.push(`  ${style.warning(this.#note)}`);
    return rows.flatMap((row) => inRows(row, columns, FACT_ROWS));
  }

  /** What will happen, in plain words. */
  #happening(): string {
    const { tool, write, privesc, action } = this.request;
    if (write !== undefined) {
      const verb = write.removes === true ? "remove" : write.creates ? "create" : "write";
      return `${verb} ${this.#path()} ${this.#size()}${privesc ? " as root (sudo)" : ""}`;
    }
    const { keep } = this.request;
    if (keep !== undefined) return `keep this change? It is reverted at ${timeOfDay(keep.until)}`;
    if (tool === "run_shell") return `run a command${privesc ? ` as ${privilegedUser(action)}` : ""}`;
    if (tool === "send-keys") return "press keys in the pane";
    return oneLine(tool.replaceAll(/[_-]/g, " "));
  }

  #path(): string {
    return showText(this.request.write?.path ?? "", { mode: "line" });
  }

  #size(): string {
    const { added, removed } = this.request.write ?? { added: 0, removed: 0 };
    return `(+${added} −${removed})`;
  }

  /** Above a difference: how large it is, and how much of it is not printed. */
  #changeLine(printed = PRINTED_LINES): string {
    const { write } = this.request;
    const hidden = this.#diff.length - printed;
    const size =
      write === undefined ? `${this.#diff.length} lines` : `${this.#path()}  +${write.added} −${write.removed}`;
    const line = `  ${size}${hidden > 0 ? `, ${hidden} lines not shown: v` : ""}`;
    return hidden > 0 ? this.#style.warning(line) : this.#style.bold(line);
  }

  #diffRow(line: string): string {
    return `  ${highlight(line, "diff", "", this.#style).text}`;
  }

  get #diff(): readonly string[] {
    const { diff = "" } = this.request;
    return (this.#diffLines ??= diff === "" ? [] : showText(diff, { mode: "command" }).replace(/\n$/, "").split("\n"));
  }

  #diffLines: readonly string[] | undefined;

  get #commandLines(): readonly string[] {
    return (this.#shownCommand ??= showText(this.request.action, { mode: "command" }).split("\n"));
  }

  #shownCommand: readonly string[] | undefined;

  #where(): string {
    return `${showText(this.request.where, { mode: "line" })}${signOf(this.request)} `;
  }

  get #ask(): string {
    return this.request.keep === undefined ? APPROVE : KEEP;
  }

  #tooTall(columns: number, rows: number): boolean {
    return this.#wrapped(columns).length > Math.max(2, Math.floor(rows / 2) - 2);
  }

  /** The question over as many rows as it takes; its end stays in one piece. */
  #wrapped(columns: number): string[] {
    const style = this.#style;
    const text = `${style.prompt(this.#where())}${style.bold(this.#commandLines.join("\n"))}`;
    const rows = text
      .split("\n")
      .flatMap((line) => Bun.wrapAnsi(line, columns, { hard: true, trim: false, wordWrap: false }).split("\n"));
    const last = rows.at(-1)!;
    const end = style.warning(this.#ask);
    if (Bun.stringWidth(last) + this.#ask.length + 1 <= columns) rows[rows.length - 1] = `${last}${end} `;
    else rows.push(`${end.replace(" --", "--")} `);
    return rows;
  }

  #question(columns: number, rows: number): { rows: string[]; col: number } {
    let shown = this.#wrapped(columns);
    if (this.#tooTall(columns, rows)) {
      const count = this.#commandLines.length;
      const hidden = count - PRINTED_LINES;
      const note = !this.#printed
        ? " (v shows it all)"
        : hidden > 0
          ? ` (${hidden} lines not shown: v)`
          : count > 1
            ? ` (all ${count} lines above)`
            : " (in full above)";
      const style = this.#style;
      const room = Math.max(4, columns - note.length - this.#ask.length - 1);
      const start = clip(`${style.prompt(this.#where())}${style.bold(this.#commandLines[0]!)}`, room);
      shown = [`${start}${style.grey(note)}${style.warning(this.#ask)} `];
    }
    return { rows: shown, col: Math.min(Bun.stringWidth(shown.at(-1)!), columns - 1) };
  }

  #keys(columns: number): string {
    const { prefixes } = this.request;
    const always = prefixes?.map((p) => `“${p.words.map(oneLine).join(" ")}${p.open ? " …" : ""}”`).join(", ");
    const letters = this.#letters().filter((letter) => letter !== "h");
    const named = (full: boolean): string =>
      letters
        .map((letter) => {
          if (letter === "a" && full) return `a always ${always}`;
          if (this.request.keep !== undefined) return `${letter} ${KEEP_KEY_NAMES[letter]}`;
          if (letter === "y" && this.request.typed !== undefined) return "y type the name";
          if (this.request.machines !== undefined && letter in SET_KEY_NAMES)
            return `${letter} ${SET_KEY_NAMES[letter]}`;
          return `${letter} ${KEY_NAMES[letter]}`;
        })
        .join("  ");
    for (const text of [named(true), named(false)]) if (Bun.stringWidth(text) <= columns) return text;
    return listed(this.#letters());
  }

  #helpRows(): string[] {
    const { prefixes } = this.request;
    const letters = this.#letters();
    const like = prefixes?.map((p) => `"${p.words.map(oneLine).join(" ")}"`).join(", ");
    const rows: [string, string][] = [
      ["y", this.request.typed === undefined ? "yes, this once" : "yes: then type the name of the machine"],
      ["n", "no; optionally tell the model why"],
      ["a", `yes, and don't ask again for ${like} this session`],
      ["e", "edit the command first; it is checked again"],
      ["v", this.request.diff === undefined ? "view the whole command" : "view the whole change"],
      ["c", "on one machine first; its result is shown, then you are asked for the others"],
      ["s", this.request.machines === undefined ? "no, and stop the task" : "choose the machines it runs on"],
    ];
    return [
      ...rows.filter(([letter]) => letters.includes(letter)).map((row) => row.join("  ")),
      "Esc  go to the input line; Esc again comes back",
      "/  type a command first (/kill, /status); the question waits",
      "Ctrl-C  no, without a reason",
    ].map((row) => this.#style.grey(`  ${row}`));
  }

  #lineView(above: string[], columns: number, rows: number): { rows: string[]; cursor: { row: number; col: number } } {
    const label = {
      reason: "Reason (optional): ",
      name: this.#nameLabel(),
      machines: MACHINES_LABEL,
      edit: "edit: ",
      choose: "",
    }[this.#mode];
    const shownLabel = clip(label, Math.max(6, Math.floor(columns / 2)));
    const view = layout(this.#line.cells, this.#line.cursor, Bun.stringWidth(shownLabel), columns);
    this.#editor.view = { promptWidth: Bun.stringWidth(shownLabel), columns };
    const height = Math.max(1, rows - above.length - 1);
    const first = Math.max(0, Math.min(view.cursor.row - height + 1, view.rows.length - height));
    const visible = view.rows
      .slice(first, first + height)
      .map((row, i) => (first + i === 0 ? this.#style.warning(shownLabel) : " ".repeat(row.indent)) + row.text);
    const keys = this.#mode === "name" ? "Enter approves  Esc back" : "Enter sends  Esc back  Ctrl-X Ctrl-E editor";
    const back = this.#style.grey(clip(keys, columns));
    return {
      rows: [...above, ...visible, ...(above.length + visible.length < rows ? [back] : [])],
      cursor: { row: above.length + view.cursor.row - first, col: view.cursor.col },
    };
  }
}

const APPROVE = " -- approve?";
const KEEP = " -- keep?";
const MACHINES_LABEL = "Machines (web01, web*, web[02-05]): ";
/** Rows that each fact about a command may take. */
const FACT_ROWS = 2;
/** Lines of a command or a difference that are printed above the panel; `v` shows the others. */
const PRINTED_LINES = 200;
