/** The REPL: prompts, commands, tasks and news, on whichever screen there is. */
import type { AgentEvent } from "../../agent/events.ts";
import type { Task, Tasks, TaskWork } from "../../agent/tasks.ts";
import { BuddyError, EXIT, type ExitCode, messageOf } from "../../lib/errors.ts";
import { onSignals } from "../../lib/processes.ts";
import { clip } from "../../lib/text.ts";
import { Leaving, runningShells, busyPanes, workLines } from "../commands/running.ts";
import { type CommandScreen, isSlashCommand, type KeptResult, runSlashCommand } from "../commands/slash-commands.ts";
import { History } from "../editor/history.ts";
import type { Choice } from "../questions/picker.ts";
import { type Theme, theme } from "../theme.ts";
import { Transcript } from "../transcript/transcript.ts";
import { commandLine, wrapped } from "../words.ts";
import type { ReplHost, ReplScreen, WorkInFlight } from "./host.ts";
import { promptText } from "./status-line.ts";
import { droppedWords, KeptResults, Plan, TaskView } from "./task-view.ts";
import { attachLines, replHint, welcome } from "../commands/status.ts";

export class Repl implements CommandScreen {
  readonly host: ReplHost;
  readonly style: Theme;
  readonly transcript: Transcript;
  readonly history: History;
  readonly view: TaskView;
  readonly #screen: ReplScreen;
  readonly #leaving = new Leaving({
    tasks: () => this.tasks.list,
    work: () => this.host.work(),
    stillRunning: (work, open) => this.#stillRunning(work, open),
  });
  /** Commands run one after the other, however fast they were typed. */
  #commands: Promise<void> = Promise.resolve();
  #work: AbortController | undefined;
  #saidAttach = false;
  #interruptedAt = 0;
  #shownPrompt: { readonly columns: number; readonly text: string } | undefined;
  readonly #results = new KeptResults();
  readonly #plan = new Plan();
  lastPrompt: string | undefined;

  constructor(host: ReplHost, screen: ReplScreen) {
    this.host = host;
    this.#screen = screen;
    const { color, markdown, showTokens, showToolCalls, showReasoning } = host.display;
    this.style = theme(color, host.display.theme);
    this.transcript = new Transcript({
      style: this.style,
      links: color && screen.links,
      lines: screen.echoes,
      keep: (event) => this.#results.keep(event),
      changed: () => this.#screen.refresh(),
      hint: (text) => replHint(text, host.facts().profile),
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
      event: (event) => {
        this.#results.follow(event);
        this.#plan.follow(event);
      },
      counted: () => (this.#shownPrompt = undefined),
      failed: (error) => this.report(error),
      ended: (task, elapsedMs, words) => {
        this.#shownPrompt = undefined;
        this.#endPlan();
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
    return this.#leaving.begun;
  }

  get stuck(): boolean {
    return this.#leaving.begun && this.#screen.stuck;
  }

  async run(): Promise<ExitCode> {
    const { host } = this;
    const stopListening = host.onEvent((event) => this.#news(event));
    const seat = host.attach({
      name: "the terminal",
      // Its tasks bring it the events, at the pace of the screen.
      show: () => undefined,
      ask: (question, signal, behind) => this.#screen.ask(question, signal, behind),
      password: (question, signal) => this.#screen.password(question, signal),
      stop: () => void this.stopTask(),
    });
    const ignoreSignals = onSignals({
      SIGTERM: () => this.leave(EXIT.terminated),
      SIGHUP: () => this.#leaving.hungUp(),
      SIGINT: () => this.interrupt(),
    });
    this.#saidAttach = host.facts().target.attach !== undefined;
    this.transcript.say(welcome(host, this.columns, this.style), "welcome");
    this.#screen.start(this);
    this.#followApprovals();
    try {
      return await this.#leaving.over;
    } finally {
      this.#work?.abort();
      clearInterval(this.#approvalClock);
      this.#screen.release();
      await this.view.close();
      await this.#screen.close();
      await this.history.settled();
      stopListening();
      seat.leave();
      ignoreSignals();
    }
  }

  /** A line was entered: a command, or a prompt, whose task is returned. `shown` has long pastes folded. */
  submit(text: string, shown = text): Task | undefined {
    this.#leaving.entered(text);
    this.history.add(text);
    if (isSlashCommand(text)) {
      // A prompt typed after a command starts when that is done: it may be for another machine.
      this.tasks.hold();
      this.#commands = this.#commands
        .then(() => this.command(text))
        .finally(() => {
          this.tasks.release();
          this.#screen.refresh();
        });
      return undefined;
    }
    const own = /^!\s*(\S[\s\S]*)$/.exec(text.trim())?.[1];
    if (own === undefined) this.lastPrompt = text;
    const task =
      own === undefined
        ? this.view.submit(text, shown)
        : this.view.run(shown, (signal) => this.host.runCommand(own, signal));
    const failure = this.history.takeFailure();
    if (failure !== undefined) {
      this.transcript.warning(
        `cannot save the prompt history: ${messageOf(failure)}`,
        "[display] persist_history = false turns it off",
      );
    }
    return task;
  }

  task(shown: string, work: TaskWork): void {
    this.lastPrompt = shown;
    this.view.run(shown, work);
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

  /** While everything is approved for a time: the badge counts down, and a line says when it is over. */
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
    if (this.#work !== undefined) return this.#work.abort(new DOMException("cancelled by the operator", "AbortError"));
    if (this.#screen.clearLine()) return;
    if (this.stopTask()) return;
    if (this.#interruptedAt > Date.now() - TWICE_MS) return this.leave(EXIT.ok);
    this.#interruptedAt = Date.now();
    this.#screen.hint("press Ctrl-C again to quit", TWICE_MS);
  }

  /** Ends the REPL; whatever runs is cancelled. */
  leave(code: ExitCode): void {
    this.#leaving.leave(code);
  }

  /** Ctrl-D, /quit: leaves; if something runs, it names that first and waits for a second request. */
  quit(): void {
    this.#leaving.quit(EXIT.ok);
  }

  crash(error: unknown): void {
    this.#leaving.crash(error);
  }

  #stillRunning(work: WorkInFlight, open: readonly Task[]): void {
    const stays = work.shells.length + work.panes.length > 0 ? "; shells and panes keep running" : "";
    this.transcript.warning(
      `still running${open.length > 0 ? " (quitting stops the task)" : ""}:`,
      [...workLines(this, work, open), `quit again (Ctrl-D or /quit) to leave${stays}`].join("\n"),
    );
    this.#screen.refresh(true);
  }

  /** Nothing works without what failed: reports it and leaves. */
  fatal(error: unknown, code: ExitCode): void {
    this.report(error);
    this.leave(code);
  }

  warn(message: string): void {
    this.transcript.warning(message);
    this.#screen.refresh();
  }

  say(lines: readonly string[]): void {
    this.verbatim(wrapped(lines, this.columns));
  }

  verbatim(lines: readonly string[]): void {
    this.transcript.say(lines);
    this.#screen.refresh();
  }

  fail(message: string, hint?: string): void {
    this.transcript.error(message, hint === undefined ? undefined : replHint(hint, this.host.facts().profile));
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

  clear(): void {
    this.#screen.clear();
  }

  copy(text: string): boolean {
    return this.#screen.copy(text);
  }

  kept(number?: number): KeptResult | undefined {
    return this.#results.find(number);
  }

  /** The checklist of the running task, where the model has one. */
  planRows(limit: number): string[] {
    return this.#plan.rows(limit, this.style);
  }

  /** The end of a conversation that is continued. */
  sayLastExchange(): void {
    const { lastPrompt, lastAnswer, isAnswered = true } = this.host.facts();
    if (lastPrompt !== undefined) {
      const lines = lastPrompt.split("\n");
      const shown = lines.slice(0, LAST_PROMPT_LINES).join("\n");
      this.transcript.prompt(
        "> ",
        shown,
        lines.length > LAST_PROMPT_LINES ? `…${lines.length - LAST_PROMPT_LINES} more lines` : "",
      );
    }
    if (lastAnswer !== undefined && isAnswered) this.transcript.answer(lastAnswer);
    else if (lastPrompt !== undefined) this.transcript.remark("this prompt has no answer yet");
    this.#screen.refresh();
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

  /** Stops what runs, and reports what was dropped from the queue; false when nothing can be stopped. */
  stopTask(): boolean {
    const dropped = this.view.stop();
    if (dropped === undefined) return false;
    if (dropped > 0) this.transcript.remark(droppedWords(dropped) + (this.#screen.echoes ? "" : "; Up recalls them"));
    this.#screen.refresh(true);
    return true;
  }

  show(lines: readonly string[]): Promise<void> {
    return this.#screen.view(lines);
  }

  report(error: unknown): void {
    if (error instanceof BuddyError) this.fail(error.message, error.hint);
    else this.fail(messageOf(error));
  }

  /** The target is open: its shared pane is known now. */
  targetOpened(): void {
    this.#shownPrompt = undefined;
    this.#sayAttach(this.host.facts().target.attach);
    this.#screen.refresh();
    void this.#saySurvivors();
  }

  /** What an earlier run left: its background shells, and commands in its panes. */
  async #saySurvivors(): Promise<void> {
    const work = await this.host.work().catch(() => ({ shells: [], panes: [] }));
    const [shells, panes] = [runningShells(work), busyPanes(work)];
    if (this.#leaving.begun) return;
    const list = (where: string, rows: readonly { readonly id: string; readonly command: string }[]): void => {
      if (rows.length === 0) return;
      const lines = rows.map(({ id, command }) => clip(`  ${id}  ${commandLine(command)}`, this.columns));
      this.transcript.say([`· still running in the ${where}:`, ...lines].map((line) => this.style.grey(line)));
    };
    list("background", shells);
    list(
      "pane (/kill NAME presses Ctrl-C there)",
      panes.map(({ name, command }) => ({ id: name, command })),
    );
    this.#screen.refresh();
  }

  /** The list above the input goes into the scrollback, as it is now. */
  #endPlan(): void {
    const rows = this.#plan.rows(Infinity, this.style);
    this.#plan.end();
    this.#results.taskEnded();
    // A line screen has printed it whenever it changed.
    if (!this.#screen.echoes) this.transcript.say(wrapped(rows, this.columns), "tool");
  }

  /**
   * Kept until something has changed it: counting the tokens of a long conversation takes longer than painting a key.
   */
  prompt(): string {
    const { columns } = this;
    if (this.#shownPrompt?.columns !== columns) {
      this.#shownPrompt = { columns, text: promptText(this.host.facts(), columns) };
    }
    return this.#shownPrompt.text;
  }

  /** Events outside a task; those of a task come through it. */
  #news(event: AgentEvent): void {
    this.#shownPrompt = undefined;
    if (this.tasks.running !== undefined) return;
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
const LAST_PROMPT_LINES = 10;
