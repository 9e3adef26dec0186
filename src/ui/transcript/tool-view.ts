/** One tool call as the operator sees it: its newest lines while it runs, a clipped preview when it has ended. */
import type { ToolFinishedEvent } from "../../agent/events.ts";
import { clip } from "../../lib/graphemes.ts";
import { showText, TerminalText } from "../../policy/terminal-text.ts";
import { highlight } from "../markdown/highlight.ts";
import { OutputPreview } from "./output-preview.ts";
import type { Theme } from "../theme.ts";
import { seconds } from "../words.ts";

export class ToolView {
  readonly #name: string;
  #head = "";
  #remark = "";
  readonly #options: ToolViewOptions;
  readonly #preview = new OutputPreview(PREVIEW_KEPT);
  readonly #streams = new Map<string, TerminalText>();

  constructor(name: string, title: string, options: ToolViewOptions) {
    this.#options = options;
    this.#name = name;
    this.retitle(title);
  }

  /** The operator has changed the command: this one runs. */
  retitle(title: string): void {
    const { style, redact } = this.#options;
    const words = title === this.#name ? "" : oneLine(redact(title));
    this.#head = `${style.toolName(`● ${oneLine(this.#name)}`)} ${style.grey(words)}`.trimEnd();
  }

  /** How it came to run, where no one was asked. */
  remark(text: string): void {
    this.#remark = text;
  }

  push(stream: string, text: string): void {
    let filter = this.#streams.get(stream);
    if (filter === undefined) this.#streams.set(stream, (filter = new TerminalText()));
    this.#preview.push(filter.push(text));
  }

  live(outputLines: number): string[] {
    return [clip(this.#head, this.#options.width()), ...this.#grey(this.#preview.last(outputLines))];
  }

  finished(event: ToolFinishedEvent): string[] {
    if (this.#preview.lines === 0) this.#preview.push(showText(resultText(event.result)));
    return this.#ended(outcomeWords(event), event.ok, event.ms, event.display ?? "");
  }

  /** Its task is over, and nothing was heard of it. */
  abandoned(): string[] {
    return this.#ended("cancelled", false, 0, "");
  }

  #ended(outcome: string, ok: boolean, ms: number, display: string): string[] {
    const { style, width } = this.#options;
    const took = ms >= 1000 ? ` ${style.grey(seconds(ms))}` : "";
    const unasked = this.#remark === "" ? "" : ` ${style.warning(this.#remark)}`;
    const word = unasked + (outcome === "" ? "" : ` ${ok ? style.grey(outcome) : style.removed(outcome)}`);
    const room = Math.max(10, width() - Bun.stringWidth(word) - Bun.stringWidth(took));
    const head = clip(this.#head, room) + word + took;
    if (display !== "") return [head, ...this.#diff(display)];
    const { lines, more } = this.#preview.clipped(PREVIEW_LINES, ok ? "head" : "tail");
    const rows = this.#grey(lines);
    const note = more > 0 ? [this.#more(more)] : [];
    return ok ? [head, ...rows, ...note] : [head, ...note, ...rows];
  }

  #diff(display: string): string[] {
    const { style, width, redact } = this.#options;
    const lines = showText(redact(display)).replace(/\n$/, "").split("\n");
    const rows = lines
      .slice(0, DIFF_LINES)
      .map((line) => `  ${highlight(clip(line, width() - 2), "diff", "", style).text}`);
    return lines.length > DIFF_LINES ? [...rows, this.#more(lines.length - DIFF_LINES)] : rows;
  }

  #grey(lines: readonly string[]): string[] {
    const { style, width, redact } = this.#options;
    return lines.map((line) => style.grey(clip(`  ${redact(line)}`, width())));
  }

  #more(count: number): string {
    return this.#options.style.grey(`  …${count} more line${count === 1 ? "" : "s"}`);
  }
}

export interface ToolViewOptions {
  readonly style: Theme;
  /** Columns a row may use. */
  width(): number;
  /** Takes keys and tokens out of what is shown. */
  redact(text: string): string;
}

/** Made safe for the screen, on one line. */
export function oneLine(text: string): string {
  return showText(text).replace(/\s+/g, " ").trim();
}

/** What the model gets, without its envelope. */
function resultText(envelope: string): string {
  try {
    const value = (JSON.parse(envelope) as { result?: unknown }).result;
    if (value === undefined) return envelope;
    return typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  } catch {
    return envelope;
  }
}

function outcomeWords(event: ToolFinishedEvent): string {
  if (event.exit_code !== undefined && event.exit_code !== 0) return `exit ${event.exit_code}`;
  if (event.ok) return event.outcome === "running" || event.outcome === "waiting" ? event.outcome : "";
  return event.outcome === "exited" ? "" : event.outcome;
}

/** Output lines of a tool that ended. */
const PREVIEW_LINES = 6;
const PREVIEW_KEPT = 8;
const DIFF_LINES = 40;
