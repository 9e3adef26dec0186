/** The REPL line by line: for dumb terminals, screen readers and logs. Nothing moves, nothing is repainted. */
import type { AgentEvent } from "../../agent/events.ts";
import type { Task, Tasks } from "../../agent/tasks.ts";
import { BuddyError, EXIT, type ExitCode } from "../../lib/errors.ts";
import type { ApprovalAnswer, ApprovalRequest, Asker } from "../../policy/approvals.ts";
import { ApprovalPrompt } from "../approval/approval-prompt.ts";
import { History } from "../editor/history.ts";
import type { ReplHost } from "./host.ts";
import type { Choice } from "../picker.ts";
import { promptText } from "./prompt.ts";
import { type CommandScreen, isSlashCommand, runSlashCommand } from "../commands/slash-commands.ts";
import { droppedWords, TaskScreen } from "./task-screen.ts";
import { onSignals } from "../terminal/on-signals.ts";
import { theme, type Theme } from "../theme.ts";
import { oneLine } from "../transcript/tool-view.ts";
import { Transcript } from "../transcript/transcript.ts";
import { attachLines, welcome } from "./welcome.ts";

export class PlainRepl implements CommandScreen, Asker {
  readonly host: ReplHost;
  readonly style: Theme;
  readonly columns: number;
  readonly #input: LineInput;
  readonly #write: (text: string) => Promise<void>;
  readonly #transcript: Transcript;
  readonly #history: History;
  readonly #tasks: TaskScreen;
  readonly #left = Promise.withResolvers<ExitCode>();
  /** Who gets the next line instead of the prompt; the newest question first. */
  #questions: ((line: string) => void)[] = [];
  #commands: Promise<void> = Promise.resolve();
  #busyWork: AbortController | undefined;
  #interruptedAt = 0;
  #prompted = false;
  #saidAttach = false;
  #saidWaiting = false;
  /** A task is about to start: no prompt in between. */
  #submitting = false;
  #leaving = false;

  constructor(host: ReplHost, input: LineInput, write: (text: string) => Promise<void>, columns: number) {
    this.host = host;
    this.#input = input;
    this.#write = write;
    this.columns = columns;
    this.style = theme(host.display.color);
    const { markdown, showTokens, showToolCalls, showReasoning } = host.display;
    this.#transcript = new Transcript({
      style: this.style,
      links: false,
      markdown,
      showTokens,
      showToolCalls,
      showReasoning,
      width: () => columns,
      redact: (text) => host.redact(text),
    });
    this.#history = new History(host.historyPath);
    this.#tasks = new TaskScreen(host, this.#transcript, {
      started: (task) => this.#transcript.remark(`task ${task.id}: ${oneLine(task.title)}`),
      printed: () => this.#print(),
      counted: () => {},
      failed: (error) => this.#report(error),
      // The queue's next task starts before a prompt would be answered.
      ended: () => queueMicrotask(() => void this.#print()),
      attach: (command) => this.#sayAttach(command),
    });
  }

  get tasks(): Tasks {
    return this.#tasks.tasks;
  }

  async run(): Promise<ExitCode> {
    const { host } = this;
    const stopListening = host.onEvent((event) => this.#news(event));
    host.approvals.setAsker(this);
    const ignoreSignals = onSignals({
      SIGINT: () => this.#interrupt(),
      SIGTERM: () => this.leave(EXIT.terminated),
      SIGHUP: () => this.leave(EXIT.hangup),
    });
    this.#saidAttach = host.facts().target.attach !== undefined;
    this.#transcript.say(welcome(host, this.columns, this.style), "welcome");
    this.#print();
    this.#input.start(
      (line) => this.#line(line),
      () => this.leave(EXIT.ok),
    );
    try {
      return await this.#left.promise;
    } finally {
      await this.#close();
      stopListening();
      host.approvals.setAsker(undefined);
      ignoreSignals();
    }
  }

  /** A bug: `run` throws it; a second one on the way out ends the process at once. */
  crash(error: unknown): void {
    if (this.#leaving) process.exit(EXIT.failure);
    this.#leaving = true;
    this.#left.reject(error);
  }

  async #close(): Promise<void> {
    this.#input.stop();
    await this.#tasks.close();
    if (this.#prompted) await this.#write("\n");
    const lines = this.#transcript.take(Number.MAX_SAFE_INTEGER);
    await this.#write(lines.map((line) => `${line}\n`).join(""));
    await this.#history.settled();
  }

  leave(code: ExitCode): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#busyWork?.abort();
    for (const question of this.#questions.splice(0)) question("");
    this.#left.resolve(code);
  }

  quit(): void {
    this.leave(EXIT.ok);
  }

  /** Lines that nobody takes end with their reader (SIGPIPE, EIO). */
  get stuck(): boolean {
    return false;
  }

  /** Nothing can be done without what failed: says so and leaves. */
  fatal(error: unknown, code: ExitCode): void {
    this.#report(error);
    this.leave(code);
  }

  warn(message: string): void {
    this.#transcript.warning(message);
    this.#print();
  }

  say(lines: readonly string[]): void {
    this.#transcript.say(lines);
    this.#print();
  }

  fail(message: string, hint?: string): void {
    this.#transcript.error(message, hint);
    this.#print();
  }

  async pick(title: string, choices: readonly Choice[], selected: number): Promise<Choice | undefined> {
    this.#transcript.say([
      title,
      ...choices.map(({ label, hint }, i) => `${i === selected ? "*" : " "} ${i + 1} ${label}  ${hint}`),
    ]);
    const answer = (await this.#ask("number (empty: none): ")).trim();
    const chosen = choices[Number(answer) - 1] ?? choices.find(({ value }) => value === answer);
    if (chosen === undefined && answer !== "")
      this.fail(`${oneLine(answer)} is not in the list`, "nothing was changed");
    return chosen;
  }

  doing(task: Task): string {
    return this.#tasks.doing(task);
  }

  async interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const abort = (this.#busyWork = new AbortController());
    try {
      await work(abort.signal);
    } catch (error) {
      if (!abort.signal.aborted) throw error;
      this.say(["stopped"]);
    } finally {
      this.#busyWork = undefined;
    }
  }

  /** Said once: what counts down would fill the screen. */
  waiting(text: string | undefined): void {
    if (text !== undefined && !this.#saidWaiting) this.say([`${text}; Ctrl-C stops`]);
    this.#saidWaiting = text !== undefined;
  }

  targetOpened(): void {
    this.#sayAttach(this.host.facts().target.attach);
  }

  async ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const given: ApprovalAnswer[] = [];
    const prompt = new ApprovalPrompt(request, this.style, (answer) => void given.push(answer));
    this.#transcript.say(
      [...prompt.preamble(this.columns, Number.MAX_SAFE_INTEGER), ...prompt.plainQuestion()],
      "tool",
    );
    while (given.length === 0) {
      const line = await this.#ask(prompt.plainLabel(), signal);
      if (signal.aborted || this.#leaving) return { kind: "cancelled" };
      if (prompt.choosing && isSlashCommand(line.trim())) {
        await runSlashCommand(line, this).catch((error: unknown) => this.#report(error));
        if (signal.aborted) return { kind: "cancelled" };
        continue;
      }
      for (const said of prompt.plainAnswer(line)) this.say([said]);
    }
    return given[0]!;
  }

  /** The next line typed; empty when the signal comes first. */
  async #ask(label: string, signal?: AbortSignal): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const abort = (): void => resolve("");
    signal?.addEventListener("abort", abort);
    this.#questions.unshift(resolve);
    this.#print(label);
    const line = await promise;
    signal?.removeEventListener("abort", abort);
    this.#questions = this.#questions.filter((other) => other !== resolve);
    return line;
  }

  #line(line: string): void {
    this.#prompted = false;
    const [question] = this.#questions;
    if (question !== undefined) {
      question(line);
      return;
    }
    if (line.trim() === "") {
      this.#print();
      return;
    }
    this.#history.add(line);
    if (isSlashCommand(line)) {
      this.#commands = this.#commands
        .then(() => runSlashCommand(line, this))
        .then(
          () => this.#print(),
          (error: unknown) => this.#report(error),
        );
      return;
    }
    const busy = this.tasks.running !== undefined;
    this.#submitting = true;
    const task = this.#tasks.submit(line, line);
    this.#submitting = false;
    if (busy) this.say([`queued as task ${task.id}`]);
  }

  #interrupt(): void {
    this.#prompted = false;
    if (this.#busyWork !== undefined) this.#busyWork.abort(new DOMException("cancelled by the operator", "AbortError"));
    else if (this.tasks.running?.state.kind === "running") {
      const dropped = this.#tasks.stop() ?? 0;
      if (dropped > 0) this.say([droppedWords(dropped)]);
    } else if (this.#interruptedAt > Date.now() - TWICE_MS) this.leave(EXIT.ok);
    else {
      this.#interruptedAt = Date.now();
      this.say(["press Ctrl-C again to leave"]);
    }
  }

  #news(event: AgentEvent): void {
    if (this.tasks.running !== undefined) return;
    if (event.type === "session") this.#sayAttach(event.attach);
    else this.#transcript.event(event);
    this.#print();
  }

  #sayAttach(attach: string | undefined): void {
    if (attach === undefined || this.#saidAttach) return;
    this.#saidAttach = true;
    this.#transcript.say(attachLines(attach, this.columns, this.style), "welcome");
    this.#print();
  }

  #report(error: unknown): void {
    if (error instanceof BuddyError) this.fail(error.message, error.hint);
    else this.fail(error instanceof Error ? error.message : String(error));
  }

  /** Prints what is finished, then the question or, when nothing runs, the prompt. */
  #print(label?: string): Promise<void> {
    const lines = this.#transcript.take(Number.MAX_SAFE_INTEGER);
    const fresh = lines.length > 0 || label !== undefined;
    let text = fresh && this.#prompted ? "\n" : "";
    if (fresh) this.#prompted = false;
    for (const line of lines) text += `${line}\n`;
    const wanted =
      label ?? (this.tasks.running === undefined && this.#questions.length === 0 ? this.#promptText() : undefined);
    if (wanted !== undefined && !this.#prompted && !this.#leaving && !this.#submitting) {
      text += wanted;
      this.#prompted = true;
    }
    return text === "" ? Promise.resolve() : this.#write(text);
  }

  #promptText(): string {
    return this.style.prompt(promptText(this.host.facts(), this.columns));
  }
}

/** Lines as a terminal in its normal mode gives them. */
export interface LineInput {
  start(line: (line: string) => void, end: () => void): void;
  stop(): void;
}

const TWICE_MS = 2000;
