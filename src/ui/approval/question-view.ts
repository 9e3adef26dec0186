/** How a question looks: what would happen, where and why, the change or command itself, and the keys. */
import { clip, withoutTabs } from "../../lib/text.ts";
import type { ApprovalRequest } from "../../policy/approvals.ts";
import { mixedWords, showText, showLine } from "../../policy/screen/terminal-text.ts";
import { highlight } from "../markdown/highlight.ts";
import type { Theme } from "../theme.ts";
import { oneLine, PRINTED_LINES, timeOfDay } from "../words.ts";
import {
  changeWords,
  inRows,
  KEEP_KEY_NAMES,
  KEY_NAMES,
  listed,
  privilegedUser,
  SET_KEY_NAMES,
  signOf,
  stated,
  withoutMiddle,
} from "./question-text.ts";

/** A row above the question; `must`: it is not left out on a small screen. */
interface Fact {
  readonly text: string;
  readonly must?: boolean;
}

export class QuestionView {
  readonly request: ApprovalRequest;
  readonly #style: Theme;
  /** What is too long for the panel was printed above it, as far as it is printed at all. */
  #printed = false;
  #commandPrinted = false;
  #viewed = false;
  /** The panel has no room for the command, and it was not printed above. */
  #cut = false;

  constructor(request: ApprovalRequest, style: Theme) {
    this.request = request;
    this.#style = style;
  }

  /** Lines for the scrollback: what does not fit into the panel, so that nothing is approved unseen. */
  preamble(columns: number, rows: number): string[] {
    const long = this.#tooTall(columns, rows);
    this.#printed = this.#printed || long || this.#diff.length > 0;
    this.#commandPrinted ||= long;
    const diff = this.#diff;
    return [
      ...(diff.length > 0
        ? [this.#changeLine(), ...diff.slice(0, PRINTED_LINES).map((line) => this.#diffRow(line))]
        : []),
      ...(long ? this.#commandLines.slice(0, PRINTED_LINES).map((line) => `  ${line}`) : []),
    ];
  }

  /** All of it, for a pager. */
  document(columns: number): string[] {
    this.#viewed = true;
    return [
      ...this.#wholeFacts(columns, 0),
      "",
      ...(this.request.write === undefined ? this.#commandLines : [this.#changeLine(Infinity)]),
      ...this.#diff.map((line) => this.#diffRow(line)),
    ];
  }

  /** The question as lines, for line mode. */
  plain(behind: number, columns: number, offersAlways = false): string[] {
    this.#printed = this.#commandPrinted = true;
    return [
      ...this.#wholeFacts(columns, behind),
      ...(offersAlways ? inRows(`  ${this.#style.grey(this.always())}`, columns, Infinity) : []),
      ...`${this.where()}${this.#commandLines.join("\n")}${this.#ask()}`.split("\n"),
    ];
  }

  /** All of it was shown: only then can it be approved. */
  get approvable(): boolean {
    if (this.#viewed) return true;
    if (this.#cut) return false;
    const fits = Math.max(this.#diff.length, this.#commandLines.length) <= PRINTED_LINES;
    return fits && (this.#printed || this.#diff.length === 0);
  }

  /** Repeated in the panel: the line above a long change has scrolled away. */
  #hidden(): Fact[] {
    const hidden = this.#diff.length - PRINTED_LINES;
    return hidden > 0 ? [{ text: this.#style.warning(`  ${hidden} lines of it are not shown: v`), must: true }] : [];
  }

  /** The command on one line. */
  command(columns: number): string {
    return clip(`${this.#style.prompt(this.where())}${this.#style.bold(this.#commandLines.join("⏎"))}`, columns);
  }

  machineName(): string {
    return oneLine(this.request.typed ?? "");
  }

  /** Whether that is several machines, as a list or a range. */
  get severalNames(): boolean {
    return /[[,]/.test(this.request.typed ?? "");
  }

  get #typedWords(): string {
    return this.severalNames ? "the names of the machines" : "the name of the machine";
  }

  /**
   * Rows above the question; `note` answers a key that means nothing here. Where `room` is short, what would happen,
   * how risky it is and what is not shown stay; the others are cut, and one by one left to `v`.
   */
  facts(columns: number, behind: number, note = "", room = Infinity): string[] {
    const facts = [...this.#facts(behind, note, columns), ...this.#hidden()];
    const rows = (list: readonly Fact[], others: number): string[] =>
      list.flatMap(({ text, must }) => inRows(text, columns, must ? MUST_ROWS : others));
    const loose = rows(facts, OTHER_ROWS);
    if (loose.length <= room) return loose;
    // The last ones matter least.
    while (rows(facts, 1).length > room && facts.some(({ must }) => must !== true))
      facts.splice(
        facts.findLastIndex(({ must }) => must !== true),
        1,
      );
    return rows(facts, 1);
  }

  #wholeFacts(columns: number, behind: number): string[] {
    return this.#facts(behind, "", Infinity).flatMap(({ text }) => inRows(text, columns, Infinity));
  }

  #facts(behind: number, note: string, columns: number): Fact[] {
    const { request } = this;
    const style = this.#style;
    const risk =
      request.risk === "high"
        ? style.error("high risk")
        : request.risk === "medium"
          ? style.warning("medium risk")
          : "low risk";
    const traits = [risk, ...(request.mutation && request.write === undefined ? [changeWords(request)] : [])];
    const more = behind > 0 ? style.grey(` · 1 of ${behind + 1} waiting`) : "";
    const place = [
      `${showLine(request.where)}${request.label === undefined ? "" : ` ${style.error(oneLine(request.label))}`}`,
      ...(request.pane === undefined ? [] : [`pane ${oneLine(request.pane)}`]),
      ...(request.cwd === undefined ? [] : [`in ${showLine(request.cwd)}`]),
    ];
    const facts: Fact[] = [
      {
        text: `${style.warning("?")} ${style.bold(this.#happening(columns))} · ${traits.join(", ")}${more}`,
        must: true,
      },
      { text: `  ${style.grey("on")} ${place.join(", ")}` },
    ];
    if (request.why !== "") facts.push({ text: `  ${style.grey(`why: ${oneLine(request.why)}`)}` });
    if (request.understated) {
      const user = privilegedUser(request.action);
      const found = stated(request.found ?? request, user);
      const words = `model declared: ${stated(request.declared, user)} · buddy found: ${found}`;
      facts.push({ text: `  ${style.warning(words)}`, must: true });
    }
    const mixed = mixedWords(`${request.action} ${request.reverse ?? ""}`).slice(0, MOST_MIXED);
    if (mixed.length > 0) {
      const words = `letters that only look Latin: ${mixed.map(showLine).join(" ")}`;
      facts.push({ text: `  ${style.warning(words)}`, must: true });
    }
    if (request.policy !== "") facts.push({ text: `  ${style.grey(oneLine(request.policy))}` });
    if (request.typed !== undefined) {
      const words = `to approve this, type ${this.#typedWords}: ${this.machineName()}`;
      facts.push({ text: `  ${style.warning(words)}`, must: true });
    }
    if (note !== "") facts.push({ text: `  ${style.warning(note)}`, must: true });
    return facts;
  }

  /** What will happen, in plain words. */
  #happening(columns: number): string {
    const { tool, write, privesc, action } = this.request;
    if (write !== undefined) {
      const verb = write.removes === true ? "remove" : write.creates ? "create" : "write";
      // The last line has the path in full: here its size stays in sight.
      return `${verb} ${withoutMiddle(this.#path(), 2 * columns)} ${this.#size()}${privesc ? " as root (sudo)" : ""}`;
    }
    const { keep } = this.request;
    if (keep !== undefined) return `keep this change? It will be reverted at ${timeOfDay(keep.until)}`;
    if (tool === "run_shell") {
      const where = this.request.background === true ? " in the background" : "";
      return `run a command${where}${privesc ? ` as ${privilegedUser(action)}` : ""}`;
    }
    if (tool === "send-keys") return "press keys in the pane";
    return oneLine(tool.replaceAll(/[_-]/g, " "));
  }

  #path(): string {
    return showLine(this.request.write?.path ?? "");
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
    return (this.#diffLines ??= diff === "" ? [] : shownLines(diff.replace(/\n$/, "")));
  }

  #diffLines: readonly string[] | undefined;

  get #commandLines(): readonly string[] {
    const { action, reverse } = this.request;
    const text =
      reverse === undefined ? action : `${action}\n# unless you keep the change, this reverts it:\n${reverse}`;
    return (this.#shownCommand ??= shownLines(text));
  }

  #shownCommand: readonly string[] | undefined;

  where(): string {
    return `${showLine(this.request.where)}${signOf(this.request)} `;
  }

  #ask(open = true): string {
    if (this.request.keep === undefined) return open ? APPROVE : APPROVE_LATER;
    return open ? KEEP : KEEP_LATER;
  }

  #tooTall(columns: number, rows: number): boolean {
    return this.#wrapped(columns, true).length > Math.max(2, Math.floor(rows / 2) - 2);
  }

  /** The question over as many rows as it takes; its end stays in one piece. */
  #wrapped(columns: number, open: boolean): string[] {
    const style = this.#style;
    const ask = this.#ask(open);
    const text = `${style.prompt(this.where())}${style.bold(this.#commandLines.join("\n"))}`;
    const rows = text
      .split("\n")
      .flatMap((line) => Bun.wrapAnsi(line, columns, { hard: true, trim: false, wordWrap: false }).split("\n"));
    const last = rows.at(-1)!;
    const end = style.warning(ask);
    if (Bun.stringWidth(last) + ask.length + 1 <= columns) rows[rows.length - 1] = `${last}${end} `;
    else rows.push(`${end.replace(" --", "--")} `);
    return rows;
  }

  /** The question itself, with room for the cursor after it; `open`: a key counts now. */
  question(columns: number, rows: number, open = true): { rows: string[]; col: number } {
    const ask = this.#ask(open);
    let shown = this.#wrapped(columns, open);
    const tall = this.#tooTall(columns, rows);
    this.#cut = tall && !this.#commandPrinted;
    if (tall) {
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
      const room = Math.max(4, columns - note.length - ask.length - 1);
      const start = `${style.prompt(this.where())}${style.bold(this.#commandLines[0]!)}`;
      const end = `${style.grey(note)}${style.warning(ask)} `;
      const apart = note.length + ask.length + 2 > columns;
      const below = apart ? [`…${style.grey(note)}`, `${style.warning(ask.trimStart())} `] : [`…${end}`];
      shown = room < RECOGNISABLE ? [...shown.slice(0, HEAD_ROWS), ...below] : [`${clip(start, room)}${end}`];
    }
    return { rows: shown, col: Math.min(Bun.stringWidth(shown.at(-1)!), columns - 1) };
  }

  /** What `a` would allow. */
  always(): string {
    const { prefixes = [] } = this.request;
    return `a always ${prefixes.map((p) => `“${p.words.map(oneLine).join(" ")}${p.open ? " …" : ""}”`).join(", ")}`;
  }

  /** The keys that count: on one row, or with what `a` would allow below them. */
  keys(letters: readonly string[], columns: number): string[] {
    const always = letters.includes("a") ? [this.always()] : [];
    const shown = letters.filter((letter) => letter !== "h");
    const named = (full: boolean): string =>
      shown
        .map((letter) => {
          if (letter === "a" && full) return this.always();
          if (this.request.keep !== undefined) return `${letter} ${KEEP_KEY_NAMES[letter]}`;
          if (letter === "y" && this.request.typed !== undefined)
            return this.severalNames ? "y type the names" : "y type the name";
          if (this.request.machines !== undefined && letter in SET_KEY_NAMES)
            return `${letter} ${SET_KEY_NAMES[letter]}`;
          return `${letter} ${KEY_NAMES[letter]}`;
        })
        .join("  ");
    const whole = named(true);
    if (Bun.stringWidth(whole) <= columns) return [this.#style.grey(whole)];
    const short = named(false);
    const first = Bun.stringWidth(short) <= columns ? short : listed(letters);
    return [first, ...always].map((row) => this.#style.grey(row));
  }

  help(letters: readonly string[], others: readonly string[]): string[] {
    const { prefixes } = this.request;
    const like = prefixes?.map((p) => `"${p.words.map(oneLine).join(" ")}"`).join(", ");
    const rows: [string, string][] = [
      ["y", this.request.typed === undefined ? "yes, this once" : `yes: then type ${this.#typedWords}`],
      ["n", "no; optionally tell the model why"],
      ["a", `yes, and don't ask again for ${like} this session`],
      ["e", "edit the command first; it is checked again"],
      ["v", this.request.diff === undefined ? "view the whole command" : "view the whole change"],
      ["c", "on one machine first; its result is shown, then you are asked for the others"],
      ["s", this.request.machines === undefined ? "no, and stop the task" : "choose the machines it runs on"],
    ];
    return [...rows.filter(([letter]) => letters.includes(letter)).map((row) => row.join("  ")), ...others].map((row) =>
      this.#style.grey(`  ${row}`),
    );
  }
}

/** With all that is not plainly visible written out. A tab would hide what follows it behind the edge of the panel. */
function shownLines(text: string): string[] {
  return showText(text, { mode: "command" }).split("\n").map(withoutTabs);
}

/** Words with letters of another script that are named. */
const MOST_MIXED = 3;
const APPROVE = " -- approve?";
const KEEP = " -- keep?";
/** As wide, until a key counts. */
const APPROVE_LATER = " -- a moment";
const KEEP_LATER = " -- wait…";
/** Rows that a fact may take. */
const MUST_ROWS = 5;
const OTHER_ROWS = 2;
/** Columns in which a command can be recognised. */
const RECOGNISABLE = 24;
/** Of a command that is too long for a narrow screen. */
const HEAD_ROWS = 3;
