/** The question before something is changed: what, where, how risky; y, n, a, e or ?. */
import { clip } from "../../lib/graphemes.ts";
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

export class ApprovalPrompt {
  readonly request: ApprovalRequest;
  readonly #style: Theme;
  readonly #answer: (answer: ApprovalAnswer) => void;
  #mode: "choose" | "reason" | "edit" = "choose";
  #help = false;
  #note = "";
  readonly #editor: Editor;
  readonly #line: LineBuffer;

  constructor(request: ApprovalRequest, style: Theme, answer: (answer: ApprovalAnswer) => void) {
    this.request = request;
    this.#style = style;
    this.#answer = answer;
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

  /** Lines for the scrollback: what does not fit into a question, so that nothing is approved unseen. */
  preamble(columns: number, rows: number): string[] {
    const lines: string[] = [];
    const { diff } = this.request;
    if (diff !== undefined && diff !== "") {
      for (const line of showText(diff, { mode: "command" }).replace(/\n$/, "").split("\n")) {
        lines.push(`  ${highlight(line, "diff", "", this.#style).text}`);
      }
    }
    if (this.#tooTall(columns, rows)) {
      for (const line of this.#command().split("\n")) lines.push(`  ${line}`);
    }
    return lines;
  }

  /** The live rows and the cursor's place among them. */
  view(columns: number, rows: number, waiting: number): { rows: string[]; cursor: { row: number; col: number } } {
    const out = this.#facts(columns, waiting);
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
    const where = `${showText(this.request.where, { mode: "line" })}$ `;
    const command = clip(this.#command().replaceAll("\n", "⏎"), Math.max(10, columns - where.length));
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
      this.#answer({ kind: "no" });
      return;
    }
    if (input.ctrl || input.alt) return;
    switch (input.name.toLowerCase()) {
      case "y":
        this.#answer({ kind: "yes" });
        return;
      case "n":
        this.#open("reason", "");
        return;
      case "a":
        if (this.request.prefixes === undefined) this.#note = "this one can only be approved by itself: y or n";
        else this.#answer({ kind: "always" });
        return;
      case "e":
        if (this.request.editable) this.#open("edit", this.request.action);
        else this.#note = "this cannot be edited: y or n";
        return;
      case "?":
      case "h":
        this.#help = !this.#help;
        return;
      default:
        this.#note = `press ${this.#letters()}`;
    }
  }

  #letters(): string {
    const { prefixes, editable } = this.request;
    return `y, n${prefixes === undefined ? "" : ", a"}${editable ? ", e" : ""} or ?`;
  }

  /** The question as lines, for line mode. */
  plainQuestion(): string[] {
    return [
      ...this.#facts(Number.MAX_SAFE_INTEGER, 0),
      ...`${showText(this.request.where, { mode: "line" })}$ ${this.#command()} -- approve?`.split("\n"),
    ];
  }

  /** What stands before the answer in line mode. */
  plainLabel(): string {
    if (this.#mode === "reason") return "reason (empty: none): ";
    if (this.#mode === "edit") return "new command (empty: leave it): ";
    return `${this.#letters()}: `;
  }

  /** An answer typed as a line, "y" or "yes"; returns what to say when it was none. */
  plainAnswer(line: string): readonly string[] {
    const text = line.trim();
    if (this.#mode === "reason") this.#answer(text === "" ? { kind: "no" } : { kind: "no", reason: text });
    else if (this.#mode === "edit") {
      this.#mode = "choose";
      if (text !== "" && text !== this.request.action.trim()) this.#answer({ kind: "edit", command: line });
    } else if (/^(y|yes|n|no|a|always|e|edit|\?|h|help)$/i.test(text)) {
      this.handle(key(text[0]!));
      const rows = this.#help ? this.#helpRows() : [];
      this.#help = false;
      return this.#note === "" ? rows : [this.#note];
    } else return [`answer ${this.#letters()}`];
    return [];
  }

  /** Nobody is there any more. */
  giveUp(): void {
    this.#answer({ kind: "cancelled" });
  }

  #open(mode: "reason" | "edit", text: string): void {
    this.#mode = mode;
    this.#line.clear();
    this.#line.setText(text);
  }

  #lineKey(input: TerminalInput): void {
    if (input.kind === "key" && (input.name === "escape" || (input.ctrl && input.name === "c"))) {
      if (this.#mode === "reason") this.#answer({ kind: "no" });
      this.#mode = "choose";
      return;
    }
    if (input.kind === "key" && input.name === "enter" && !input.alt && !input.shift) {
      const text = this.#line.text.trim();
      if (this.#mode === "reason") this.#answer(text === "" ? { kind: "no" } : { kind: "no", reason: text });
      else if (text === "" || text === this.request.action.trim()) this.#mode = "choose";
      else this.#answer({ kind: "edit", command: this.#line.text });
      return;
    }
    this.#editor.handle(input);
  }

  #facts(columns: number, waiting: number): string[] {
    const { request } = this;
    const style = this.#style;
    const risk =
      request.risk === "high"
        ? style.error("high risk")
        : request.risk === "medium"
          ? style.warning("medium risk")
          : "low risk";
    const traits = [
      risk,
      ...(request.mutation ? ["changes something"] : []),
      ...(request.privesc ? ["as another user"] : []),
    ];
    const more = waiting > 0 ? style.grey(` · ${waiting} more waiting`) : "";
    const rows = [`${style.warning("?")} ${oneLine(request.tool)}: ${traits.join(", ")}${more}`];
    if (request.why !== "") rows.push(`  ${style.grey(`why: ${oneLine(request.why)}`)}`);
    if (request.understated) rows.push(`  ${style.warning(`the model said less: ${oneLine(request.policy)}`)}`);
    else if (request.policy !== "") rows.push(`  ${style.grey(oneLine(request.policy))}`);
    if (request.cwd !== undefined) rows.push(`  ${style.grey(`in ${showText(request.cwd, { mode: "line" })}`)}`);
    if (this.#note !== "") rows.push(`  ${style.warning(this.#note)}`);
    return rows.flatMap((row) => inRows(row, columns, FACT_ROWS));
  }

  #command(): string {
    return showText(this.request.action, { mode: "command" });
  }

  #tooTall(columns: number, rows: number): boolean {
    return this.#questionRows(columns).length > Math.max(2, Math.floor(rows / 2) - 2);
  }

  #questionRows(columns: number): string[] {
    const text = `${showText(this.request.where, { mode: "line" })}$ ${this.#command()} -- approve? `;
    return text
      .split("\n")
      .flatMap((line) => Bun.wrapAnsi(line, columns, { hard: true, trim: false, wordWrap: false }).split("\n"));
  }

  #question(columns: number, rows: number): { rows: string[]; col: number } {
    const style = this.#style;
    const where = `${showText(this.request.where, { mode: "line" })}$ `;
    const command = this.#command();
    if (this.#tooTall(columns, rows)) {
      const count = command.split("\n").length;
      const note = count > 1 ? ` (all ${count} lines above)` : " (in full above)";
      const end = " -- approve? ";
      const first = clip(command.split("\n")[0]!, Math.max(8, columns - where.length - note.length - end.length - 1));
      const row = clip(`${where}${first}${note}${end}`, columns);
      return { rows: [row], col: Math.min(Bun.stringWidth(row), columns - 1) };
    }
    const plain = this.#questionRows(columns);
    const col = Bun.stringWidth(plain.at(-1)!);
    const colored = Bun.wrapAnsi(
      `${style.prompt(where)}${style.bold(command)}${style.warning(" -- approve? ")}`,
      columns,
      { hard: true, trim: false, wordWrap: false },
    ).split("\n");
    return { rows: colored.length === plain.length ? colored : plain, col: Math.min(col, columns - 1) };
  }

  #keys(columns: number): string {
    const { prefixes, editable } = this.request;
    const always =
      prefixes === undefined
        ? ""
        : `  a always ${prefixes.map((p) => `“${p.words.map(oneLine).join(" ")}${p.open ? " …" : ""}”`).join(", ")}`;
    const long = `y yes  n no${always}${editable ? "  e edit" : ""}  ? help`;
    if (Bun.stringWidth(long) <= columns) return long;
    return `y yes  n no${prefixes === undefined ? "" : "  a always"}${editable ? "  e edit" : ""}  ? help`;
  }

  #helpRows(): string[] {
    const { prefixes, editable } = this.request;
    const rows = ["y  run it, this once", "n  do not; you may give the model a reason"];
    if (prefixes !== undefined) {
      rows.push(
        `a  run it, and in this session everything like ${prefixes.map((p) => p.words.map(oneLine).join(" ")).join(", ")}`,
      );
    }
    if (editable) rows.push("e  change the command first; it is judged again");
    rows.push("/  type a command first (/kill, /status); the question waits", "Ctrl-C  do not, without a reason");
    return rows.map((row) => this.#style.grey(`  ${row}`));
  }

  #lineView(above: string[], columns: number, rows: number): { rows: string[]; cursor: { row: number; col: number } } {
    const label = this.#mode === "reason" ? "no, because (Enter alone: no reason): " : "edit: ";
    const shownLabel = clip(label, Math.max(6, Math.floor(columns / 2)));
    const view = layout(this.#line.cells, this.#line.cursor, Bun.stringWidth(shownLabel), columns);
    this.#editor.view = { promptWidth: Bun.stringWidth(shownLabel), columns };
    const height = Math.max(1, rows - above.length - 1);
    const first = Math.max(0, Math.min(view.cursor.row - height + 1, view.rows.length - height));
    const visible = view.rows
      .slice(first, first + height)
      .map((row, i) => (first + i === 0 ? this.#style.warning(shownLabel) : " ".repeat(row.indent)) + row.text);
    return {
      rows: [...above, ...visible],
      cursor: { row: above.length + view.cursor.row - first, col: view.cursor.col },
    };
  }
}

/** Wrapped with the rest set in a little, and cut behind so many rows. */
function inRows(text: string, columns: number, most: number): string[] {
  if (!Number.isFinite(columns) || Bun.stringWidth(text) <= columns) return [text];
  const [first = "", ...rest] = Bun.wrapAnsi(text, Math.max(8, columns - 4), { hard: true, trim: false }).split("\n");
  const rows = [first, ...rest.map((row) => `    ${row.replace(/^((?:\x1b\[[0-9;]*m)*) +/, "$1")}`)];
  if (rows.length <= most) return rows;
  return [...rows.slice(0, most - 1), clip(`${rows[most - 1]}…`, columns)];
}

/** Rows that each fact about a command may take. */
const FACT_ROWS = 2;

/** What the scrollback keeps of a question: the command, on one line, and what became of it. */
export function answeredLine(request: ApprovalRequest, answer: ApprovalAnswer, style: Theme): string {
  const where = showText(request.where, { mode: "line" });
  const [first, ...rest] = showText(answer.kind === "edit" ? answer.command : request.action, {
    mode: "command",
  }).split("\n");
  const more = rest.length > 0 ? ` …${rest.length} more line${rest.length === 1 ? "" : "s"}` : "";
  return `${style.grey(`${where}$ ${first}${more} --`)} ${decisionWords(answer, style)}`;
}

function decisionWords(answer: ApprovalAnswer, style: Theme): string {
  switch (answer.kind) {
    case "yes":
      return style.ok("approved");
    case "always":
      return style.ok("approved, and the like in this session");
    case "edit":
      return style.ok("edited");
    case "no":
      return style.removed(answer.reason ? `denied: ${oneLine(answer.reason)}` : "denied");
    case "cancelled":
      return style.grey("withdrawn");
    case "nobody":
      return style.grey("nobody answered");
  }
}
