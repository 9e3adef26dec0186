/** Questions of a one-shot run on its controlling terminal: an approval, or a password. */
import { openTerminal } from "../../lib/terminal.ts";
import { AnsweredElsewhere } from "../../agent/events.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../policy/approvals.ts";
import type { TerminalInput } from "../terminal/keys.ts";
import { ASK_CURSOR, type CursorPosition, LiveArea, terminalReflows } from "../terminal/live-area.ts";
import { pagerCommand, runEditor, runPager } from "../terminal/outside-programs.ts";
import { SCROLL_OFF, SCROLL_ON, ScrollView } from "../terminal/scroll-view.ts";
import { TerminalKeys } from "../terminal/terminal-keys.ts";
import { type Theme, type ThemeName, theme } from "../theme.ts";
import { ApprovalPrompt, NOT_COUNTED } from "./approval-prompt.ts";
import { ALONE_MS, REST_MS } from "./key-guard.ts";
import { answeredLine, editedLines } from "./question-text.ts";
import type { PasswordQuestion } from "../../agent/calls/desk.ts";
import { PasswordLine } from "../questions/password-line.ts";
import { messageOf } from "../../lib/errors.ts";

/** Answers `no-terminal` where there is no terminal or buddy is not in its foreground. */
export async function askOnTerminal(
  request: ApprovalRequest,
  signal: AbortSignal,
  options: TerminalOptions,
  terminal = openTerminal(),
): Promise<ApprovalAnswer> {
  if (terminal === undefined) return { kind: "no-terminal" };
  const keys = new TerminalKeys(terminal, signal);
  try {
    const question = new TerminalQuestion(request, keys, options, signal);
    const answer = await (keys.raw && process.env.TERM !== "dumb" ? question.ask() : question.askInLines());
    if (answer.kind === "no" && answer.stop === true) options.interrupt();
    return answer;
  } finally {
    await keys.close();
  }
}

interface TerminalOptions {
  readonly color: boolean;
  readonly theme: ThemeName | "auto";
  /** Questions that wait behind this one. */
  readonly behind?: (() => number) | undefined;
  /** What the operator's pager and editor may inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ctrl-C at the question: a terminal in raw mode sends no signal. */
  interrupt(): void;
}

class TerminalQuestion {
  readonly #signal: AbortSignal;
  readonly #keys: TerminalKeys;
  readonly #options: TerminalOptions;
  readonly #style: Theme;
  readonly #prompt: ApprovalPrompt;
  readonly #area = new LiveArea();
  #size = { columns: 0, rows: 0 };
  #answer: ApprovalAnswer | undefined;
  /** What the keys wait for: a pager or an editor has the terminal. */
  #outside: Promise<void> | undefined;
  #scroll: ScrollView | undefined;

  constructor(request: ApprovalRequest, keys: TerminalKeys, options: TerminalOptions, signal: AbortSignal) {
    this.#signal = signal;
    this.#keys = keys;
    this.#options = options;
    this.#style = theme(options.color, options.theme);
    this.#prompt = new ApprovalPrompt(request, this.#style, {
      answer: (answer) => (this.#answer = answer),
      view: (document) => this.#view(document),
      editOutside: (text) => this.#lend(() => runEditor(text, options.env, keys.terminal)),
      otherKeys: ["Ctrl-C  no, and end the run"],
    });
  }

  async ask(): Promise<ApprovalAnswer> {
    const { columns, rows } = (this.#size = this.#keys.size());
    for (const line of this.#prompt.preamble(columns - 1, rows)) this.#keys.write(`${line}\r\n`);
    for (;;) {
      this.#paint();
      let inputs = await this.#keys.next(this.#prompt.due);
      if (inputs === undefined) return this.#end({ kind: "cancelled" });
      // Without keys: the terminal changed its size, and is asked where the cursor went.
      if (inputs.length === 0 && this.#scroll === undefined && this.#resized) {
        this.#keys.ask(ASK_CURSOR);
        const answers = await this.#answers();
        if (answers === undefined) return this.#end({ kind: "cancelled" });
        inputs = answers;
      }
      for (const input of inputs) if (input.kind === "cursor") this.#settle({ row: input.row - 1, col: input.col - 1 });
      const typed = inputs.filter(({ kind }) => kind === "key" || kind === "paste");
      if (this.#scroll !== undefined) this.#scrolled(this.#scroll, typed);
      else if (
        this.#prompt.choosing &&
        typed.some((input) => input.kind === "key" && input.ctrl && input.name === "c")
      ) {
        this.#end({ kind: "cancelled" });
        this.#options.interrupt();
        return { kind: "cancelled" };
      } else if (typed.length > 0) this.#prompt.take(typed);
      else this.#prompt.look();
      await this.#outside;
      if (this.#answer !== undefined) return this.#end(this.#answer);
    }
  }

  /** Where nothing can be repainted: whole lines, in the terminal's own mode. */
  async askInLines(): Promise<ApprovalAnswer> {
    const say = (lines: readonly string[]) => this.#keys.write(lines.map((line) => `${line}\n`).join(""));
    say([
      ...this.#prompt.preamble(79, Number.MAX_SAFE_INTEGER),
      ...this.#prompt.plainQuestion(this.#options.behind?.() ?? 0, 79),
    ]);
    // Before the label nothing counts.
    while (await this.#keys.rested(REST_MS)) say([NOT_COUNTED]);
    while (this.#answer === undefined) {
      const { choosing } = this.#prompt;
      this.#keys.write(this.#prompt.plainLabel());
      const line = await this.#keys.line();
      if (line === undefined) {
        if (this.#signal.aborted) say(["", this.#answered({ kind: "cancelled" })]);
        return { kind: "cancelled" };
      }
      if (choosing && (await this.#keys.rested(ALONE_MS))) say([NOT_COUNTED]);
      else say(this.#prompt.plainAnswer(line));
    }
    say(editedLines(this.#answer, 79));
    return this.#answer;
  }

  #paint(): void {
    const { columns, rows } = this.#keys.size();
    if (this.#scroll !== undefined) return this.#keys.write(this.#scroll.frame(columns, rows));
    this.#settle(undefined);
    const view = this.#prompt.view(columns - 1, rows - 1, this.#options.behind?.() ?? 0);
    const cut = Math.max(0, view.rows.length - (rows - 1));
    const cursor = { ...view.cursor, row: Math.max(0, view.cursor.row - cut) };
    this.#keys.write(this.#area.frame([], view.rows.slice(cut), cursor));
    this.#prompt.shown();
  }

  /** Until the cursor's place or a key has come; the terminal's version comes before, and perhaps alone. */
  async #answers(): Promise<readonly TerminalInput[] | undefined> {
    for (;;) {
      const inputs = await this.#keys.next();
      for (const input of inputs ?? []) if (input.kind === "terminal") this.#area.answered(input.version);
      const others = inputs?.filter(({ kind }) => kind !== "terminal");
      if (inputs === undefined || inputs.length === 0 || others!.length > 0) return others;
    }
  }

  get #resized(): boolean {
    const { columns, rows } = this.#keys.size();
    return columns !== this.#size.columns || rows !== this.#size.rows;
  }

  #settle(cursor: CursorPosition | undefined): void {
    if (!this.#resized) return;
    this.#size = this.#keys.size();
    this.#keys.write(this.#area.eraseAfterResize(this.#size.columns, terminalReflows(process.env), cursor));
  }

  #end(answer: ApprovalAnswer): ApprovalAnswer {
    const lines = [...editedLines(answer, this.#keys.size().columns - 1), this.#answered(answer)];
    this.#keys.write(`${this.#area.erase()}${lines.map((line) => `${line}\r\n`).join("")}`);
    return answer;
  }

  #answered(answer: ApprovalAnswer): string {
    const { reason } = this.#signal;
    const other = reason instanceof AnsweredElsewhere ? reason : undefined;
    const columns = this.#keys.size().columns - 1;
    return answeredLine(this.#prompt.request, other?.answer ?? answer, this.#style, columns, other?.by);
  }

  #view(document: readonly string[]): void {
    const command = pagerCommand(this.#options.env);
    if (command === undefined) return this.#scrollThrough(document);
    const shown = this.#lend(() =>
      runPager(command, document, this.#options.env, this.#keys.terminal).then(() => true),
    );
    this.#outside = shown.then((isShown) => {
      if (isShown !== true) this.#scrollThrough(document);
    });
  }

  #scrollThrough(document: readonly string[]): void {
    this.#keys.write(SCROLL_ON);
    this.#scroll = new ScrollView(document, this.#style);
  }

  #scrolled(scroll: ScrollView, inputs: readonly TerminalInput[]): void {
    if (!inputs.some((input) => scroll.handle(input))) return;
    this.#scroll = undefined;
    this.#keys.write(SCROLL_OFF);
  }

  /** Undefined when the program failed: the question stays as it was, with a note above it. */
  #lend<T>(work: () => Promise<T>): Promise<T | undefined> {
    this.#keys.write(this.#area.erase());
    const done = this.#keys.lend(work).catch((error: unknown) => {
      this.#keys.write(`${messageOf(error)}\r\n`);
      return undefined;
    });
    this.#outside = done.then(() => undefined);
    return done;
  }
}

// The line for a password on the controlling terminal of a one-shot run.

/** Undefined where there is no terminal that can hide what is typed, or buddy is not in its foreground. */
export async function passwordOnTerminal(
  question: PasswordQuestion,
  signal: AbortSignal,
  look: Pick<TerminalOptions, "color" | "theme">,
  terminal = openTerminal(),
): Promise<Uint8Array | undefined> {
  if (terminal === undefined) return undefined;
  const keys = new TerminalKeys(terminal, signal);
  const area = new LiveArea();
  const style = theme(look.color, look.theme);
  const given: { bytes?: Uint8Array | undefined }[] = [];
  const line = new PasswordLine(question, (bytes) => given.push({ bytes }));
  try {
    if (!keys.raw) return undefined;
    while (given.length === 0) {
      const { columns } = keys.size();
      const { rows, cursor } = line.view(columns - 1, style);
      keys.write(area.frame([], rows, cursor));
      const inputs = await keys.next();
      if (inputs === undefined) line.close();
      else for (const input of inputs) if (given.length === 0) line.handle(input);
    }
    return given[0]?.bytes;
  } finally {
    keys.write(area.erase());
    await keys.close();
  }
}
