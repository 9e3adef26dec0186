/**
 * Renders Markdown while it arrives: rows that can no longer change are handed out once, the rest is a short live tail.
 */
import type { Theme } from "../theme.ts";
import { highlight } from "./highlight.ts";
import { inline, settledLength } from "./inline.ts";
import { isDelimiterRow, renderTable } from "./table.ts";

export class MarkdownStream {
  readonly #style: Theme;
  readonly #links: boolean;
  readonly #width: () => number;
  #partial = "";
  /** The last line of the open block has no end yet. */
  #growing = false;
  #open: Block | undefined;
  #settled: string[] = [];
  /** A blank row is due before the next block; none before the first. */
  #gap = false;
  #started = false;
  #list = false;
  /** Where the text of the last list item begins: code in a list is indented by four more. */
  #itemIndent = 0;
  /** The block before was code: the blank row after it stays, also in a list. */
  #afterCode = false;

  constructor(style: Theme, links: boolean, width: () => number) {
    this.#style = style;
    this.#links = links;
    this.#width = width;
  }

  push(text: string): void {
    const lines = text.replace(/\r\n?/g, "\n").split("\n");
    lines.forEach((piece, index) => {
      this.#more(piece);
      if (index < lines.length - 1) this.#newline();
    });
    this.#settleOpen();
  }

  /** The text is complete. */
  end(): void {
    this.#newline();
    this.#close();
    this.#gap = false;
  }

  /** Rows that are final, each given once. */
  take(): string[] {
    const rows = this.#settled;
    this.#settled = [];
    return rows;
  }

  /** Rows as they would be if the text ended here. */
  tail(): string[] {
    if (this.#open === undefined && this.#partial === "") return [];
    const copy = new MarkdownStream(this.#style, this.#links, this.#width);
    copy.#open = this.#open === undefined ? undefined : { ...this.#open, lines: [...this.#open.lines] };
    copy.#gap = this.#gap;
    copy.#started = this.#started;
    copy.#list = this.#list;
    copy.#itemIndent = this.#itemIndent;
    copy.#afterCode = this.#afterCode;
    if (this.#partial !== "" && !this.#unclear()) copy.#line(this.#partial);
    copy.#close(true);
    return copy.#settled;
  }

  /** A piece of a line: into the open paragraph as soon as it is clear that it belongs there. */
  #more(piece: string): void {
    if (piece === "") return;
    if (this.#growing) {
      const { lines } = this.#open!;
      lines[lines.length - 1] += piece;
      return;
    }
    this.#partial += piece;
    if (!this.#plainText()) return;
    const line = this.#partial;
    this.#partial = "";
    this.#line(line);
    this.#growing = true;
  }

  #newline(): void {
    if (!this.#growing) this.#line(this.#partial);
    this.#growing = false;
    this.#partial = "";
  }

  /** True when the line begun is certain to be text of a paragraph, a list item or a quote. */
  #plainText(): boolean {
    const { kind } = this.#open ?? {};
    if (kind === "code" || kind === "table") return false;
    if (/^\s*(`{3}|~{3}|\||#{1,6}(\s|$))/.test(this.#partial)) return false;
    if (kind === undefined && this.#isIndentedCode(this.#partial)) return false;
    return /[^\s\-*_=+|:>`~#\d.)[\]xX]/.test(this.#partial);
  }

  /** The beginning of a line that may become a fence, a rule, a heading or a table: nothing to show yet. */
  #unclear(): boolean {
    if (this.#open?.kind === "code") return /^\s*(`{1,3}|~{1,3})$/.test(this.#partial);
    if (/^\s*(`{1,2}|~{1,2}|#{1,6}|[-*+_=]{1,3}|\d{1,9}[.)]?|>)\s*$/.test(this.#partial)) return true;
    return /^\s*(`{3,}|~{3,})/.test(this.#partial) || /^\s*\|/.test(this.#partial);
  }

  #line(line: string): void {
    const open = this.#open;
    if (open?.kind === "code") return this.#codeLine(open, line);
    if (line.trim() === "") {
      this.#close();
      this.#gap = this.#started;
      return;
    }
    if (open?.kind === "table") {
      if (line.includes("|")) {
        open.lines.push(line);
        if (open.lines.length === TABLE_ROWS + 2) this.#tablePart(open);
        return;
      }
      this.#close();
    }
    if (
      open?.kind === "text" &&
      open.lines.length === 1 &&
      open.given === 0 &&
      isDelimiterRow(line) &&
      open.lines[0]!.includes("|")
    ) {
      this.#open = { ...open, kind: "table", lines: [open.lines[0]!, line] };
      return;
    }
    this.#block(line, open);
  }

  #block(line: string, open: Block | undefined): void {
    const fence = /^(\s*)(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/.exec(line);
    if (fence !== null) {
      this.#close();
      this.#gap ||= this.#started && !this.#list;
      this.#begin({
        kind: "code",
        fence: fence[2]!,
        indent: fence[1]!.length,
        // Code that belongs to a list item stays below it.
        first: this.#list ? " ".repeat(Math.min(12, fence[1]!.length)) : "",
        language: fence[3]!.toLowerCase(),
        state: "",
      });
      const label = this.#open!.language;
      return this.#emit([this.#open!.first + this.#style.grey(label === "" ? "───" : `─── ${label}`)]);
    }
    const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    if (heading !== null) {
      this.#close();
      this.#gap = this.#started;
      this.#begin({ kind: "heading", lines: [heading[2]!], first: this.#style.color ? "" : `${heading[1]} ` });
      this.#close();
      this.#gap = true;
      return;
    }
    if (/^ {0,3}(=+|-+)\s*$/.test(line) && open?.kind === "text" && open.given === 0 && open.first === "") {
      this.#open = { ...open, kind: "heading" };
      this.#close();
      this.#gap = true;
      return;
    }
    if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      this.#close();
      this.#gap = this.#started;
      this.#begin({ kind: "text" });
      this.#emit([this.#style.grey("─".repeat(Math.min(40, this.#width())))]);
      this.#open = undefined;
      this.#gap = true;
      return;
    }
    this.#text(line, open);
  }

  #text(line: string, open: Block | undefined): void {
    const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/.exec(line);
    if (item !== null) {
      const [, space = "", marker = "", box, body = ""] = item;
      this.#close();
      if (this.#list && !this.#afterCode) this.#gap = false;
      const indent = " ".repeat(Math.min(12, space.replaceAll("\t", "    ").length));
      const bullet = /\d/.test(marker) ? marker : this.#style.color ? "•" : "-";
      const tick = box === undefined ? "" : box === " " ? "[ ] " : "[x] ";
      this.#begin({
        kind: "text",
        lines: [tick + body],
        first: `${indent}${bullet} `,
        rest: `${indent}${" ".repeat(bullet.length + 1)}`,
      });
      this.#list = true;
      this.#itemIndent = space.replaceAll("\t", "    ").length + marker.length + 1;
      return;
    }
    const quote = /^\s*>\s?(.*)$/.exec(line);
    if (quote !== null) {
      const bar = this.#style.grey("│ ");
      if (open?.kind === "text" && open.first === bar) {
        open.lines.push(quote[1] || "\\");
        return;
      }
      this.#close();
      return this.#begin({ kind: "text", lines: [quote[1]!], first: bar, rest: bar });
    }
    if (open?.kind === "text") {
      open.lines.push(line.trimStart());
      return;
    }
    this.#close();
    if (this.#isIndentedCode(line)) {
      this.#begin({ kind: "text" });
      this.#open = undefined;
      this.#afterCode = true;
      return this.#emit([line]);
    }
    // Indented text below a list item belongs to it.
    const indent = this.#list ? /^\s*/.exec(line)![0].slice(0, 12) : "";
    if (indent === "") this.#list = false;
    this.#begin({ kind: "text", lines: [line.trimStart()], first: indent, rest: indent });
  }

  #codeLine(open: Block, line: string): void {
    const close = new RegExp(`^\\s*\\${open.fence[0]}{${open.fence.length},}\\s*$`).test(line);
    if (close) {
      this.#emit([open.first + this.#style.grey("───")]);
      this.#open = undefined;
      this.#gap = true;
      this.#afterCode = true;
      return;
    }
    const body = line.slice(Math.min(open.indent, /^\s*/.exec(line)![0].length));
    const { text, state } = highlight(body, open.language, open.state, this.#style);
    open.state = state;
    this.#emit([open.first + text]);
  }

  /** Four blanks more than the text around it, with no paragraph open that it could continue. */
  #isIndentedCode(line: string): boolean {
    const indent = /^[ \t]*/.exec(line)![0].replaceAll("\t", "    ").length;
    return indent >= (this.#list ? this.#itemIndent : 0) + 4;
  }

  #begin(block: Partial<Block> & { kind: Block["kind"] }): void {
    if (this.#gap) this.#settled.push("");
    this.#gap = false;
    this.#afterCode = false;
    this.#started = true;
    if (block.kind !== "text") this.#list = block.kind === "code" && this.#list;
    this.#open = {
      lines: [],
      first: "",
      rest: "",
      given: 0,
      looked: 0,
      width: this.#width(),
      fence: "",
      indent: 0,
      language: "",
      state: "",
      ...block,
    };
  }

  #emit(rows: readonly string[]): void {
    this.#settled.push(...rows);
  }

  #close(growing = false): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || open.kind === "code") return;
    if (open.kind === "table" && open.given > 0 && open.lines.length === 2) return;
    if (open.kind === "text") this.#splitLong(open);
    this.#emit(this.#rows(open, growing).slice(open.kind === "table" ? 0 : open.given));
  }

  /** A long table is given out in parts, each with its head: laying it out again for every row would take too long. */
  #tablePart(open: Block): void {
    this.#emit([...this.#rows(open, false), ""]);
    open.given++;
    open.lines = open.lines.slice(0, 2);
  }

  /** The same for a paragraph without an end. The places depend on the text alone, not on how it came. */
  #splitLong(open: Block): void {
    for (let text = joined(open.lines); text.length > PARAGRAPH; text = open.lines[0]!) {
      const blank = text.lastIndexOf(" ", PARAGRAPH);
      const end = blank > 0 ? blank : PARAGRAPH;
      this.#emit(this.#rows({ ...open, lines: [text.slice(0, end)] }, false).slice(open.given));
      open.lines = [text.slice(end).trimStart()];
      open.first = open.rest;
      open.given = 0;
      open.looked = 0;
    }
  }

  /** Gives out the rows of a long paragraph that more text cannot change. */
  #settleOpen(): void {
    const open = this.#open;
    if (open?.kind !== "text" || open.lines.length === 0) return;
    // It may turn out to be the head of a table.
    if (open.lines.length === 1 && open.lines[0]!.startsWith("|")) return;
    this.#splitLong(open);
    const text = joined(open.lines);
    if (text.length < open.looked + open.width) return;
    open.looked = text.length;
    const sure = settledLength(text);
    const rows = this.#rows({ ...open, lines: [text.slice(0, sure)] }, false);
    if (rows.length - 1 <= open.given) return;
    this.#emit(rows.slice(open.given, rows.length - 1));
    open.given = rows.length - 1;
  }

  #rows(block: Block, growing: boolean): string[] {
    const options = { style: this.#style, links: this.#links, growing };
    if (block.kind === "table") return renderTable(block.lines, block.width, options);
    const shown = inline(joined(block.lines), options);
    const room = Math.max(4, block.width - Bun.stringWidth(block.rest));
    const rows = Bun.wrapAnsi(shown, room, { hard: true }).split("\n");
    if (block.kind === "heading") return rows.map((row, i) => this.#style.heading((i === 0 ? block.first : "") + row));
    return rows.map((row, i) => (i === 0 ? block.first : block.rest) + row);
  }
}

interface Block {
  kind: "text" | "heading" | "table" | "code";
  lines: string[];
  /** Before the first row and before the others: bullets, quote bars, indentation. */
  first: string;
  rest: string;
  /** Rows already handed out. */
  given: number;
  /** Length of the text when rows were last given out. */
  looked: number;
  /** Fixed when the block began: rows that were given out cannot be wrapped again. */
  width: number;
  fence: string;
  indent: number;
  language: string;
  state: string;
}

const TABLE_ROWS = 200;
/** Characters of a paragraph that are laid out together. */
const PARAGRAPH = 8000;

/** Lines of one paragraph; two blanks or a backslash at the end of a line keep the break. */
function joined(lines: readonly string[]): string {
  return lines
    .map((line, i) => (i === lines.length - 1 ? line : line.replace(/( {2,}|\\)$/, "\n").replace(/[^\n]$/, "$& ")))
    .join("");
}
