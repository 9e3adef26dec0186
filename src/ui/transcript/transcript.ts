/**
 * Turns events into what the operator reads: finished lines to print once, and a short live part that still changes.
 */
import {
  type AgentEvent,
  PROPOSED_HEADING,
  proposedLines,
  type ToolFinishedEvent,
  type UsageEvent,
} from "../../agent/events.ts";
import { clip } from "../../lib/text.ts";
import { showText, TerminalText } from "../../policy/screen/terminal-text.ts";
import { MarkdownStream } from "../markdown/markdown-stream.ts";
import { PlainStream, Thought } from "./text-streams.ts";
import type { Theme } from "../theme.ts";
import { ToolView, type ToolViewOptions } from "./tool-view.ts";
import {
  commandLine,
  compactNumber,
  type MachineNotice,
  MachineNotices,
  oneLine,
  retryWords,
  seconds,
  withMachine,
} from "../words.ts";

interface TranscriptOptions extends ToolViewOptions {
  readonly links: boolean;
  readonly markdown: boolean;
  readonly showTokens: boolean;
  readonly showToolCalls: boolean;
  /** What to do about an error, with the commands of this screen. */
  hint?(text: string): string;
  /** Keeps a result that is only shown in part; returns how to see the whole. */
  keep?(event: ToolFinishedEvent): string | undefined;
  /** There are new lines, although no event has come. */
  changed?(): void;
}

export class Transcript {
  readonly #options: TranscriptOptions;
  readonly #style: Theme;
  #lines: string[] = [];
  #last: Section = "start";
  #answer: { text: TerminalText; rows: MarkdownStream | PlainStream; shown: boolean } | undefined;
  #thought: Thought | undefined;
  #lastThought: readonly string[] = [];
  #tools = new Map<string, ToolView>();
  readonly #notices = new MachineNotices((notice) => {
    this.#notice(notice);
    this.#options.changed?.();
  });
  #usage: UsageEvent | undefined;
  #retry: { readonly words: string; readonly count: number } | undefined;
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

  /** Prints lines that are safe already: buddy's own words. */
  say(lines: readonly string[], section: Section = "note"): void {
    if (lines.length === 0) return;
    this.#section(section);
    this.#lines.push(...lines);
  }

  /** A quiet line of buddy's own. */
  remark(text: string): void {
    this.#section("note");
    this.#wrapped(this.#style.grey(`· ${text}`), "");
  }

  /** The operator's own words, as they were typed. */
  prompt(prefix: string, text: string, note = ""): void {
    this.#section("prompt");
    const [first = "", ...rest] = showText(text).split("\n");
    this.#lines.push(`${this.#style.prompt(prefix)}${first}${note === "" ? "" : ` ${this.#style.grey(note)}`}`);
    this.#lines.push(...rest.map((line) => `  ${line}`));
  }

  /** A whole answer from earlier. */
  answer(text: string): void {
    this.#text(text);
    this.#endAnswer();
  }

  error(message: string, hint?: string): void {
    this.#problem(this.#style.error(`error: ${this.#safe(message)}`), hint);
  }

  warning(message: string, hint?: string): void {
    this.#problem(this.#style.warning(`warning: ${this.#safe(message)}`), hint);
  }

  #problem(text: string, hint: string | undefined): void {
    this.#section("note");
    this.#wrapped(text, "");
    if (hint !== undefined && hint !== "")
      for (const line of this.#safe(hint).split("\n")) this.#wrapped(this.#style.grey(line), "  ");
  }

  event(event: AgentEvent): void {
    this.#endRetry(event);
    switch (event.type) {
      case "text":
        return this.#text(event.delta);
      case "reasoning":
        return this.#reason(event.delta);
      case "discard":
        return this.#discard();
      case "message":
        this.#endThought();
        return this.#endAnswer();
      case "tool_started":
        this.#endThought();
        this.#endAnswer();
        this.#tools.set(event.call, new ToolView(event.tool, event.title, this.#options));
        if (this.#options.lines && this.#options.showToolCalls) this.#begun(event);
        return;
      case "tool_output":
        // Lines of several machines would mix; what they answered comes grouped.
        if (event.machine === undefined || (event.stream === "info" && !this.#notices.add(event))) this.#notice(event);
        return;
      case "machine_finished":
        return this.#tools.get(event.call)?.progress(event);
      case "tool_finished":
        return this.#toolFinished(event);
      case "usage":
        this.#usage = event;
        return;
      case "retry":
        return this.#retries(event);
      case "warning":
        return this.warning(event.message, this.#hint(event.hint));
      case "notice":
        if (!this.#notices.add(event)) this.#notice(event);
        return;
      case "compacted":
        return this.#compacted(event);
      case "proposed":
        return this.#proposed(event);
      case "error":
        this.#endThought();
        this.#endAnswer();
        return this.error(event.message, this.#hint(event.hint));
      case "done":
        return this.#done();
      case "session":
      case "turn":
      case "machine":
        return;
      case "approval_asked":
        return this.#tools.get(event.call)?.asked(event.diff);
      case "approval_answered":
        if (event.edited !== undefined) this.#tools.get(event.call)?.retitle(event.edited);
        if (event.decision === "approved" && event.by === "mode") this.#tools.get(event.call)?.remark("auto-approved");
        if (event.decision === "approved" && event.by === "prefix")
          this.#tools.get(event.call)?.remark("allowed before");
        return;
      default:
        event satisfies never;
    }
  }

  #notice(event: MachineNotice): void {
    if (event.type === "tool_output") return this.#tools.get(event.call)?.push(event.stream, withMachine(event));
    this.#section("note");
    this.#wrapped(this.#style.grey(`· ${this.#safe(withMachine({ ...event, text: event.message }))}`), "");
  }

  /** Rows that still change, the newest last, at most `limit`; none before what is above them is printed. */
  live(limit: number): string[] {
    if (this.#lines.length > 0) return [];
    const rows: string[] = [];
    if (this.#thought !== undefined) rows.push(...this.#liveThought(this.#thought));
    if (this.#answer !== undefined) {
      const tail = this.#answer.rows.tail();
      if (!this.#answer.shown && tail.length > 0 && this.#needsGap("answer")) rows.push("");
      rows.push(...tail);
    }
    if (this.#retry !== undefined) rows.push(this.#style.warning(clip(this.#retry.words, this.#options.width())));
    if (this.#options.showToolCalls && this.#tools.size > 0) {
      if (this.#needsGap("tool")) rows.push("");
      const each = this.#tools.size === 1 ? LIVE_OUTPUT : 1;
      for (const tool of this.#tools.values()) rows.push(...tool.live(each));
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

  /** Everything that was open belongs to a task that has ended. */
  finish(): void {
    void this.#notices.flush();
    this.#retry = undefined;
    this.#endThought();
    this.#endAnswer();
    for (const tool of this.#tools.values()) this.#tool(tool.abandoned());
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
    // Rows that were printed cannot be removed: say that they do not count.
    const shown = this.#answer?.shown === true || this.#thought?.shown === true;
    this.#answer = undefined;
    this.#thought = undefined;
    if (shown) this.say([this.#style.grey("· connection lost; ignore the text above, the answer starts again")]);
  }

  #reason(delta: string): void {
    this.#endAnswer();
    this.#thought ??= new Thought(this.#options.width);
    this.#showThought(this.#thought, this.#thought.push(delta));
  }

  #showThought(thought: Thought, rows: readonly string[]): void {
    if (!this.showReasoning || rows.length === 0) return;
    if (!thought.shown) this.#section("reasoning");
    thought.shown = true;
    this.#lines.push(...rows.map((row) => this.#style.reasoning(row)));
  }

  #liveThought(thought: Thought): string[] {
    const rows = this.showReasoning ? thought.tail() : [];
    const gap = !thought.shown && rows.length > 0 && this.#needsGap("reasoning");
    return [...(gap ? [""] : []), ...rows.map((row) => this.#style.reasoning(row))];
  }

  #endThought(): void {
    const thought = this.#thought;
    if (thought === undefined) return;
    this.#showThought(thought, thought.end());
    this.#thought = undefined;
    this.#lastThought = thought.kept;
    if (!this.showReasoning && thought.kept.length > 0) {
      const time = Date.now() - thought.since;
      const took = time < 1000 ? "" : ` for ${seconds(time)}`;
      this.say([this.#style.grey(`· thought${took} (Ctrl-O shows it)`)], "reasoning");
    }
  }

  #toolFinished(event: ToolFinishedEvent): void {
    void this.#notices.flush();
    const tool = this.#tools.get(event.call) ?? new ToolView(event.tool, "", this.#options);
    this.#tools.delete(event.call);
    this.#tool(tool.finished(event, this.#options.keep?.(event)));
    if (event.tool === "you" && (event.outcome === "waiting" || event.outcome === "not-run"))
      this.remark(`${WAITS[event.outcome]} /attach shows how to answer it, /stop presses Ctrl-C`);
  }

  /** Retries are one line that changes; where nothing is repainted, only the first is printed. */
  #retries(event: AgentEvent & { type: "retry" }): void {
    const count = (this.#retry?.count ?? 0) + 1;
    const words = this.#options.redact(retryWords(event));
    this.#retry = { words, count };
    if (this.#options.lines && count === 1) this.say([this.#style.warning(words)]);
  }

  #endRetry(event: AgentEvent): void {
    if (this.#retry === undefined) return;
    const answers = event.type === "text" || event.type === "reasoning" || event.type === "message";
    // Anything else that happens meanwhile is no answer.
    if (!answers && event.type !== "error" && event.type !== "done") return;
    const { count } = this.#retry;
    this.#retry = undefined;
    if (answers)
      this.say([this.#style.grey(`· the model answered after ${count} ${count === 1 ? "retry" : "retries"}`)]);
  }

  #begun({ tool, title }: AgentEvent & { type: "tool_started" }): void {
    const what = commandLine(this.#options.redact(title)) || oneLine(tool);
    this.say([clip(`${this.#style.grey("›")} ${this.#style.bold(what)}`, this.#options.width())], "tool");
  }

  #tool(lines: readonly string[]): void {
    if (this.#options.showToolCalls) this.say(lines, "tool");
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

  #hint(hint: string | undefined): string | undefined {
    return hint === undefined ? undefined : (this.#options.hint?.(hint) ?? hint);
  }

  /** One command per line, to be copied as they are. */
  #proposed({ changes }: AgentEvent & { type: "proposed" }): void {
    this.#endThought();
    this.#endAnswer();
    this.#section("note");
    this.#lines.push(this.#style.warning(PROPOSED_HEADING));
    const text = showText(this.#options.redact(proposedLines(changes).join("\n")), { mode: "command" });
    this.#lines.push(...text.split("\n"));
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

  /** Blocks of one kind stay together; an empty line separates the others. */
  #needsGap(section: Section): boolean {
    if (this.#last === "start") return false;
    // What was asked and how it was answered stay together.
    if (section === "tool" && this.#last === "question") return false;
    if (section === "prompt" || section === "answer") return true;
    if (section === "note" && this.#last === "prompt") return false;
    return section !== this.#last && section !== "usage";
  }
}

export type Section = "start" | "welcome" | "prompt" | "question" | "answer" | "reasoning" | "tool" | "note" | "usage";

/** The operator's own command that did not end. */
const WAITS = { waiting: "it waits in the shared pane:", "not-run": "for the program in the shared pane:" } as const;
/** Output lines of a running tool. */
const LIVE_OUTPUT = 5;
