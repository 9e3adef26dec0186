/** Turns events into what the operator reads: finished lines to print once, and a short live part that still changes. */
import type { AgentEvent, ToolFinishedEvent, ToolStartedEvent, UsageEvent } from "../agent/events.ts";
import { clip } from "../lib/graphemes.ts";
import { showText, TerminalText } from "../policy/terminal-text.ts";
import { MarkdownStream } from "./markdown/markdown-stream.ts";
import { highlight } from "./markdown/highlight.ts";
import { PlainStream } from "./markdown/plain-stream.ts";
import { OutputPreview } from "./output-preview.ts";
import type { Theme } from "./theme.ts";
import { compactNumber, seconds } from "./words.ts";

export interface TranscriptOptions {
  readonly style: Theme;
  readonly links: boolean;
  readonly markdown: boolean;
  readonly showTokens: boolean;
  readonly showToolCalls: boolean;
  /** Columns a printed row may use. */
  width(): number;
  /** Takes keys and tokens out of what is shown. */
  redact(text: string): string;
}

export class Transcript {
  readonly #options: TranscriptOptions;
  readonly #style: Theme;
  #lines: string[] = [];
  #last: Section = "start";
  #answer: { text: TerminalText; rows: MarkdownStream | PlainStream; shown: boolean } | undefined;
  #thought: Thought | undefined;
  #lastThought: readonly string[] = [];
  #tools = new Map<string, RunningTool>();
  #usage: UsageEvent | undefined;
  showReasoning: boolean;

  constructor(options: TranscriptOptions & { showReasoning: boolean }) {
    this.#options = options;
    this.#style = options.style;
    this.showReasoning = options.showReasoning;
  }

  /** Finished lines that wait to be printed. */
  get waiting(): number {
    return this.#lines.length;
  }

  take(limit: number): string[] {
    return this.#lines.splice(0, limit);
  }

  /** Prints lines that are safe already: what buddy itself says. */
  say(lines: readonly string[], section: Section = "note"): void {
    if (lines.length === 0) return;
    this.#section(section);
    this.#lines.push(...lines);
  }

  /** A quiet line of buddy's own. */
  remark(text: string): void {
    this.say([this.#style.grey(`· ${text}`)]);
  }

  /** The operator's own words, as they were typed. */
  prompt(prefix: string, text: string, note = ""): void {
    this.#section("prompt");
    const [first = "", ...rest] = showText(text).split("\n");
    this.#lines.push(`${this.#style.prompt(prefix)}${first}${note === "" ? "" : ` ${this.#style.grey(note)}`}`);
    this.#lines.push(...rest.map((line) => `  ${line}`));
  }

  error(message: string, hint?: string): void {
    this.#section("note");
    this.#wrapped(`${this.#style.error("error:")} ${this.#safe(message)}`, "");
    if (hint !== undefined && hint !== "")
      for (const line of this.#safe(hint).split("\n")) this.#wrapped(this.#style.grey(line), "  ");
  }

  warning(message: string, hint?: string): void {
    this.#section("note");
    this.#wrapped(`${this.#style.warning("warning:")} ${this.#safe(message)}`, "");
    if (hint !== undefined && hint !== "")
      for (const line of this.#safe(hint).split("\n")) this.#wrapped(this.#style.grey(line), "  ");
  }

  event(event: AgentEvent): void {
    switch (event.type) {
      case "text":
        this.#text(event.delta);
        return;
      case "reasoning":
        this.#reason(event.delta);
        return;
      case "discard":
        this.#discard();
        return;
      case "message":
        this.#endThought();
        this.#endAnswer();
        return;
      case "tool_started":
        this.#endThought();
        this.#endAnswer();
        this.#tools.set(event.call, new RunningTool(event));
        return;
      case "tool_output":
        this.#tools.get(event.call)?.push(event.stream, event.text);
        return;
      case "tool_finished":
        this.#toolFinished(event);
        return;
      case "usage":
        this.#usage = event;
        return;
      case "retry":
        this.#section("note");
        this.#wrapped(
          this.#style.grey(
            `${this.#safe(event.reason)} from ${this.#safe(event.host)}; trying again in ${seconds(event.wait_ms)} (${event.attempt} of ${event.of})`,
          ),
          "",
        );
        return;
      case "warning":
        this.warning(event.message, event.hint);
        return;
      case "notice":
        this.#section("note");
        this.#wrapped(this.#style.grey(`· ${this.#safe(event.message)}`), "");
        return;
      case "compacted":
        this.#compacted(event);
        return;
      case "error":
        this.#endThought();
        this.#endAnswer();
        this.error(event.message, event.hint);
        return;
      case "done":
        this.#done();
        return;
      case "session":
      case "turn":
      case "approval_asked":
      case "approval_answered":
        return;
      default:
        event satisfies never;
    }
  }

  /** Rows that still change, the newest last, at most `limit`. */
  live(limit: number): string[] {
    const rows: string[] = [];
    if (this.#thought !== undefined) rows.push(...this.#liveThought(this.#thought));
    if (this.#answer !== undefined) {
      const tail = this.#answer.rows.tail();
      if (!this.#answer.shown && tail.length > 0 && this.#needsGap("answer")) rows.push("");
      rows.push(...tail);
    }
    if (this.#options.showToolCalls && this.#tools.size > 0) {
      if (this.#needsGap("tool")) rows.push("");
      const each = this.#tools.size === 1 ? LIVE_OUTPUT : 1;
      for (const tool of this.#tools.values()) rows.push(...this.#liveTool(tool, each));
    }
    return limit <= 0 ? [] : rows.slice(-limit);
  }

  /** Ctrl-O: shows or folds the model's reasoning from now on; what was folded last is printed. */
  toggleReasoning(): void {
    this.showReasoning = !this.showReasoning;
    if (this.#thought !== undefined) return;
    if (this.showReasoning && this.#lastThought.length > 0) {
      this.say(
        this.#lastThought.map((line) => this.#style.reasoning(line)),
        "reasoning",
      );
      this.#lastThought = [];
      return;
    }
    this.say([this.#style.grey(this.showReasoning ? "reasoning is shown" : "reasoning is folded (Ctrl-O shows it)")]);
  }

  /** Everything that was open belongs to a task that is over. */
  finish(): void {
    this.#endThought();
    this.#endAnswer();
    for (const tool of this.#tools.values()) this.#toolEnd(tool, "cancelled", false);
    this.#tools.clear();
  }

  #text(delta: string): void {
    this.#endThought();
    this.#answer ??= {
      text: new TerminalText(),
      rows: this.#options.markdown
        ? new MarkdownStream(this.#style, this.#options.links, this.#options.width)
        : new PlainStream(this.#options.width),
      shown: false,
    };
    this.#answer.rows.push(this.#answer.text.push(delta));
    this.#give();
  }

  #give(): void {
    const answer = this.#answer!;
    const rows = answer.rows.take();
    if (rows.length === 0) return;
    if (!answer.shown) this.#section("answer");
    answer.shown = true;
    this.#lines.push(...rows);
  }

  #endAnswer(): void {
    const answer = this.#answer;
    if (answer === undefined) return;
    answer.rows.push(answer.text.end());
    answer.rows.end();
    this.#give();
    this.#answer = undefined;
  }

  #discard(): void {
    // Rows that were printed cannot be taken back: say that they do not count.
    const shown = this.#answer?.shown === true || this.#thought?.shown === true;
    this.#answer = undefined;
    this.#thought = undefined;
    if (shown) this.say([this.#style.grey("· the connection broke here; the answer starts again")]);
  }

  #reason(delta: string): void {
    this.#endAnswer();
    this.#thought ??= { text: new TerminalText(), partial: "", lines: [], since: Date.now(), shown: false };
    const thought = this.#thought;
    thought.partial += thought.text.push(delta);
    const parts = thought.partial.split("\n");
    thought.partial = parts.pop()!;
    for (const part of parts) this.#thoughtLine(thought, part);
  }

  #thoughtLine(thought: Thought, line: string): void {
    const rows = line === "" ? [""] : Bun.wrapAnsi(line, this.#options.width(), { hard: true }).split("\n");
    if (thought.lines.length < THOUGHT_LINES) thought.lines.push(...rows);
    if (!this.showReasoning) return;
    if (!thought.shown) this.#section("reasoning");
    thought.shown = true;
    this.#lines.push(...rows.map((row) => this.#style.reasoning(row)));
  }

  #liveThought(thought: Thought): string[] {
    if (!this.showReasoning) return [];
    const rows =
      thought.partial === "" ? [] : Bun.wrapAnsi(thought.partial, this.#options.width(), { hard: true }).split("\n");
    const gap = !thought.shown && rows.length > 0 && this.#needsGap("reasoning");
    return [...(gap ? [""] : []), ...rows.map((row) => this.#style.reasoning(row))];
  }

  #endThought(): void {
    const thought = this.#thought;
    if (thought === undefined) return;
    const rest = thought.partial + thought.text.end();
    if (rest !== "") this.#thoughtLine(thought, rest);
    this.#thought = undefined;
    this.#lastThought = thought.lines;
    if (!this.showReasoning && thought.lines.length > 0) {
      const time = Date.now() - thought.since;
      const took = time < 1000 ? "" : ` for ${seconds(time)}`;
      this.say([this.#style.grey(`· thought${took} (Ctrl-O shows it)`)], "reasoning");
    }
  }

  #liveTool(tool: RunningTool, outputLines: number): string[] {
    const width = this.#options.width();
    const rows = tool.preview
      .last(outputLines)
      .map((line) => this.#style.grey(clip(`  ${this.#options.redact(line)}`, width)));
    return [clip(this.#toolHead(tool), width), ...rows];
  }

  #toolHead(tool: { name: string; title: string }): string {
    const title = tool.title === tool.name ? "" : oneLine(this.#options.redact(tool.title));
    return `${this.#style.toolName(`● ${this.#safe(tool.name)}`)} ${this.#style.grey(title)}`.trimEnd();
  }

  #toolFinished(event: ToolFinishedEvent): void {
    const tool = this.#tools.get(event.call) ?? new RunningTool({ tool: event.tool, title: "" });
    this.#tools.delete(event.call);
    if (tool.preview.lines === 0) tool.preview.push(showText(resultText(event.result)));
    this.#toolEnd(tool, outcomeWords(event), event.ok, event.ms, event.display);
  }

  #toolEnd(tool: RunningTool, outcome: string, ok: boolean, ms = 0, display?: string): void {
    if (!this.#options.showToolCalls) return;
    this.#section("tool");
    const width = this.#options.width();
    const took = ms >= 1000 ? ` ${this.#style.grey(seconds(ms))}` : "";
    const word = outcome === "" ? "" : ` ${ok ? this.#style.grey(outcome) : this.#style.removed(outcome)}`;
    const room = Math.max(10, width - Bun.stringWidth(word) - Bun.stringWidth(took));
    this.#lines.push(clip(this.#toolHead(tool), room) + word + took);
    if (display !== undefined && display !== "") {
      this.#diff(display);
      return;
    }
    const { lines, more } = tool.preview.clipped(PREVIEW_LINES, ok ? "head" : "tail");
    const rows = lines.map((line) => this.#style.grey(clip(`  ${this.#options.redact(line)}`, width)));
    const note = this.#style.grey(`  …${more} more line${more === 1 ? "" : "s"}`);
    if (more > 0 && !ok) this.#lines.push(note);
    this.#lines.push(...rows);
    if (more > 0 && ok) this.#lines.push(note);
  }

  #diff(display: string): void {
    const lines = this.#safe(display).replace(/\n$/, "").split("\n");
    for (const line of lines.slice(0, DIFF_LINES)) {
      this.#lines.push(`  ${highlight(clip(line, this.#options.width() - 2), "diff", "", this.#style).text}`);
    }
    const more = lines.length - DIFF_LINES;
    if (more > 0) this.#lines.push(this.#style.grey(`  …${more} more line${more === 1 ? "" : "s"}`));
  }

  #compacted(event: { summary: string; before_tokens: number; after_tokens: number; replaced: number }): void {
    this.#section("note");
    const numbers = `${compactNumber(event.before_tokens)} → ${compactNumber(event.after_tokens)} tokens`;
    this.#wrapped(
      `${this.#style.bold("compacted")} ${this.#style.grey(`${event.replaced} messages, ${numbers}; the summary:`)}`,
      "",
    );
    const rows = new MarkdownStream(this.#style, this.#options.links, () => this.#options.width() - 2);
    rows.push(this.#safe(event.summary));
    rows.end();
    this.#lines.push(...rows.take().map((row) => this.#style.grey(`  ${row}`)));
  }

  #done(): void {
    this.finish();
    const usage = this.#usage;
    this.#usage = undefined;
    if (usage === undefined || !this.#options.showTokens) return;
    const cost = usage.cost_usd === undefined ? "" : ` · $${usage.cost_usd.toFixed(4)}`;
    const guess = usage.estimated ? "≈" : "";
    this.say(
      [
        this.#style.grey(
          `tokens: ${guess}${compactNumber(usage.input)} in, ${guess}${compactNumber(usage.output)} out${cost}`,
        ),
      ],
      "usage",
    );
  }

  #safe(text: string): string {
    return showText(this.#options.redact(text));
  }

  #wrapped(text: string, indent: string): void {
    const room = Math.max(10, this.#options.width() - indent.length);
    for (const row of Bun.wrapAnsi(text, room, { hard: true }).split("\n")) this.#lines.push(indent + row);
  }

  #section(section: Section): void {
    if (this.#needsGap(section)) this.#lines.push("");
    this.#last = section;
  }

  /** Blocks of one kind stand together; an empty line parts the others. */
  #needsGap(section: Section): boolean {
    if (this.#last === "start") return false;
    if (section === "prompt" || section === "answer") return true;
    if (section === "note" && this.#last === "prompt") return false;
    return section !== this.#last && section !== "usage";
  }
}

export type Section = "start" | "welcome" | "prompt" | "answer" | "reasoning" | "tool" | "note" | "usage";

interface Thought {
  readonly text: TerminalText;
  partial: string;
  readonly lines: string[];
  readonly since: number;
  shown: boolean;
}

class RunningTool {
  readonly name: string;
  readonly title: string;
  readonly preview = new OutputPreview(PREVIEW_KEPT);
  readonly #streams = new Map<string, TerminalText>();

  constructor(event: Pick<ToolStartedEvent, "tool" | "title">) {
    this.name = event.tool;
    this.title = event.title;
  }

  push(stream: string, text: string): void {
    let filter = this.#streams.get(stream);
    if (filter === undefined) this.#streams.set(stream, (filter = new TerminalText()));
    this.preview.push(filter.push(text));
  }
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

/** Output lines of a running tool. */
const LIVE_OUTPUT = 5;
/** Output lines of one that ended. */
const PREVIEW_LINES = 6;
const PREVIEW_KEPT = 8;
const DIFF_LINES = 40;
const THOUGHT_LINES = 2000;
