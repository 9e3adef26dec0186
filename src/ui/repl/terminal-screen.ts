/** The REPL on a terminal: the input line stays usable below what is printed, questions take its place. */
import type { PasswordQuestion } from "../../agent/calls/desk.ts";
import type { Task } from "../../agent/tasks.ts";
import { EXIT } from "../../lib/errors.ts";
import { onSignals } from "../../lib/processes.ts";
import { paintsOnTerminal } from "../../lib/terminal.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../policy/approvals.ts";
import type { ApprovalPrompt } from "../approval/approval-prompt.ts";
import { ApprovalQueue } from "../approval/approval-queue.ts";
import { answeredLine, editedLines } from "../approval/question-text.ts";
import { Editor } from "../editor/editor.ts";
import type { Cell } from "../editor/line-buffer.ts";
import { PasswordLine } from "../questions/password-line.ts";
import { type Choice, Picker } from "../questions/picker.ts";
import type { KeyInput, TerminalInput } from "../terminal/keys.ts";
import { pagerCommand, runEditor, runPager } from "../terminal/outside-programs.ts";
import { ScrollView } from "../terminal/scroll-view.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { supportsLinks } from "../theme.ts";
import { commandLine, SPINNER_MS } from "../words.ts";
import { completer } from "./completer.ts";
import { Notifier } from "./notifier.ts";
import { type LiveRows, liveRows, Painter } from "./painter.ts";
import type { Repl } from "./repl.ts";
import type { ReplScreen } from "./host.ts";
import { approvalBadge, statusLine } from "./status-line.ts";

export class TerminalScreen implements ReplScreen {
  readonly links: boolean;
  readonly echoes = false;
  readonly #terminal: Terminal;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #painter: Painter;
  #parts: Parts | undefined;
  #picker: Picker | undefined;
  #password: PasswordLine | undefined;
  #lastKey = 0;
  #scroll: { input(inputs: readonly TerminalInput[]): void; close(): void } | undefined;
  #halfTyped: readonly Cell[] | undefined;
  #awaited: string | undefined;
  #spinner: ReturnType<typeof setInterval> | undefined;
  #hint = "";
  #hintTimer: ReturnType<typeof setTimeout> | undefined;
  #keepTerminal = (): void => {};
  #ignoreSignals = (): void => {};

  constructor(terminal: Terminal, env: Readonly<Record<string, string | undefined>>) {
    this.#terminal = terminal;
    this.#env = env;
    this.links = supportsLinks(env, true);
    this.#painter = new Painter(terminal, env, {
      waiting: () => this.#parts?.repl.transcript.waiting ?? 0,
      take: (limit) => this.#parts?.repl.transcript.take(limit) ?? [],
      live: (columns, rows) => this.#liveRows(columns, rows),
      painted: () => this.#parts?.queue.painted(),
    });
  }

  /** The last column stays empty. */
  get columns(): number {
    return Math.max(10, this.#terminal.columns - 1);
  }

  get stuck(): boolean {
    return this.#terminal.busy;
  }

  start(repl: Repl): void {
    const { host } = repl;
    this.#parts = {
      repl,
      editor: new Editor(repl.history, completer(host, repl.tasks), () => this.#painter.draw()),
      queue: new ApprovalQueue(repl.style, {
        asked: (prompt) => this.#asked(prompt),
        changed: () => this.#painter.draw(),
        aside: () => this.#setLineAside(),
        typed: (inputs) => inputs.forEach((input) => input.kind === "key" && this.#edit(input)),
        answered: (request, answer, by) => this.#answered(request, answer, by),
        view: (document) => void this.view(document),
        editOutside: (text) => this.#outside((env) => runEditor(text, env)),
      }),
      notifier: new Notifier(host.display.notify, this.#env, (text) => this.#terminal.write(text)),
    };
    this.#terminal.onInput = (inputs) => this.#input(inputs);
    this.#terminal.onGone = () => repl.leave(EXIT.hangup);
    this.#ignoreSignals = onSignals({ SIGCONT: () => this.#painter.restart() });
    this.#keepTerminal = paintsOnTerminal(this.#painter);
    this.#terminal.enter();
    this.#painter.draw();
    if (repl.style.color && host.display.theme === undefined && this.#env.TERM !== "linux")
      this.#terminal.ask(ASK_BACKGROUND);
  }

  refresh(now = false): void {
    if (now) this.#painter.draw();
    else this.#painter.soon();
  }

  room(): Promise<void> | undefined {
    return this.#painter.room();
  }

  ask(request: ApprovalRequest, signal: AbortSignal, behind: () => number): Promise<ApprovalAnswer> {
    return this.#started.queue.ask(request, signal, behind);
  }

  /** Keys that were meant for the line do not go into a password: it waits until they rest. */
  async password(question: PasswordQuestion, signal: AbortSignal): Promise<Uint8Array | undefined> {
    while (!signal.aborted && Date.now() - this.#lastKey < KEYS_REST_MS) await Bun.sleep(KEYS_REST_MS / 4);
    if (signal.aborted || this.#started.repl.leaving) return undefined;
    const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>();
    const line = (this.#password = new PasswordLine(question, resolve));
    const close = (): void => line.close();
    signal.addEventListener("abort", close, { once: true });
    this.#started.notifier.approvalWaits(`${question.program} asks for a password on ${question.where}`);
    this.#painter.draw();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", close);
      this.#password = undefined;
      if (!this.#started.repl.leaving) this.#painter.draw();
    }
  }

  async view(lines: readonly string[]): Promise<void> {
    const command = pagerCommand(this.#env);
    if (command !== undefined && (await this.#outside((env) => runPager(command, lines, env).then(() => true)))) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const scroll = new ScrollView(lines, this.#started.repl.style);
    this.#scroll = {
      input: (inputs) => {
        if (inputs.some((input) => scroll.handle(input))) resolve();
        else this.#painter.overlay((columns, rows) => scroll.frame(columns, rows));
      },
      close: resolve,
    };
    this.#painter.overlay((columns, rows) => scroll.frame(columns, rows));
    await promise;
    this.#scroll = undefined;
    this.#painter.endOverlay();
  }

  clearLine(): boolean {
    const { editor } = this.#started;
    if (editor.buffer.empty && editor.search === undefined) return false;
    editor.clear();
    return true;
  }

  clear(): void {
    this.#painter.clear();
  }

  copy(text: string): boolean {
    this.#terminal.write(`\x1b]52;c;${Buffer.from(text).toString("base64")}\x07`);
    return true;
  }

  async pick(title: string, choices: readonly Choice[], selected: number): Promise<Choice | undefined> {
    const { promise, resolve } = Promise.withResolvers<Choice | undefined>();
    this.#picker = new Picker(title, choices, selected, (choice) => {
      this.#picker = undefined;
      resolve(choice);
    });
    this.#painter.draw();
    return promise;
  }

  waiting(text: string | undefined): void {
    if (this.#awaited === text) return;
    this.#awaited = text;
    this.#painter.soon();
  }

  hint(text: string, forMs: number): void {
    this.#setHint(text);
    this.#hintTimer = setTimeout(() => {
      this.#hint = "";
      this.#painter.draw();
    }, forMs);
    this.#painter.draw();
  }

  taskStarted(_task: Task, echo: string | undefined): void {
    const { repl } = this.#started;
    if (echo !== undefined) repl.transcript.prompt(repl.prompt(), echo);
    this.#spinner ??= setInterval(() => this.#painter.soon(), SPINNER_MS);
  }

  taskEnded(task: Task, elapsedMs: number, words: string): void {
    const { repl, notifier } = this.#started;
    notifier.taskEnded(task.id, elapsedMs, words);
    if (repl.tasks.queued.length === 0) {
      clearInterval(this.#spinner);
      this.#spinner = undefined;
    }
    this.#painter.soon();
  }

  release(): void {
    clearInterval(this.#spinner);
    clearTimeout(this.#hintTimer);
    this.#scroll?.close();
    this.#parts?.queue.close();
    this.#password?.close();
    this.#painter.release();
  }

  async close(): Promise<void> {
    this.#parts?.editor.clear();
    this.#keepTerminal();
    await this.#painter.finish();
    this.#ignoreSignals();
  }

  get #started(): Parts {
    if (this.#parts === undefined) throw new Error("the screen has not been started");
    return this.#parts;
  }

  #input(inputs: readonly TerminalInput[]): void {
    const { repl, queue, notifier } = this.#started;
    if (repl.leaving) return;
    if (this.#scroll !== undefined) return this.#scroll.input(inputs);
    if (inputs.some((input) => input.kind === "key" || input.kind === "paste")) {
      this.#lastKey = Date.now();
      notifier.key();
      this.#setHint("");
    }
    // An open question or list does not keep it from stopping.
    const [only] = inputs;
    if (inputs.length === 1 && only?.kind === "key" && only.ctrl && only.name === "z") {
      void this.#painter.suspend();
      return;
    }
    for (const input of this.#password === undefined ? queue.take(inputs) : inputs) {
      if (input.kind === "focus") notifier.focus(input.focused);
      else if (input.kind === "background") this.#background(input.light);
      else if (input.kind === "terminal") this.#painter.terminalAnswered(input.version);
      else if (input.kind === "cursor") this.#painter.cursorAnswered({ row: input.row - 1, col: input.col - 1 });
      else if (this.#password !== undefined) this.#password.handle(input);
      else if (this.#picker !== undefined) this.#picker.handle(input);
      else this.#edit(input);
    }
    if (!repl.leaving) this.#painter.draw();
  }

  /** The terminal has answered what its background is. */
  #background(light: boolean): void {
    const { style, host } = this.#started.repl;
    if (style.color && host.display.theme === undefined) style.use(light ? "light" : "dark");
  }

  #edit(input: KeyInput | (TerminalInput & { kind: "paste" })): void {
    const { repl, editor, queue } = this.#started;
    if (input.kind === "paste" && input.cut)
      repl.fail("the paste was cut: it is longer than 8 MB", "save it to a file and attach that with @path");
    if (queue.aside && input.kind === "key" && input.name === "escape" && editor.dropDown === undefined)
      return this.#backToQuestion();
    const action = editor.handle(input);
    if (queue.aside && (action.kind !== "none" || editor.buffer.empty)) this.#backToQuestion();
    switch (action.kind) {
      case "none":
        return;
      case "submit":
        repl.submit(action.text, action.shown);
        return;
      case "interrupt":
        return repl.interrupt();
      case "end":
        return repl.quit();
      case "clear-screen":
        return this.#painter.clear();
      case "suspend":
        void this.#painter.suspend();
        return;
      case "toggle-reasoning":
        return repl.transcript.toggleReasoning();
      case "edit-outside":
        void this.#outside((env) => runEditor(editor.buffer.text, env)).then((text) => {
          if (text !== undefined) editor.buffer.setText(text);
          this.#painter.draw();
        });
        return;
    }
  }

  /** Gives the terminal to a program of the operator's; undefined when that failed, which it reports. */
  async #outside<T>(work: (env: Env) => Promise<T>): Promise<T | undefined> {
    const { repl } = this.#started;
    try {
      return await this.#painter.lend(() => work(this.#env));
    } catch (error) {
      repl.report(error);
      return undefined;
    }
  }

  /** A question waits and the operator types a command first: the half-typed line makes room for it. */
  #setLineAside(): void {
    const { editor } = this.#started;
    this.#halfTyped = editor.buffer.cells;
    editor.clear();
  }

  #backToQuestion(): void {
    const { editor, queue } = this.#started;
    if (this.#halfTyped !== undefined) {
      editor.clear();
      editor.buffer.set(this.#halfTyped);
      this.#halfTyped = undefined;
    }
    queue.resume();
  }

  #setHint(text: string): void {
    clearTimeout(this.#hintTimer);
    this.#hint = text;
  }

  #asked(prompt: ApprovalPrompt): void {
    const { repl, notifier } = this.#started;
    repl.transcript.say(prompt.preamble(this.columns, this.#terminal.rows), "question");
    notifier.approvalWaits(`${prompt.request.where}$ ${commandLine(prompt.request.action)}`);
    this.#painter.draw();
  }

  #answered(request: ApprovalRequest, answer: ApprovalAnswer, by: string | undefined): void {
    const { repl } = this.#started;
    const line = answeredLine(request, answer, repl.style, this.columns, by);
    repl.transcript.say([...editedLines(answer, this.columns), line], "tool");
    if (by === undefined && answer.kind === "no" && answer.stop === true) repl.stopTask();
    this.#painter.draw();
  }

  #liveRows(columns: number, rows: number): ReturnType<typeof liveRows> {
    const { repl, editor, queue } = this.#started;
    const { style, tasks } = repl;
    const { running, queued } = tasks;
    const view: LiveRows = {
      style,
      editor,
      queue,
      picker: this.#picker,
      password: this.#password,
      badge: approvalBadge(repl.host.approvals.mode, Date.now()),
      prompt: repl.prompt(),
      queued,
      plan: (limit) => repl.planRows(limit),
      hint: this.#hint,
      statusLine:
        running === undefined || queue.asks
          ? this.#awaited && style.grey(`${this.#awaited} · Ctrl-C stops`)
          : statusLine(
              {
                task: running,
                activity: repl.view.activity,
                queued: queued.length,
                label: repl.host.machineLabel(),
              },
              columns,
              Date.now(),
              style,
            ),
      tail: (limit) => repl.transcript.live(limit),
    };
    return liveRows(view, columns, rows);
  }
}

/** A pause in typing. */
const KEYS_REST_MS = 600;
const ASK_BACKGROUND = "\x1b]11;?\x1b\\";

type Env = Readonly<Record<string, string | undefined>>;

interface Parts {
  readonly repl: Repl;
  readonly editor: Editor;
  readonly queue: ApprovalQueue;
  readonly notifier: Notifier;
}
