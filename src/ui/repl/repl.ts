/** The REPL: prompts, commands, tasks and news, on whichever screen there is. */
import type { AgentEvent } from "../../agent/events.ts";
import type { Task, Tasks } from "../../agent/tasks.ts";
import { BuddyError, EXIT, type ExitCode } from "../../lib/errors.ts";
import { type CommandScreen, isSlashCommand, runSlashCommand } from "../commands/slash-commands.ts";
import { History } from "../editor/history.ts";
import type { Choice } from "../picker.ts";
import { onSignals } from "../terminal/on-signals.ts";
import { theme, type Theme } from "../theme.ts";
import { Transcript } from "../transcript/transcript.ts";
import type { ReplHost } from "./host.ts";
import { promptText } from "./prompt.ts";
import type { ReplScreen } from "./screen.ts";
import { droppedWords, TaskView } from "./task-view.ts";
import { attachLines, welcome } from "./welcome.ts";

export class Repl implements CommandScreen {
  readonly host: ReplHost;
  readonly style: Theme;
  readonly transcript: Transcript;
  readonly history: History;
  readonly view: TaskView;
  readonly #screen: ReplScreen;
  readonly #left = Promise.withResolvers<ExitCode>();
  /** Commands run one after the other, however fast they were typed. */
  #commands: Promise<void> = Promise.resolve();
  #work: AbortController | undefined;
  #leaving = false;
  #saidAttach = false;
  #interruptedAt = 0;
  #shownPrompt: { readonly columns: number; readonly text: string } | undefined;

  constructor(host: ReplHost, screen: ReplScreen) {
    this.host = host;
    this.#screen = screen;
    const { color, markdown, showTokens, showToolCalls, showReasoning } = host.display;
    this.style = theme(color);
    this.transcript = new Transcript({
      style: this.style,
      links: color && screen.links,
      markdown,
      showTokens,
      showToolCalls,
      showReasoning,
      width: () => this.columns,
      redact: (text) => host.redact(text),
    });
    this.history = new History(host.historyPath, (entry) => host.redact(entry));
    this.view = new TaskView(host, this.transcript, {
      started: (task, echo) => {
        this.#shownPrompt = undefined;
        screen.taskStarted(task, echo);
      },
      printed: () => {
        screen.refresh();
        return screen.room();
      },
      counted: () => (this.#shownPrompt = undefined),
      failed: (error) => this.report(error),
      ended: (task, elapsedMs, words) => {
        this.#shownPrompt = undefined;
        screen.taskEnded(task, elapsedMs, words);
      },
      attach: (command) => this.#sayAttach(command),
    });
  }

  get tasks(): Tasks {
    return this.view.tasks;
  }

  get columns(): number {
    return this.#screen.columns;
  }

  get leaving(): boolean {
    return this.#leaving;
  }

  get stuck(): boolean {
    return this.#leaving && this.#screen.stuck;
  }

  async run(): Promise<ExitCode> {
    const { host } = this;
    const stopListening = host.onEvent((event) => this.#news(event));
    host.approvals.setAsker(this.#screen);
    const ignoreSignals = onSignals({
      SIGTERM: () => this.leave(EXIT.terminated),
      SIGHUP: () => this.leave(EXIT.hangup),
      SIGINT: () => this.interrupt(),
    });
    this.#saidAttach = host.facts().target.attach !== undefined;
    this.transcript.say(welcome(host, this.columns, this.style), "welcome");
    this.#screen.start(this);
    this.#followApprovals();
    try {
      return await this.#left.promise;
    } finally {
      this.#work?.abort();
      clearInterval(this.#approvalClock);
      this.#screen.release();
      await this.view.close();
      await this.#screen.close();
      await this.history.settled();
      stopListening();
      host.approvals.setAsker(undefined);
      ignoreSignals();
    }
  }

  /** A line was entered: a command, or a prompt, whose task is returned. `shown` has long pastes folded. */
  submit(text: string, shown = text): Task | undefined {
    this.history.add(text);
    if (isSlashCommand(text)) {
      this.#commands = this.#commands.then(() => this.command(text));
      return undefined;
    }
    const task = this.view.submit(text, shown);
    const failure = this.history.takeFailure();
    if (failure !== undefined) {
      this.transcript.warning(
        `cannot save the prompt history: ${failure instanceof Error ? failure.message : String(failure)}`,
        "[display] persist_history = false turns it off",
      );
    }
    return task;
  }

  async command(text: string): Promise<void> {
    if (!this.#screen.echoes) this.transcript.prompt(this.prompt(), text.trim());
    try {
      await runSlashCommand(text, this);
    } catch (error) {
      this.report(error);
    }
    this.#shownPrompt = undefined;
    this.#followApprovals();
    this.#screen.refresh(true);
  }

  /** While everything is approved for a time: the badge counts down, and its end is said. */
  #followApprovals(): void {
    const { approvals } = this.host;
    clearInterval(this.#approvalClock);
    this.#approvalClock = undefined;
    if (approvals.mode.kind !== "until") return;
    this.#approvalClock = setInterval(() => {
      if (approvals.mode.kind !== "until") {
        clearInterval(this.#approvalClock);
        this.#approvalClock = undefined;
        this.warn("auto-approval has ended: buddy asks again before it makes a change");
      }
      this.#screen.refresh();
    }, BADGE_MS);
  }

  #approvalClock: ReturnType<typeof setInterval> | undefined;

  /** Ctrl-C: the line, then the task, then, pressed twice, the REPL. */
  interrupt(): void {
    if (this.#work !== undefined) {
      this.#work.abort(new DOMException("cancelled by the operator", "AbortError"));
      return;
    }
    if (this.#screen.clearLine()) return;
    const dropped = this.view.stop();
    if (dropped !== undefined) {
      if (dropped > 0) this.transcript.remark(droppedWords(dropped) + (this.#screen.echoes ? "" : "; Up recalls them"));
      this.#screen.refresh(true);
      return;
    }
    if (this.#interruptedAt > Date.now() - TWICE_MS) {
      this.leave(EXIT.ok);
      return;
    }
    this.#interruptedAt = Date.now();
    this.#screen.hint("press Ctrl-C again to quit", TWICE_MS);
  }

  /** Ends the REPL; whatever runs is cancelled. */
  leave(code: ExitCode): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#left.resolve(code);
  }

  quit(): void {
    this.leave(EXIT.ok);
  }

  /** A bug: `run` gives the terminal back and throws it; a second one on the way out ends the process at once. */
  crash(error: unknown): void {
    if (this.#leaving) process.exit(EXIT.failure);
    this.#leaving = true;
    this.#left.reject(error);
  }

  /** Nothing can be done without what failed: says so and leaves. */
  fatal(error: unknown, code: ExitCode): void {
    this.report(error);
    this.leave(code);
  }

  warn(message: string): void {
    this.transcript.warning(message);
    this.#screen.refresh();
  }

  say(lines: readonly string[]): void {
    this.transcript.say(lines);
    this.#screen.refresh();
  }

  fail(message: string, hint?: string): void {
    this.transcript.error(message, hint);
    this.#screen.refresh();
  }

  async pick(title: string, choices: readonly Choice[], selected: number): Promise<Choice | undefined> {
    this.tasks.hold();
    try {
      return await this.#screen.pick(title, choices, selected);
    } finally {
      this.tasks.release();
      this.#screen.refresh(true);
    }
  }

  doing(task: Task): string {
    return this.view.doing(task);
  }

  async interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const abort = (this.#work = new AbortController());
    this.tasks.hold();
    try {
      await work(abort.signal);
    } catch (error) {
      if (!abort.signal.aborted) throw error;
      this.say([this.style.grey("stopped")]);
    } finally {
      this.#work = undefined;
      this.#screen.waiting(undefined);
      this.tasks.release();
    }
  }

  waiting(text: string | undefined): void {
    this.#screen.waiting(text);
  }

  /** The operator answered a question with "no, and stop the task". */
  stopTask(): void {
    // Behind the answer, which the record keeps as the operator's.
    setImmediate(() => {
      this.view.stop();
      this.#screen.refresh(true);
    });
  }

  show(lines: readonly string[]): Promise<void> {
    return this.#screen.view(lines);
  }

  report(error: unknown): void {
    if (error instanceof BuddyError) this.fail(error.message, error.hint);
    else this.fail(error instanceof Error ? error.message : String(error));
  }

  /** The target is open: its shared pane is known now. */
  targetOpened(): void {
    this.#shownPrompt = undefined;
    this.#sayAttach(this.host.facts().target.attach);
    this.#screen.refresh();
  }

  /** Kept until something has changed it: counting the tokens of a long conversation takes longer than painting a key. */
  prompt(): string {
    const { columns } = this;
    if (this.#shownPrompt?.columns !== columns) {
      this.#shownPrompt = { columns, text: promptText(this.host.facts(), columns) };
    }
    return this.#shownPrompt.text;
  }

  /** Events outside a task; those of a task come through it. */
  #news(event: AgentEvent): void {
    if (this.tasks.running !== undefined) return;
    this.#shownPrompt = undefined;
    if (event.type === "session") this.#sayAttach(event.attach);
    else this.transcript.event(event);
    this.#screen.refresh();
  }

  #sayAttach(attach: string | undefined): void {
    if (attach === undefined || this.#saidAttach) return;
    this.#saidAttach = true;
    this.transcript.say(attachLines(attach, this.columns, this.style), "welcome");
    this.#screen.refresh();
  }
}

const TWICE_MS = 2000;
const BADGE_MS = 1000;
