/** The REPL line by line: for dumb terminals, screen readers and logs. Nothing moves, nothing is repainted. */
import type { Task } from "../../agent/tasks.ts";
import { EXIT } from "../../lib/errors.ts";
import { pause } from "../../lib/waiting.ts";
import { AnsweredElsewhere } from "../../agent/events.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../policy/approvals.ts";
import { ApprovalPrompt, NOT_COUNTED } from "../approval/approval-prompt.ts";
import { ALONE_MS, REST_MS } from "../approval/key-guard.ts";
import { answeredLine, COMMAND_FIRST, editedLines } from "../approval/question-text.ts";
import { isSlashCommand } from "../commands/slash-commands.ts";
import type { Choice } from "../questions/picker.ts";
import { approvalBadge } from "./status-line.ts";
import type { Repl } from "./repl.ts";
import type { ReplScreen } from "./host.ts";
import { oneLine } from "../words.ts";

export class LineScreen implements ReplScreen {
  readonly columns: number;
  readonly links = false;
  readonly echoes = true;
  /** A line that is not read ends the process (SIGPIPE, EIO). */
  readonly stuck = false;
  readonly #input: LineInput;
  readonly #write: (text: string) => Promise<void>;
  #repl: Repl | undefined;
  /** They get the next line instead of the prompt; the newest question first. */
  #questions: { readonly label: string; take(line: string): void }[] = [];
  #prompted = false;
  #saidWaiting = false;
  /** A task is about to start: no prompt in between. */
  #submitting = false;
  #ended = false;

  constructor(input: LineInput, write: (text: string) => Promise<void>, columns: number) {
    this.#input = input;
    this.#write = write;
    this.columns = columns;
  }

  start(repl: Repl): void {
    this.#repl = repl;
    void this.#print();
    this.#input.start(
      (line) => this.#line(line),
      (gone) => (gone ? repl.leave(EXIT.hangup) : this.#end()),
    );
  }

  refresh(): void {
    void this.#print();
  }

  room(): Promise<void> {
    return this.#print();
  }

  clearLine(): boolean {
    this.#prompted = false;
    return false;
  }

  /** What was printed stays: a log is not rewritten. */
  clear(): void {}

  copy(): boolean {
    return false;
  }

  async pick(title: string, choices: readonly Choice[], selected: number): Promise<Choice | undefined> {
    const repl = this.#started;
    repl.transcript.say([
      title,
      ...choices.map(({ label, hint }, i) => `${i === selected ? "*" : " "} ${i + 1} ${label}  ${hint}`),
    ]);
    const answer = (await this.#ask("number (empty: none): ")).trim();
    const chosen = choices[Number(answer) - 1] ?? choices.find(({ value }) => value === answer);
    if (chosen === undefined && answer !== "")
      repl.fail(`${oneLine(answer)} is not in the list`, "nothing was changed");
    return chosen;
  }

  /** Printed once: a countdown would fill the screen. */
  waiting(text: string | undefined): void {
    if (text !== undefined && !this.#saidWaiting) this.#started.say([`${text}; Ctrl-C stops`]);
    this.#saidWaiting = text !== undefined;
  }

  view(lines: readonly string[]): Promise<void> {
    this.#started.verbatim(lines);
    return Promise.resolve();
  }

  hint(text: string): void {
    this.#started.say([text]);
  }

  taskStarted(task: Task): void {
    this.#started.transcript.remark(`task ${task.id}: ${oneLine(task.title)}`);
  }

  /** The queue's next task starts before a prompt would be answered. */
  taskEnded(): void {
    queueMicrotask(() => {
      if (this.#ended) this.#end();
      else void this.#print();
    });
  }

  async ask(request: ApprovalRequest, signal: AbortSignal, behind: () => number): Promise<ApprovalAnswer> {
    const repl = this.#started;
    if (signal.aborted) return { kind: "cancelled" };
    if (this.#ended) return { kind: "no-terminal" };
    const given: ApprovalAnswer[] = [];
    const prompt = new ApprovalPrompt(request, repl.style, {
      answer: (answer) => void given.push(answer),
      otherKeys: [COMMAND_FIRST],
    });
    repl.transcript.say(
      [...prompt.preamble(this.columns, Number.MAX_SAFE_INTEGER), ...prompt.plainQuestion(behind(), this.columns)],
      "tool",
    );
    // Before the label nothing counts.
    while (await this.#rested(REST_MS, signal)) repl.say([NOT_COUNTED]);
    while (given.length === 0) {
      const { choosing } = prompt;
      const line = this.#ended ? "" : await this.#ask(prompt.plainLabel(), signal);
      if (signal.reason instanceof AnsweredElsewhere) {
        const { answer = { kind: "cancelled" }, by } = signal.reason;
        repl.say([answeredLine(request, answer, repl.style, this.columns, by)]);
      }
      if (signal.aborted || repl.leaving) return { kind: "cancelled" };
      if (this.#ended) return { kind: "no-terminal" };
      if (choosing && (await this.#rested(ALONE_MS, signal))) {
        repl.say([NOT_COUNTED]);
        continue;
      }
      if (prompt.choosing && isSlashCommand(line.trim())) {
        await repl.command(line);
        if (signal.aborted) return { kind: "cancelled" };
        continue;
      }
      repl.verbatim(prompt.plainAnswer(line));
    }
    const [answer] = given as [ApprovalAnswer];
    repl.verbatim(editedLines(answer, this.columns));
    if (answer.kind === "no" && answer.stop === true) repl.stopTask();
    return answer;
  }

  /** What is typed here can be seen: it is typed in the pane instead. */
  password(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  release(): void {
    for (const question of this.#questions.splice(0)) question.take("");
  }

  async close(): Promise<void> {
    this.#input.stop();
    if (this.#prompted) await this.#write("\n");
    const lines = this.#started.transcript.take(Number.MAX_SAFE_INTEGER);
    await this.#write(lines.map((line) => `${line}\n`).join(""));
  }

  get #started(): Repl {
    if (this.#repl === undefined) throw new Error("the screen has not been started");
    return this.#repl;
  }

  /** The next line typed; empty when the signal comes first. */
  async #ask(label: string, signal?: AbortSignal): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const abort = (): void => resolve("");
    signal?.addEventListener("abort", abort);
    const question = { label, take: resolve };
    this.#questions.unshift(question);
    void this.#print();
    const line = await promise;
    signal?.removeEventListener("abort", abort);
    this.#questions = this.#questions.filter((other) => other !== question);
    return line;
  }

  /** Takes the lines that come until none did for that long; whether there were any. */
  async #rested(ms: number, signal: AbortSignal): Promise<boolean> {
    let typed = 0;
    const question = { label: "", take: () => void typed++ };
    this.#questions.unshift(question);
    for (let seen = -1; seen !== typed && !signal.aborted && !this.#ended;) {
      seen = typed;
      await pause(ms, signal).catch(() => undefined);
    }
    this.#questions = this.#questions.filter((other) => other !== question);
    return typed > 0 && !this.#ended;
  }

  #line(line: string): void {
    const repl = this.#started;
    this.#prompted = false;
    const [question] = this.#questions;
    if (question !== undefined) return question.take(line);
    if (line.trim() === "") {
      void this.#print();
      return;
    }
    const busy = repl.tasks.running !== undefined;
    this.#submitting = true;
    const task = repl.submit(line);
    this.#submitting = false;
    if (busy && task !== undefined) repl.say([`queued as task ${task.id}`]);
  }

  /** No more lines: what was entered is done first, but questions can no longer be answered. */
  #end(): void {
    const repl = this.#started;
    this.#ended = true;
    this.release();
    if (repl.tasks.running === undefined && repl.tasks.queued.length === 0) repl.leave(EXIT.ok);
  }

  /** Prints what is finished, then the question or, when nothing runs, the prompt. */
  #print(): Promise<void> {
    const repl = this.#repl;
    if (repl === undefined) return Promise.resolve();
    const lines = repl.transcript.take(Number.MAX_SAFE_INTEGER);
    const [question] = this.#questions;
    const fresh = lines.length > 0;
    let text = fresh && this.#prompted ? "\n" : "";
    if (fresh) this.#prompted = false;
    for (const line of lines) text += `${line}\n`;
    const idle = repl.tasks.running === undefined && !repl.tasks.held;
    const badge = approvalBadge(repl.host.approvals.mode, Date.now());
    const prompt = `${badge === "" ? "" : `${repl.style.badge(badge)} `}${repl.style.prompt(repl.prompt())}`;
    const wanted = question?.label ?? (idle ? prompt : undefined);
    if (
      wanted !== undefined &&
      wanted !== "" &&
      !this.#prompted &&
      !repl.leaving &&
      !this.#submitting &&
      !this.#ended
    ) {
      text += wanted;
      this.#prompted = true;
    }
    return text === "" ? Promise.resolve() : this.#write(text);
  }
}

/** Lines as a terminal in its normal mode gives them. */
export interface LineInput {
  /** `gone`: the terminal was closed. A last line without a newline counts as one. */
  start(line: (line: string) => void, end: (gone?: boolean) => void): void;
  stop(): void;
}
