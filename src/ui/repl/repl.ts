/** The REPL: keys, tasks, questions and output on one terminal. */
import type { AgentEvent } from "../../agent/events.ts";
import type { Task, Tasks } from "../../agent/tasks.ts";
import { BuddyError, EXIT, type ExitCode } from "../../lib/errors.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../policy/approvals.ts";
import { ApprovalQueue } from "../approval/approval-queue.ts";
import { answeredLine, type ApprovalPrompt } from "../approval/approval-prompt.ts";
import { completer } from "./completer.ts";
import { Editor } from "../editor/editor.ts";
import { History } from "../editor/history.ts";
import type { Cell } from "../editor/line-buffer.ts";
import type { ReplHost } from "./host.ts";
import { Notifier } from "./notifier.ts";
import { type Choice, Picker } from "../picker.ts";
import { promptText } from "./prompt.ts";
import { layOut } from "./repl-view.ts";
import { ReplScreen } from "./repl-screen.ts";
import { type CommandScreen, isSlashCommand, runSlashCommand } from "../commands/slash-commands.ts";
import { FRAME_MS, statusLine } from "./status-line.ts";
import { droppedWords, TaskScreen } from "./task-screen.ts";
import type { KeyInput, TerminalInput } from "../terminal/keys.ts";
import { onSignals } from "../terminal/on-signals.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { supportsLinks, theme, type Theme } from "../theme.ts";
import { oneLine } from "../transcript/tool-view.ts";
import { Transcript } from "../transcript/transcript.ts";
import { attachLines, welcome } from "./welcome.ts";

export class Repl implements CommandScreen {
  readonly host: ReplHost;
  readonly style: Theme;
  readonly #terminal: Terminal;
  readonly #screen: ReplScreen;
  readonly #transcript: Transcript;
  readonly #history: History;
  readonly #editor: Editor;
  readonly #queue: ApprovalQueue;
  readonly #notifier: Notifier;
  readonly #tasks: TaskScreen;
  readonly #left = Promise.withResolvers<ExitCode>();
  #picker: Picker | undefined;
  #halfTyped: readonly Cell[] = [];
  #busyWork: AbortController | undefined;
  #awaited: string | undefined;
  #spinner: ReturnType<typeof setInterval> | undefined;
  #hint = "";
  #hintTimer: ReturnType<typeof setTimeout> | undefined;
  #leaving = false;
  #saidAttach = false;

  constructor(host: ReplHost, terminal: Terminal, env: Readonly<Record<string, string | undefined>>) {
    this.host = host;
    this.#terminal = terminal;
    const { display } = host;
    this.style = theme(display.color);
    this.#transcript = new Transcript({
      style: this.style,
      links: supportsLinks(env, display.color),
      markdown: display.markdown,
      showTokens: display.showTokens,
      showToolCalls: display.showToolCalls,
      showReasoning: display.showReasoning,
      width: () => this.columns,
      redact: (text) => host.redact(text),
    });
    this.#tasks = new TaskScreen(host, this.#transcript, {
      started: (_task, echo) => this.#taskStarted(echo),
      printed: () => {
        this.#screen.soon();
        return this.#screen.room();
      },
      counted: () => (this.#shownPrompt = undefined),
      failed: (error) => this.#report(error),
      ended: (task, elapsedMs, words) => this.#taskEnded(task, elapsedMs, words),
      attach: (command) => this.#sayAttach(command),
    });
    this.#history = new History(host.historyPath);
    this.#editor = new Editor(this.#history, completer(host, this.tasks), () => this.#screen.draw());
    this.#queue = new ApprovalQueue(this.style, {
      asked: (prompt) => this.#asked(prompt),
      changed: () => this.#screen.draw(),
      aside: () => this.#setLineAside(),
      answered: (request, answer) => this.#answered(request, answer),
    });
    this.#notifier = new Notifier(display.notify, env, (text) => terminal.write(text));
    this.#screen = new ReplScreen(terminal, env, {
      waiting: () => this.#transcript.waiting,
      take: (limit) => this.#transcript.take(limit),
      live: (columns, rows) => this.#layOut(columns, rows),
      painted: () => this.#queue.painted(),
    });
  }

  get tasks(): Tasks {
    return this.#tasks.tasks;
  }

  /** Columns a row may use: the last one stays empty. */
  get columns(): number {
    return Math.max(10, this.#terminal.columns - 1);
  }

  async run(): Promise<ExitCode> {
    const { host } = this;
    const stopListening = host.onEvent((event) => this.#news(event));
    host.approvals.setAsker(this.#queue);
    this.#terminal.onInput = (inputs) => this.#input(inputs);
    this.#terminal.onGone = () => this.leave(EXIT.hangup);
    const ignoreSignals = onSignals({
      SIGTERM: () => this.leave(EXIT.terminated),
      SIGHUP: () => this.leave(EXIT.hangup),
      SIGINT: () => this.#interrupt(),
      SIGCONT: () => this.#screen.restart(),
    });
    this.#terminal.enter();
    this.#saidAttach = host.facts().target.attach !== undefined;
    this.#transcript.say(welcome(host, this.columns, this.style), "welcome");
    this.#screen.draw();
    try {
      return await this.#left.promise;
    } finally {
      await this.#close();
      stopListening();
      host.approvals.setAsker(undefined);
      ignoreSignals();
    }
  }

  /** A bug: `run` gives the terminal back and throws it; a second one on the way out ends the process at once. */
  crash(error: unknown): void {
    if (this.#leaving) process.exit(EXIT.failure);
    this.#leaving = true;
    this.#left.reject(error);
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

  /** The terminal takes nothing any more: waiting for it would keep the process for ever. */
  get stuck(): boolean {
    return this.#leaving && this.#terminal.busy;
  }

  /** Nothing can be done without what failed: says so and leaves. */
  fatal(error: unknown, code: ExitCode): void {
    this.#report(error);
    this.leave(code);
  }

  warn(message: string): void {
    this.#transcript.warning(message);
    this.#screen.soon();
  }

  say(lines: readonly string[]): void {
    this.#transcript.say(lines);
    this.#screen.soon();
  }

  fail(message: string, hint?: string): void {
    this.#transcript.error(message, hint);
    this.#screen.soon();
  }

  async pick(title: string, choices: readonly Choice[], selected: number): Promise<Choice | undefined> {
    const { promise, resolve } = Promise.withResolvers<Choice | undefined>();
    this.tasks.hold();
    this.#picker = new Picker(title, choices, selected, (choice) => {
      this.#picker = undefined;
      resolve(choice);
    });
    this.#screen.draw();
    const choice = await promise;
    this.tasks.release();
    this.#screen.draw();
    return choice;
  }

  doing(task: Task): string {
    return this.#tasks.doing(task);
  }

  async interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const abort = (this.#busyWork = new AbortController());
    this.tasks.hold();
    try {
      await work(abort.signal);
    } catch (error) {
      if (!abort.signal.aborted) throw error;
      this.say([this.style.grey("stopped")]);
    } finally {
      this.#busyWork = undefined;
      this.#awaited = undefined;
      this.tasks.release();
    }
  }

  waiting(text: string | undefined): void {
    if (this.#awaited === text) return;
    this.#awaited = text;
    this.#screen.soon();
  }

  #input(inputs: readonly TerminalInput[]): void {
    if (this.#leaving) return;
    if (inputs.some((input) => input.kind === "key" || input.kind === "paste")) {
      this.#notifier.key();
      this.#setHint("");
    }
    for (const input of this.#queue.take(inputs)) {
      if (input.kind === "focus") this.#notifier.focus(input.focused);
      else if (input.kind === "cursor") this.#screen.cursorAnswered(input.col - 1);
      else if (this.#picker !== undefined) this.#picker.handle(input);
      else this.#edit(input);
    }
    if (!this.#leaving) this.#screen.draw();
  }

  #edit(input: KeyInput | (TerminalInput & { kind: "paste" })): void {
    if (input.kind === "paste" && input.cut)
      this.fail("the paste was cut: more than 8 MB", "put it into a file and name that with @path");
    if (this.#queue.aside && input.kind === "key" && input.name === "escape" && this.#editor.dropDown === undefined) {
      this.#backToQuestion();
      return;
    }
    const action = this.#editor.handle(input);
    if (this.#queue.aside && (action.kind !== "none" || this.#editor.buffer.empty)) this.#backToQuestion();
    switch (action.kind) {
      case "none":
        return;
      case "submit":
        this.#submit(action.text, action.shown);
        return;
      case "interrupt":
        this.#interrupt();
        return;
      case "end":
        this.leave(EXIT.ok);
        return;
      case "clear-screen":
        this.#screen.clear();
        return;
      case "suspend":
        void this.#screen.suspend();
        return;
      case "toggle-reasoning":
        this.#transcript.toggleReasoning();
        return;
    }
  }

  /** A question waits and the operator types a command first: the half-typed line makes room for it. */
  #setLineAside(): void {
    this.#halfTyped = this.#editor.buffer.cells;
    this.#editor.clear();
  }

  #backToQuestion(): void {
    this.#editor.clear();
    this.#editor.buffer.set(this.#halfTyped);
    this.#halfTyped = [];
    this.#queue.resume();
  }

  #submit(text: string, shown: string): void {
    this.#history.add(text);
    if (isSlashCommand(text)) {
      this.#commands = this.#commands.then(() => this.#command(text));
      return;
    }
    this.#tasks.submit(text, shown);
    const failure = this.#history.takeFailure();
    if (failure !== undefined) {
      this.#transcript.warning(
        `prompts are not remembered: ${failure instanceof Error ? failure.message : String(failure)}`,
        "[display] persist_history = false silences this",
      );
    }
  }

  /** Commands run one after the other, however fast they were typed. */
  #commands: Promise<void> = Promise.resolve();

  async #command(text: string): Promise<void> {
    this.#transcript.prompt(this.#prompt(), text.trim());
    try {
      await runSlashCommand(text, this);
    } catch (error) {
      this.#report(error);
    }
    this.#shownPrompt = undefined;
    this.#screen.draw();
  }

  /** Ctrl-C: the line, then the task, then, pressed twice, the REPL. */
  #interrupt(): void {
    if (this.#busyWork !== undefined) {
      this.#busyWork.abort(new DOMException("cancelled by the operator", "AbortError"));
      return;
    }
    if (!this.#editor.buffer.empty || this.#editor.search !== undefined) {
      this.#editor.clear();
      return;
    }
    const dropped = this.#tasks.stop();
    if (dropped !== undefined) {
      if (dropped > 0) this.#transcript.remark(`${droppedWords(dropped)}; Up recalls them`);
      return;
    }
    if (this.#interruptedAt > Date.now() - TWICE_MS) {
      this.leave(EXIT.ok);
      return;
    }
    this.#interruptedAt = Date.now();
    this.#setHint("press Ctrl-C again to leave", TWICE_MS);
  }

  #interruptedAt = 0;

  #setHint(text: string, forMs?: number): void {
    clearTimeout(this.#hintTimer);
    this.#hint = text;
    if (forMs !== undefined) {
      this.#hintTimer = setTimeout(() => {
        this.#hint = "";
        this.#screen.draw();
      }, forMs);
    }
  }

  /** Events outside a task; those of a task come through it. */
  #news(event: AgentEvent): void {
    if (this.tasks.running !== undefined) return;
    this.#shownPrompt = undefined;
    if (event.type === "session") this.#sayAttach(event.attach);
    else this.#transcript.event(event);
    this.#screen.soon();
  }

  /** The target is open: its shared pane is known now. */
  targetOpened(): void {
    this.#shownPrompt = undefined;
    this.#sayAttach(this.host.facts().target.attach);
    this.#screen.soon();
  }

  #sayAttach(attach: string | undefined): void {
    if (attach === undefined || this.#saidAttach) return;
    this.#saidAttach = true;
    this.#transcript.say(attachLines(attach, this.columns, this.style), "welcome");
  }

  #taskStarted(echo: string | undefined): void {
    this.#shownPrompt = undefined;
    if (echo !== undefined) this.#transcript.prompt(this.#prompt(), echo);
    this.#spinner ??= setInterval(() => this.#screen.soon(), FRAME_MS);
  }

  #taskEnded(task: Task, elapsedMs: number, words: string): void {
    this.#shownPrompt = undefined;
    this.#notifier.taskEnded(task.id, elapsedMs, words);
    if (this.tasks.queued.length === 0) {
      clearInterval(this.#spinner);
      this.#spinner = undefined;
    }
    this.#screen.soon();
  }

  #asked(prompt: ApprovalPrompt): void {
    this.#transcript.say(prompt.preamble(this.columns, this.#terminal.rows), "tool");
    this.#notifier.approvalWaits(`${prompt.request.where}$ ${oneLine(prompt.request.action)}`);
    this.#screen.draw();
  }

  #answered(request: ApprovalRequest, answer: ApprovalAnswer): void {
    this.#transcript.say([answeredLine(request, answer, this.style)], "tool");
    this.#screen.draw();
  }

  #report(error: unknown): void {
    if (error instanceof BuddyError) this.fail(error.message, error.hint);
    else this.fail(error instanceof Error ? error.message : String(error));
  }

  /** Kept until something has changed it: counting the tokens of a long conversation takes longer than painting a key. */
  #prompt(): string {
    const { columns } = this;
    if (this.#shownPrompt?.columns !== columns) {
      this.#shownPrompt = { columns, text: promptText(this.host.facts(), columns) };
    }
    return this.#shownPrompt.text;
  }

  #shownPrompt: { columns: number; text: string } | undefined;

  #layOut(columns: number, rows: number): ReturnType<typeof layOut> {
    const { running } = this.tasks;
    const { queued } = this.tasks;
    return layOut(
      {
        style: this.style,
        editor: this.#editor,
        queue: this.#queue,
        picker: this.#picker,
        prompt: this.#prompt(),
        queued,
        hint: this.#hint,
        statusLine:
          running === undefined || this.#queue.asks
            ? this.#awaited && this.style.grey(`${this.#awaited} · Ctrl-C stops`)
            : statusLine(
                {
                  task: running,
                  activity: this.#tasks.activity,
                  queued: queued.length,
                  approvals: this.host.approvals.mode,
                },
                columns,
                Date.now(),
                this.style,
              ),
        tail: (limit) => this.#transcript.live(limit),
      },
      columns,
      rows,
    );
  }

  async #close(): Promise<void> {
    clearInterval(this.#spinner);
    clearTimeout(this.#hintTimer);
    this.#busyWork?.abort();
    this.#queue.close();
    this.#screen.release();
    await this.#tasks.close();
    this.#editor.clear();
    await this.#screen.finish();
    await this.#history.settled();
  }
}

const TWICE_MS = 2000;
