/** A managed tmux pane: commands go in through its shell's own line, output and ends come out of the stream, exactly. */
import { randomInt } from "node:crypto";
import { BuddyError } from "../../lib/errors.ts";
import type {
  CaptureOptions,
  KeysOptions,
  OutputPage,
  Pane,
  ReadOutputOptions,
  RunOptions,
  RunOutcome,
  RunResult,
  TargetNotice,
} from "../target.ts";
import type { OutputStore } from "../output/output-store.ts";
import { Turns } from "../turns.ts";
import { within } from "../../lib/within.ts";
import { BreakOff } from "./break-off.ts";
import { busyOutcome, clip } from "./busy-outcome.ts";
import { capturePane, sendKeys } from "./capture.ts";
import { CommandDelivery } from "./command-delivery.ts";
import { deliver, isBlank } from "./delivery.ts";
import { firstPrompt, NoShell, START_MS } from "./first-prompt.ts";
import { adoptCommand, type PaneSnapshot } from "./found-again.ts";
import { type Mark, MarkScanner } from "./markers.ts";
import type { PaneRow } from "./pane-rows.ts";
import { type ForegroundState, probeForeground, signalForeground } from "./probe.ts";
import { Recover } from "./recall.ts";
import { RunningCommand } from "./running-command.ts";
import { ShellState } from "./shell-state.ts";
import type { PaneSink, TmuxSession } from "./tmux-session.ts";
import { watchCommand } from "./watch.ts";

export interface PaneOptions {
  readonly session: TmuxSession;
  readonly name: string;
  readonly outputStore: OutputStore;
  readonly notice: (notice: TargetNotice) => void;
  /** Makes the pane anew after it was lost; gives the row of the new one. */
  readonly revive: () => Promise<PaneRow>;
}

/** How long a command waits for the pane to become free before it is told that it is not. */
const FREE_MS = 1500;
/** How long a command that is not waited for may take to begin. */
const BEGUN_MS = 1000;
/** Prompts in the middle of a command, printed or real, that are looked into. */
const MAX_UNMARKED = 20;

const MISSED = "Output was missed while the connection was down";
const MEND = "The pane says with which exit code; the operator mends that and presses Enter there.";
const SKIPPED = "the pane runs without its start-up files now. The operator mends them and types exit in the pane.";
const INCOMPLETE = "An unclosed quote, bracket, block or here-document; nothing was run.";

export class TmuxPane implements Pane, PaneSink {
  readonly kind = "tmux";
  readonly options: PaneOptions;
  #row: PaneRow;
  #scanner: MarkScanner;
  #unfollow: () => void;
  readonly #shell: ShellState;
  readonly #commandDelivery: CommandDelivery;
  readonly #recall: Recover;
  readonly #breakOff: BreakOff;
  #alive = true;
  #current: RunningCommand | undefined;
  #last: RunningCommand | undefined;
  #asides: string[] = [];
  readonly #turns = new Turns();

  constructor(row: PaneRow, options: PaneOptions) {
    this.options = options;
    this.#row = row;
    const { cwd, shell } = options.session.options;
    this.#shell = new ShellState(cwd, shell.kind !== "sh", {
      ready: () => this.#commandDelivery.promptDrawn(),
      promptWithoutMark: () => this.#onPromptWithoutMark(),
      operatorRan: (command, code) => this.#onOperatorRan(command, code),
    });
    this.#commandDelivery = new CommandDelivery({
      session: options.session,
      shell: this.#shell,
      pane: () => this.id,
      failed: (command, why) => {
        if (this.#current === command) this.#finish({ kind: "lost", why });
      },
      paneGone: () => this.gone("its pane was closed"),
    });
    this.#breakOff = new BreakOff({ session: options.session, shell: this.#shell, pane: () => this.id });
    this.#recall = new Recover({
      session: options.session,
      shell: this.#shell,
      pane: () => this.id,
      current: () => this.#current,
      text: (bytes) => this.#onText(bytes),
      mark: (mark) => this.#onMark(mark),
      finish: (outcome) => this.#finish(outcome),
      adopt: (tag, snapshot) => this.#adopt(tag, snapshot),
      withdraw: (command) => this.#withdrawUndelivered(command),
      look: () => this.#look(true),
    });
    this.#scanner = this.#newScanner();
    this.#unfollow = options.session.follow(row.id, this);
  }

  get id(): string {
    return this.#row.id;
  }

  get cwd(): string {
    return this.#shell.cwd;
  }

  /** Waits for the first prompt of a new pane, or reads the state of one that was there. */
  async start(created: boolean): Promise<void> {
    if (!created) {
      this.#interrupted(false);
      await this.#recall.look(MISSED);
    }
    await firstPrompt({
      shell: this.#shell,
      created,
      alive: () => this.#alive,
      look: () => this.#look(true),
      argv: this.options.session.options.shell.argv,
      noShell: () => this.#noShell(),
    });
  }

  async run(command: string, options: RunOptions = {}): Promise<RunResult> {
    const result = await this.#turns.take(() => this.#run(command, options), options.signal);
    return result ?? this.#notRun({ kind: "stopped", by: "user" }, ["It had not begun."]);
  }

  async wait(options: Omit<RunOptions, "noWait"> = {}): Promise<RunResult> {
    const command = this.#current ?? this.#last;
    if (command === undefined) {
      throw new BuddyError("tool", "no command has been run in this pane yet", { hint: "Run one first." });
    }
    if (options.onOutput !== undefined) command.recording.listen(options.onOutput);
    return this.#watch(command, options);
  }

  async readOutput(id: string, options?: ReadOutputOptions): Promise<OutputPage> {
    return this.options.outputStore.find(id).read(options);
  }

  async capture(options: CaptureOptions = {}): Promise<{ text: string; notice?: string }> {
    await this.#ensureAlive();
    return capturePane(this.options.session, this.id, options);
  }

  async keys(options: KeysOptions): Promise<void> {
    await this.#ensureAlive();
    if ((options.literalText ?? "") !== "" && (await this.#asksForPassword())) {
      throw new BuddyError("tool", "a program in the pane asks for a password: buddy types nothing there", {
        hint: "The operator types it in the pane. Wait for the command, or stop it with C-c.",
      });
    }
    await sendKeys(this.options.session, this.id, options);
    if (this.#current !== undefined) this.#current.lastActivity = performance.now();
    else if (!this.#shell.editor) this.#shell.unsure = true;
  }

  async #asksForPassword(): Promise<boolean> {
    if (this.#current === undefined && this.#shell.phase === "ready") return false;
    return (await this.#look(true)).doing === "password";
  }

  output(bytes: Buffer): void {
    this.#scanner.feed(bytes);
  }

  dropped(): void {
    this.#interrupted(true);
    this.#commandDelivery.stop();
    this.#shell.stop();
  }

  reconnected(): void {
    this.#current?.note("The connection was lost while the command ran; the command was found again.");
    void this.#recall
      .look(MISSED)
      .catch((error: unknown) => this.gone(error instanceof Error ? error.message : String(error)));
  }

  gone(why: string): void {
    this.#alive = false;
    this.#recall.forget();
    this.#commandDelivery.forget();
    this.#shell.restart();
    this.#unfollow();
    this.#finish({ kind: "lost", why });
    this.#shell.changes.changed();
  }

  /** tmux was told to go on already; what it left out is read from the screen. */
  paused(): void {
    this.#interrupted(false);
    void this.#recall.look("tmux left out output that came faster than it could be taken").catch(() => {});
  }

  /** Stops following; the pane itself stays. */
  release(): void {
    this.#commandDelivery.stop();
    this.#shell.stop();
    this.#unfollow();
  }

  async #run(command: string, options: RunOptions): Promise<RunResult> {
    if (command.includes("\0")) throw new BuddyError("tool", "a command cannot contain a NUL byte");
    await this.#ensureAlive();
    if (isBlank(command)) return this.#notRun({ kind: "exited", code: 0 }, []);
    const busy = await this.#becomeFree(options);
    if (busy !== undefined) return busy;
    const running = this.#dispatch(command, options);
    if (options.noWait === true) {
      await within(running.begun.promise, BEGUN_MS);
      return this.#result(running, running.outcome ?? { kind: "running", why: "no-wait" });
    }
    return this.#watch(running, options);
  }

  async #watch(command: RunningCommand, options: RunOptions): Promise<RunResult> {
    const { transport } = this.options.session.options;
    const outcome = await watchCommand(command, options, {
      probe: (prompting) => this.#look(prompting),
      interrupt: () => this.#breakOff.press(),
      signal: (name) => signalForeground(transport, this.#row, name),
      withdraw: () => this.#withdraw(command),
      abandonLine: () => this.#abandonLine(),
      gone: () => this.options.session.closed,
    });
    return this.#result(command, outcome);
  }

  #dispatch(command: string, options: RunOptions): RunningCommand {
    const tag = randomInt(1, 2 ** 31 - 1);
    const { lines, shown } = deliver(command, tag, this.#commandDelivery.place);
    const running = new RunningCommand(tag, command, this.options.outputStore.open(), options, shown);
    running.promptId = this.#shell.promptId;
    running.notes.push(...this.#asides.splice(0));
    this.#current = running;
    this.#commandDelivery.send(running, lines);
    return running;
  }

  async #withdraw(command: RunningCommand): Promise<boolean> {
    if (!(await this.#commandDelivery.takeBack(command))) return false;
    if (this.#current === command) this.#current = undefined;
    return true;
  }

  /** The connection went while it was being sent: whether it arrived is not known, so it is made sure that it never will. */
  async #withdrawUndelivered(command: RunningCommand): Promise<void> {
    if (!(await this.#withdraw(command))) return;
    this.#last = command;
    command.finish({ kind: "lost", why: "the connection was lost before the command was delivered; it did not run" });
  }

  /** Undefined when a command can be sent now; otherwise what to tell instead. */
  async #becomeFree(options: RunOptions): Promise<RunResult | undefined> {
    const earlier = this.#current;
    const limit = this.#shell.phase === "starting" ? START_MS : FREE_MS;
    const end = performance.now() + Math.min(limit, options.waitMs ?? limit);
    const settled = () => ["ready", "continuation", "none"].includes(this.#shell.phase) || !this.#alive;
    while (this.#current === undefined && performance.now() < end && options.signal?.aborted !== true) {
      await this.#shell.changes.until(settled, end - performance.now(), options.signal);
      if (this.#shell.phase !== "continuation") break;
      this.#asides.push("The operator had begun a command of several lines; it was set aside.");
      await this.#breakOff.line();
    }
    if (options.signal?.aborted === true) return this.#notRun({ kind: "stopped", by: "user" }, []);
    if (!this.#alive) return this.#notRun({ kind: "lost", why: "the pane was closed" }, []);
    if (this.#shell.phase === "none")
      return this.#notRun({ kind: "lost", why: `${this.#noShell().message}. ${MEND}` }, []);
    if (this.#current === undefined && this.#shell.phase === "ready" && !this.#shell.unsure) return undefined;
    const seen = await this.#look(false);
    // It ended while we looked: what was seen is the end of it, not a program of the operator's.
    if (earlier !== undefined && this.#current === undefined) return this.#becomeFree(options);
    if (this.#current === undefined && this.#shell.unsure && seen.shellItself) {
      this.#shell.unsure = false;
      return undefined;
    }
    if (this.#current === undefined && (await this.#breakOff.promptUntold(seen))) return undefined;
    const { outcome, note } = busyOutcome(seen, this.#current, this.#shell.operatorCommand);
    return this.#notRun(outcome, [note]);
  }

  async #ensureAlive(): Promise<void> {
    if (this.#alive) return;
    this.#row = await this.options.revive();
    this.#alive = true;
    this.#shell.editor = this.options.session.options.shell.kind !== "sh";
    this.#scanner = this.#newScanner();
    this.#unfollow = this.options.session.follow(this.#row.id, this);
    await this.#shell.changes.until(() => this.#shell.phase !== "starting", START_MS);
    const text = "The pane was gone and has been made anew: its directory, variables and running programs are lost.";
    this.#tell("lost-state", text);
  }

  /** The stream has a gap here. */
  #interrupted(dropped: boolean): void {
    this.#recall.interrupt(dropped);
    this.#scanner = this.#newScanner();
  }

  #adopt(tag: number, snapshot: PaneSnapshot): void {
    this.#current = adoptCommand(tag, snapshot, this.options.outputStore);
    const text = `A command from before still runs in the pane: ${clip(this.#current.text)}`;
    this.options.notice({ kind: "info", text });
  }

  #onMark(mark: Mark): void {
    if (this.#recall.interrupted) return this.#recall.keepMark(mark);
    const command = this.#current;
    const ours = command !== undefined && "tag" in mark && mark.tag === command.tag;
    if (mark.kind === "prompt") this.#commandDelivery.promptSeen();
    if (mark.kind === "incomplete" && command?.phase === "taken") return this.#onIncomplete();
    this.#shell.mark(mark, ours);
    switch (mark.kind) {
      case "prompt":
        if (ours) this.#finish({ kind: "exited", code: mark.code });
        break;
      case "taken":
        if (ours) command.taken(mark.aside);
        else if (mark.tag === 0 && command?.phase === "sent" && command.attempts === 0) {
          command.setAside(mark.aside);
          void this.#commandDelivery.again(command);
        }
        break;
      case "started":
        if (ours) command.started();
        break;
      case "shown":
        if (ours) command.outputBegins();
        break;
      case "ended":
        if (ours) command.freeze();
        break;
      case "shell-ended":
        this.#onShellEnded(mark.code);
        break;
      case "start-up-skipped":
        this.#tell("warning", `${this.#shellName} ended before its first prompt (exit code ${mark.code}): ${SKIPPED}`);
        break;
      case "gave-up":
        this.#finish({ kind: "lost", why: `${this.#noShell().message}. ${MEND}` });
        break;
      case "ready":
      case "incomplete":
      case "no-editor":
        break;
    }
  }

  get #shellName(): string {
    return this.options.session.options.shell.name;
  }

  #noShell(): NoShell {
    return new NoShell("target", `${this.#shellName} does not come up in the pane: it ends before its first prompt`, {
      hint: `${MEND} Or leave the pane out: --no-tmux.`,
    });
  }

  /** To the operator, and to the model with its next command. */
  #tell(kind: "warning" | "lost-state", text: string): void {
    this.#asides.push(text);
    this.options.notice({ kind, text });
  }

  /** The command removed the hooks, or only printed the prompt. */
  #onPromptWithoutMark(): boolean {
    const command = this.#current;
    if (command?.phase !== "started" || !this.#shell.editor) return false;
    if (++command.promptsWithoutMark > MAX_UNMARKED) {
      this.#finish({ kind: "lost", why: "the shell shows a prompt, but no longer tells how commands end" });
      return false;
    }
    void this.#restoreHooks(command).catch(() => {});
    return true;
  }

  /** Where the shell does read a line, buddy's key puts its hooks back, and the mark follows. */
  async #restoreHooks(command: RunningCommand): Promise<void> {
    const seen = await this.#look(true);
    if (this.#current !== command || !seen.shellItself || seen.doing !== "raw") return;
    await this.options.session.send(deliver("", command.tag, this.#commandDelivery.place).lines);
  }

  /** The shell took the line and does not run it: that is said, and the line is given up. */
  #onIncomplete(): void {
    // fish tells before it runs anything and has emptied the line again; the others stand at their second prompt.
    if (this.options.session.options.shell.kind === "fish") this.#shell.phase = "ready";
    else void this.#breakOff.line().catch(() => {});
    this.#finish({ kind: "incomplete", hint: INCOMPLETE });
    this.#shell.changes.changed();
  }

  #abandonLine(): void {
    if (this.#current?.phase !== "taken") return;
    void this.#breakOff.line().catch(() => {});
    this.#finish({ kind: "incomplete", hint: INCOMPLETE });
  }

  #onShellEnded(code: number): void {
    const command = this.#current;
    const text = `The shell in the pane ended (exit code ${code}); a new one was started in ${this.cwd}: variables, functions and aliases are lost.`;
    if (command === undefined) {
      this.#tell("lost-state", text);
    } else if (command.phase !== "sent") {
      command.notes.push(text);
      this.#finish({ kind: "shell-ended", code });
    }
  }

  #onOperatorRan(command: string, code: number): void {
    const text = `The operator ran ${JSON.stringify(clip(command))} in the pane (exit code ${code}).`;
    (this.#current?.notes ?? this.#asides).push(text);
    this.options.notice({ kind: "operator", text });
  }

  #look(prompting: boolean): Promise<ForegroundState> {
    return probeForeground(this.options.session.options.transport, this.#row, prompting);
  }

  #finish(outcome: RunOutcome): void {
    const command = this.#current;
    if (command === undefined) return;
    this.#current = undefined;
    this.#last = command;
    command.finish(outcome);
  }

  #result(command: RunningCommand, outcome: RunOutcome): RunResult {
    return {
      outcome,
      output: command.recording.captured(),
      cwd: this.#shell.cwd,
      outputId: command.recording.id,
      notes: command.notes.splice(0),
      durationMs: (command.endedAt || performance.now()) - command.startedAt,
    };
  }

  #notRun(outcome: RunOutcome, notes: readonly string[]): RunResult {
    return {
      outcome,
      output: { head: "", tail: "", omittedBytes: 0, totalBytes: 0 },
      cwd: this.#shell.cwd,
      ...(this.#current === undefined ? {} : { outputId: this.#current.recording.id }),
      notes,
      durationMs: 0,
    };
  }

  #newScanner(): MarkScanner {
    return new MarkScanner(
      this.options.session.key,
      (bytes) => this.#onText(bytes),
      (mark) => this.#onMark(mark),
    );
  }

  #onText(bytes: Buffer): void {
    if (this.#recall.interrupted) return this.#recall.passText(bytes);
    this.#current?.output(bytes);
    this.#shell.text(bytes);
  }
}
