/**
 * One tool call as the operator sees it: its newest lines while it runs, a preview of head and tail when it has ended.
 */
import { type MachineFinishedEvent, resultText, type ToolFinishedEvent } from "../../agent/events.ts";
import { clip, withoutTabs, plural } from "../../lib/text.ts";
import { showText, TerminalText } from "../../policy/screen/terminal-text.ts";
import { highlight } from "../markdown/highlight.ts";
import type { Theme } from "../theme.ts";
import { commandLine, oneLine, PRINTED_LINES, progressWords, seconds, wrapped } from "../words.ts";

export class ToolView {
  readonly #name: string;
  readonly #options: ToolViewOptions;
  #preview = new OutputPreview(PREVIEW_KEPT);
  readonly #streams = new Map<string, TerminalText>();
  #title = "";
  #remark = "";
  #progress = "";
  /** The change as its question printed it. */
  #askedDiff = "";

  constructor(name: string, title: string, options: ToolViewOptions) {
    this.#options = options;
    this.#name = oneLine(name);
    this.retitle(title);
  }

  /** The operator has changed the command: this one runs. */
  retitle(title: string): void {
    this.#title = commandLine(this.#options.redact(title));
  }

  /** Its question printed this change: what is the same is not printed again. */
  asked(diff: string | undefined): void {
    this.#askedDiff = diff?.trim() ?? "";
  }

  /** How it was approved, if not by a question. */
  remark(text: string): void {
    this.#remark = text;
  }

  /** How far a call for several machines is. */
  progress(event: MachineFinishedEvent): void {
    this.#progress = progressWords(event);
  }

  push(stream: string, text: string): void {
    let filter = this.#streams.get(stream);
    if (filter === undefined) this.#streams.set(stream, (filter = new TerminalText()));
    if (stream === "info") this.#preview.note(filter.push(text));
    else this.#preview.push(filter.push(text));
  }

  /** It printed something while it ran. */
  get hasOutput(): boolean {
    return this.#preview.lines > 0;
  }

  live(outputLines: number): string[] {
    const { style, width } = this.#options;
    const progress = this.#progress === "" ? "" : `  ${style.grey(this.#progress)}`;
    return [this.#head(style.toolName, progress, width()), ...this.#grey(this.#preview.last(outputLines))];
  }

  finished(event: ToolFinishedEvent, outputName?: string): string[] {
    const { style, width } = this.#options;
    const failed = !event.ok || (event.exit_code ?? 0) !== 0;
    const facts = [outcomeWords(event), event.ms >= 50 ? seconds(event.ms) : ""]
      .filter((fact) => fact !== "")
      .join(" · ");
    const mark = failed
      ? style.removed
      : event.outcome === "running" || event.outcome === "waiting"
        ? style.toolName
        : style.ok;
    const head = this.#head(
      mark,
      facts === "" ? "" : `  ${failed ? style.removed(facts) : style.grey(facts)}`,
      width(),
    );
    const text = resultText(event);
    const wasPrinted = this.#askedDiff !== "" && this.#askedDiff.split("\n").length <= PRINTED_LINES;
    if (wasPrinted && text.includes(this.#askedDiff)) return [head];
    if (/^@@ -\d/m.test(event.display ?? "")) return [head, ...this.#diff(text, outputName)];
    // A checklist is above the input line already, and comes once more when the task has ended.
    if (event.tool === "plan" && event.ok && this.#options.lines !== true) return [head];
    if (event.machines !== undefined) return [head, ...this.#grouped(text, outputName)];
    // Of a flood, live lines were left out: the result has the beginning, the end, and how many there are.
    if (event.output_lines !== undefined && event.output_lines !== this.#preview.printed) {
      this.#preview = new OutputPreview(PREVIEW_KEPT, event.output_lines);
      this.#preview.push(showText(this.#options.redact(text)));
    }
    // Notes of how it went (a password, a connection that came back) do not replace a result; the exit code is in the
    // head.
    const onlyNotes = this.#streams.size === 1 && this.#streams.has("info") && event.exit_code === undefined;
    if (this.#preview.lines === 0 || onlyNotes) {
      const said = showText(this.#options.redact(withoutOutcome(text, event)));
      // Why something was refused or failed is read whole, where that takes a few rows.
      this.#preview.push(event.ok ? said : wrapped(said.split("\n"), width() - 2).join("\n"));
    }
    return [head, ...this.#previewRows(outputName)];
  }

  /** Its task ended before there was a result. */
  abandoned(): string[] {
    const { style, width } = this.#options;
    return [this.#head(style.removed, `  ${style.removed("stopped")}`, width()), ...this.#previewRows(undefined)];
  }

  /** A mark that shows how it went, the command, then, in grey, the tool and the facts. */
  #head(mark: (text: string) => string, facts: string, columns: number): string {
    const { style } = this.#options;
    const what = this.#title === "" ? this.#name : this.#title;
    const tool = what === this.#name ? "" : `  ${style.grey(this.#name)}`;
    const unasked = this.#remark === "" ? "" : `  ${style.warning(this.#remark)}`;
    // On a narrow screen the name of the tool gives way to the command, and then the command to how it went.
    const wide = tool + unasked + facts;
    const end = Bun.stringWidth(wide) + 2 + LEAST_TITLE > columns ? unasked + facts : wide;
    const room = Math.max(LEAST_TITLE, columns - 2 - Bun.stringWidth(end));
    return clip(`${mark("●")} ${style.bold(clip(what, room))}${end}`, columns);
  }

  #previewRows(outputName: string | undefined): string[] {
    const { head, tail, more } = this.#preview.clipped(PREVIEW_LINES);
    return [...this.#grey(head), ...(more > 0 ? [this.#more(more, outputName)] : []), ...this.#grey(tail)];
  }

  /** What several machines answered: more than a preview, because every group has its lines. */
  #grouped(text: string, outputName: string | undefined): string[] {
    const lines = showText(this.#options.redact(text)).replace(/\n+$/, "").split("\n");
    const rows = this.#grey(lines.slice(0, GROUPED_LINES));
    return lines.length > GROUPED_LINES ? [...rows, this.#more(lines.length - GROUPED_LINES, outputName)] : rows;
  }

  #diff(text: string, outputName: string | undefined): string[] {
    const { style, width, redact } = this.#options;
    const lines = showText(redact(text)).replace(/\n$/, "").split("\n");
    const rows = lines
      .slice(0, DIFF_LINES)
      .map((line) => `  ${highlight(clip(withoutTabs(line), width() - 2), "diff", "", style).text}`);
    return lines.length > DIFF_LINES ? [...rows, this.#more(lines.length - DIFF_LINES, outputName)] : rows;
  }

  #grey(lines: readonly string[]): string[] {
    const { style, width, redact } = this.#options;
    return lines.map((line) => style.grey(clip(`  ${withoutTabs(redact(line)).trimEnd()}`, width())));
  }

  #more(count: number, outputName: string | undefined): string {
    const name = outputName === undefined ? "" : `: ${outputName}`;
    return this.#options.style.grey(`  …${plural(count, "more line")}${name}`);
  }
}

export interface ToolViewOptions {
  readonly style: Theme;
  /** Nothing is repainted: what begins is printed when it begins. */
  readonly lines?: boolean;
  /** Columns a row may use. */
  width(): number;
  /** Takes keys and tokens out of what is shown. */
  redact(text: string): string;
}

/** The first and last lines of what a tool prints, however much that is. */
class OutputPreview {
  readonly #keep: number;
  readonly #all: number | undefined;
  #head: string[] = [];
  #tail: string[] = [];
  #partial = "";
  #lines = 0;
  #noted = 0;

  /** `all`: how many lines there are, if it gets only the first and the last ones. */
  constructor(keep: number, all?: number) {
    this.#keep = keep;
    this.#all = all;
  }

  /** Text that is safe to show; lines may be cut anywhere. */
  push(text: string): void {
    const last = startOfLast(text, this.#keep);
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      if (from < last && this.#head.length >= this.#keep) this.#lines++;
      else this.#line(this.#partial + text.slice(from, Math.min(end, from + LINE)));
      this.#partial = "";
      from = end + 1;
    }
    if (this.#partial.length < LINE) this.#partial += text.slice(from, from + LINE);
  }

  /** On its own line, above one that has not ended: the rest of that may still come. */
  note(text: string): void {
    const partial = this.#partial;
    const before = this.#lines;
    this.#partial = "";
    this.push(`${text.replace(/\n+$/, "")}\n`);
    this.#partial = partial;
    this.#noted += this.#lines - before;
  }

  /** Lines of the program itself. */
  get printed(): number {
    return this.lines - this.#noted;
  }

  get lines(): number {
    return this.#lines + (this.#partial === "" ? 0 : 1);
  }

  /** The newest lines, oldest first. */
  last(count: number): string[] {
    const all = this.#partial === "" ? this.#tail : [...this.#tail, this.#partial];
    return count <= 0 ? [] : all.slice(-count);
  }

  /** At most `count` lines from both ends, and how many are left out between them. */
  clipped(count: number): { head: string[]; tail: string[]; more: number } {
    const total = this.#all ?? this.lines;
    // A few lines left out would save little.
    if (total <= this.#keep) return { head: this.last(total), tail: [], more: 0 };
    const head = this.#head.slice(0, Math.ceil(count / 2));
    const tail = this.last(Math.floor(count / 2));
    return { head, tail, more: total - head.length - tail.length };
  }

  #line(line: string): void {
    this.#lines++;
    const text = line.slice(0, LINE);
    if (this.#head.length < this.#keep) this.#head.push(text);
    this.#tail.push(text);
    if (this.#tail.length > this.#keep) this.#tail.shift();
  }
}

/** Where the last `count` lines of a text begin. */
function startOfLast(text: string, count: number): number {
  let at = text.length;
  for (let left = count; left >= 0 && at > 0; left--) at = text.lastIndexOf("\n", at - 1);
  return Math.max(0, at);
}

/** The outcome is already shown next to the command: only what was added to it, such as a reason, comes below. */
function withoutOutcome(text: string, { ok, outcome }: Pick<ToolFinishedEvent, "ok" | "outcome">): string {
  const said = outcome.replaceAll("-", " ");
  if (ok || !text.startsWith(said)) return text;
  const added = text.slice(said.length);
  return added === "" ? "" : added.startsWith(": ") ? added.slice(2) : text;
}

function outcomeWords(event: ToolFinishedEvent): string {
  if (event.machines !== undefined) {
    const failed = event.machines.filter(({ ok }) => !ok).length;
    const all = event.machines.length;
    return failed === 0 ? plural(all, "machine") : `${failed} of ${all} not ok`;
  }
  if (event.exit_code !== undefined) return `exit ${event.exit_code}`;
  if (event.ok) return event.outcome === "running" || event.outcome === "waiting" ? event.outcome : "";
  return event.outcome === "exited" ? "" : event.outcome.replaceAll("-", " ");
}

/** Columns in which a command can be recognised. */
const LEAST_TITLE = 10;
/** Output lines of a tool that has ended. */
const PREVIEW_LINES = 6;
const PREVIEW_KEPT = 8;
const DIFF_LINES = 40;
const GROUPED_LINES = 30;
/** Characters kept of a line: wider than any terminal. */
const LINE = 1000;
