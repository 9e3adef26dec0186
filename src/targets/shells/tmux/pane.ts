/** A managed tmux pane: commands go in through its shell's own line, output and ends come out of the stream, exactly. */
import { randomInt } from "node:crypto";
import { BuddyError } from "../../../lib/errors.ts";
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
} from "../../target.ts";
import type { Spool } from "../output/spool.ts";
import { Turns } from "../turns.ts";
import { within } from "../within.ts";
import { capturePane, sendKeys } from "./capture.ts";
import { Condition } from "./condition.ts";
import { deliver, type DeliveryPlace, isBlank, putFile, withdraw } from "./delivery.ts";
import { linesAfter, sincePrompt } from "./gap.ts";
import { type Mark, MarkScanner, parseRemembered, visiblePrompts } from "./markers.ts";
import { probeForeground, signalForeground } from "./probe.ts";
import { RunningCommand } from "./running-command.ts";
import type { PaneRow, PaneSink, TmuxSession } from "./tmux-session.ts";
import { TypedLine } from "./typed-line.ts";
import { watchCommand } from "./watch.ts";

export interface PaneOptions {
  readonly session: TmuxSession;
  readonly name: string;
  readonly spool: Spool;
  readonly notice: (notice: TargetNotice) => void;
  /** Makes the pane anew after it was lost; gives the row of the new one. */
  readonly revive: () => Promise<PaneRow>;
}

type ShellState =
  /** No mark has come yet, or a new shell is coming up. */
  | "starting"
  /** A prompt is being drawn. */
  | "prompt"
  /** Keys are read. */
  | "ready"
  /** The operator is in the middle of a command of several lines. */
  | "continuation"
  | "running";

/** How long a command waits for the pane to become free before it is told that it is not. */
const FREE_MS = 1500;
const START_MS = 10_000;
const REPLACED_MS = 2000;
/** How long a command that is not waited for may take to begin. */
const BEGUN_MS = 1000;
/** A prompt without the end mark (a theme redrew it) counts as drawn after this; sooner when the pane never shows the mark. */
const DRAWN_MS = 1000;
const DRAWN_UNMARKED_MS = 60;
/** A prompt came, but the shell did not take the line: it has no line editor. */
const UNTAKEN_MS = 700;

const INCOMPLETE = "An unclosed quote, bracket, block or here-document; nothing was run.";

export class TmuxPane implements Pane, PaneSink {
  readonly kind = "tmux";
  readonly options: PaneOptions;
  #row: PaneRow;
  #scanner: MarkScanner;
  #unfollow: () => void;
  #state: ShellState = "starting";
  #alive = true;
  #editor: boolean;
  #cwd: string;
  #savedCwd = "";
  #current: RunningCommand | undefined;
  #last: RunningCommand | undefined;
  /** What the operator types at the prompt, as the screen shows it. */
  #typed = new TypedLine();
  #operatorCommand: string | undefined;
  /** A line was entered that no start mark followed: in shells without hooks only a look tells what runs. */
  #unsure = false;
  #asides: string[] = [];
  readonly #turns = new Turns();
  readonly #condition = new Condition();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #promptSeen = false;
  #promptId = 0;
  #drawnMs = DRAWN_MS;

  constructor(row: PaneRow, options: PaneOptions) {
    this.options = options;
    this.#row = row;
    this.#editor = options.session.options.shell.kind !== "sh";
    this.#cwd = options.session.options.cwd;
    this.#scanner = this.#newScanner();
    this.#unfollow = options.session.follow(row.id, this);
  }

  get id(): string {
    return this.#row.id;
  }

  get cwd(): string {
    return this.#cwd;
  }

  /** Waits for the first prompt of a new pane, or reads the state of one that was there. */
  async start(created: boolean): Promise<void> {
    if (!created) await this.#recall();
    const up = () => this.#state !== "starting" || !this.#alive;
    await this.#condition.until(up, REPLACED_MS);
    if (!up() && created && (await this.#replaced())) await this.#condition.until(up, REPLACED_MS / 2);
    else await this.#condition.until(up, START_MS);
    if (this.#state === "starting" && created) {
      throw new NoPrompt("target", "the shell in the new pane did not come to a prompt", {
        hint: "Look at its start-up files; attach to the pane to see what it waits for.",
      });
    }
  }

  /** Another shell than buddy's waits in the foreground: a start-up file ends with `exec`. */
  async #replaced(): Promise<boolean> {
    const { transport, shell } = this.options.session.options;
    const seen = await probeForeground(transport, this.#row, true);
    return seen.shellItself && seen.doing !== "working" && !shell.argv.some((word) => word.endsWith(seen.program));
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
    for (const command of [this.#current, this.#last]) {
      if (command?.recording.id === id) return command.recording.read(options);
    }
    return this.options.spool.find(id).read(options);
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
    else if (!this.#editor) this.#unsure = true;
  }

  async #asksForPassword(): Promise<boolean> {
    if (this.#current === undefined && this.#state === "ready") return false;
    return (await probeForeground(this.options.session.options.transport, this.#row, true)).doing === "password";
  }

  output(bytes: Buffer): void {
    this.#scanner.feed(bytes);
  }

  dropped(): void {
    clearTimeout(this.#timer);
  }

  reconnected(): void {
    this.#current?.notes.push("The connection was lost while the command ran; the command was found again.");
    this.#scanner = this.#newScanner();
    void this.#recall().catch((error: unknown) => this.gone(error instanceof Error ? error.message : String(error)));
  }

  gone(why: string): void {
    this.#alive = false;
    this.#state = "starting";
    this.#unfollow();
    this.#finish({ kind: "lost", why });
    this.#condition.changed();
  }

  /** tmux was told to go on already; what it left out is read from the screen. */
  paused(): void {
    void this.#recall("tmux left out output that came faster than it could be taken").catch(() => {});
  }

  /** Stops following; the pane itself stays. */
  release(): void {
    clearTimeout(this.#timer);
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
      probe: (prompting) => probeForeground(transport, this.#row, prompting),
      interrupt: () => this.#interrupt(),
      signal: (name) => signalForeground(transport, this.#row, name),
      withdraw: () => this.#withdraw(command),
      abandonLine: () => this.#abandonLine(),
    });
    return this.#result(command, outcome);
  }

  #dispatch(command: string, options: RunOptions): RunningCommand {
    const { session, spool } = this.options;
    const tag = randomInt(1, 2 ** 31 - 1);
    const delivery = deliver(command, tag, this.#place());
    const running = new RunningCommand(tag, command, spool.open(), options, delivery.shown);
    running.promptId = this.#promptId;
    running.notes.push(...this.#asides.splice(0));
    this.#current = running;
    this.#promptSeen = false;
    if (!this.#editor) running.setAside(this.#typed.text());
    const cwd = this.#cwd === this.#savedCwd ? [] : putFile(`${session.directory}/${this.id.slice(1)}.cwd`, this.#cwd);
    this.#savedCwd = this.#cwd;
    this.#typed = new TypedLine();
    session.send([...cwd, ...delivery.lines]).then(
      async (replies) => {
        const failed = replies.find((reply) => !reply.ok);
        if (failed === undefined || running.phase !== "sent") return;
        if (/can't find pane|no such pane/.test(failed.lines.join(" "))) this.gone("its pane was closed");
        else await this.#deliverAgain(running);
      },
      (error: unknown) => {
        if (running.phase === "sent") running.notes.push(`Sending failed: ${(error as Error).message}`);
      },
    );
    return running;
  }

  /**
   * The shell did not take the line. First the files are put in place again (something cleaned the directory away) and the command is
   * sent once more; then it is typed, as the shell may have no line editor. It runs once at most: each delivery can be taken only once.
   */
  async #deliverAgain(running: RunningCommand): Promise<void> {
    if (this.#current !== running || running.phase !== "sent") return;
    const attempt = ++running.attempts;
    clearTimeout(this.#timer);
    this.#savedCwd = "";
    try {
      await this.options.session.restoreFiles();
      await this.#condition.until(() => this.#state === "ready" || running.phase !== "sent", FREE_MS);
      if (running.phase !== "sent" || this.#current !== running) return;
      if (attempt > 2) {
        return this.#finish({ kind: "lost", why: "the shell in the pane did not take the command; it did not run" });
      }
      if (attempt === 2) this.#editor = false;
      this.#promptSeen = false;
      await this.options.session.send(deliver(running.text, running.tag, this.#place()).lines);
    } catch (error) {
      this.#finish({
        kind: "lost",
        why: `the command could not be delivered (${(error as Error).message}); it did not run`,
      });
    }
  }

  async #withdraw(command: RunningCommand): Promise<boolean> {
    if (command.phase !== "sent") return false;
    await this.options.session.send(withdraw(this.#place()));
    if (command.phase !== "sent") return false;
    if (this.#current === command) this.#current = undefined;
    return true;
  }

  /** The connection went while it was being sent: whether it arrived is not known, so it is made sure that it never will. */
  async #withdrawUndelivered(command: RunningCommand): Promise<void> {
    if (!(await this.#withdraw(command))) return;
    this.#last = command;
    command.finish({ kind: "lost", why: "the connection was lost before the command was delivered; it did not run" });
  }

  async #interrupt(): Promise<void> {
    await this.options.session.send([`copy-mode -q -t ${this.id}`, `send-keys -t ${this.id} C-c`]);
  }

  /** Undefined when a command can be sent now; otherwise what to tell instead. */
  async #becomeFree(options: RunOptions): Promise<RunResult | undefined> {
    const limit = this.#state === "starting" ? START_MS : FREE_MS;
    const end = performance.now() + Math.min(limit, options.waitMs ?? limit);
    const settled = () => this.#state === "ready" || this.#state === "continuation" || !this.#alive;
    while (this.#current === undefined && performance.now() < end && options.signal?.aborted !== true) {
      await this.#condition.until(settled, end - performance.now(), options.signal);
      if (this.#state !== "continuation") break;
      this.#asides.push("The operator had begun a command of several lines; it was set aside.");
      this.#state = "running";
      this.#typed = new TypedLine();
      await this.#interrupt();
    }
    if (options.signal?.aborted === true) return this.#notRun({ kind: "stopped", by: "user" }, []);
    if (!this.#alive) return this.#notRun({ kind: "lost", why: "the pane was closed" }, []);
    if (this.#current === undefined && this.#state === "ready" && !this.#unsure) return undefined;
    const seen = await probeForeground(this.options.session.options.transport, this.#row, false);
    if (this.#current === undefined && this.#unsure && seen.shellItself) {
      this.#unsure = false;
      return undefined;
    }
    const what = this.#current?.text ?? this.#operatorCommand;
    const by = this.#current === undefined ? "the operator's" : "an earlier";
    const named = what === undefined ? `${by} program ${seen.program}` : `${by} command ${JSON.stringify(clip(what))}`;
    const waitsFor = seen.doing === "raw" ? "repl" : seen.doing;
    const screen = this.#current?.recording.fullScreen === true ? ("full-screen" as const) : waitsFor;
    const outcome: RunOutcome =
      screen === "working"
        ? { kind: "running", why: "busy", program: seen.program }
        : { kind: "waiting", for: screen, program: seen.program };
    return this.#notRun(outcome, [`Nothing was typed: ${named} is still in the foreground of this pane.`]);
  }

  async #ensureAlive(): Promise<void> {
    if (this.#alive) return;
    this.#row = await this.options.revive();
    this.#alive = true;
    this.#state = "starting";
    this.#savedCwd = "";
    this.#unsure = false;
    this.#editor = this.options.session.options.shell.kind !== "sh";
    this.#scanner = this.#newScanner();
    this.#unfollow = this.options.session.follow(this.#row.id, this);
    await this.#condition.until(() => this.#state !== "starting", START_MS);
    const text = "The pane was gone and has been made anew: its directory, variables and running programs are lost.";
    this.#asides.push(text);
    this.options.notice({ kind: "lost-state", text });
  }

  /** The state of a pane nobody listened to: tmux remembers the last mark, and the screen shows what was missed. */
  async #recall(gap?: string): Promise<void> {
    const { session } = this.options;
    const command = this.#current;
    const [path, current, screen] = await session.send([
      `display-message -p -t ${this.id} '#{pane_path}'`,
      `display-message -p -t ${this.id} '#{cursor_x}|#{pane_current_path}'`,
      `capture-pane -p -J -t ${this.id} -S - -E -`,
    ]);
    const mark = parseRemembered(path?.lines.join("\n") ?? "", session.key);
    const lines = screen?.ok === true ? screen.lines : [];
    const [column, ...directory] = current?.lines[0]?.split("|") ?? [];
    if (command?.phase === "sent") {
      if (mark !== undefined && "tag" in mark && mark.tag === command.tag) command.started();
      else await this.#withdrawUndelivered(command);
    }
    if (command !== undefined && command.phase === "started") this.#fill(command, lines, column === "0", gap);
    if (mark?.kind === "started") {
      if (command?.tag === mark.tag) command.started();
      else if (command === undefined && mark.tag !== 0) this.#adopt(mark.tag, lines);
      this.#cwd = directory.join("|") || this.#cwd;
      this.#state = "running";
    } else if (mark?.kind === "prompt") {
      this.#onMark(mark);
      this.#onMark({ kind: "ready" });
    } else if (this.#state === "starting" && mark === undefined) {
      // Something else set the pane's path: a look at the foreground has to do.
      const seen = await probeForeground(session.options.transport, this.#row, true);
      if (this.#state === "starting") this.#state = seen.shellItself && seen.doing !== "working" ? "ready" : "running";
    }
    this.#condition.changed();
  }

  /** A command that a buddy before this one started and that still runs: it can be waited for. */
  #adopt(tag: number, lines: readonly string[]): void {
    const prompt = visiblePrompts(lines).at(-1);
    const typed = prompt === undefined ? "" : (lines[prompt.line]?.slice(prompt.end).trim() ?? "");
    const command = new RunningCommand(tag, typed || "(unknown)", this.options.spool.open(), {}, false);
    command.started();
    const body = prompt === undefined ? [] : lines.slice(prompt.line + 1);
    while (body.at(-1) === "") body.pop();
    if (body.length > 0) command.recording.insert(body.map((line) => `${line}\n`).join(""));
    command.notes.push("The command was started before buddy was; what it had printed was read from the pane.");
    this.#current = command;
    const text = `A command from before still runs in the pane: ${clip(command.text)}`;
    this.options.notice({ kind: "info", text });
  }

  #fill(command: RunningCommand, screen: readonly string[], ended: boolean, gap: string | undefined): void {
    const missed = command.recording.empty
      ? sincePrompt(screen, command.promptId, ended)
      : linesAfter(command.recording.lastLines, screen, ended);
    if (missed.found) {
      if (missed.text !== "") command.recording.insert(missed.text);
      command.notes.push(
        gap === undefined
          ? "Output printed meanwhile was read back from the pane."
          : `${gap}; it was read back from the pane.`,
      );
      return;
    }
    command.recording.insert(`\n[output is missing here]\n${missed.text}`);
    command.notes.push(
      `${gap ?? "Output was missed while the connection was down"}, and the pane's scrollback does not reach back far enough: a part is missing.`,
    );
  }

  #onMark(mark: Mark): void {
    const command = this.#current;
    const ours = command !== undefined && "tag" in mark && mark.tag === command.tag;
    switch (mark.kind) {
      case "prompt":
        this.#cwd = mark.cwd || this.#cwd;
        this.#state = "prompt";
        this.#unsure = false;
        this.#promptSeen = true;
        this.#promptId = mark.id;
        this.#arm(this.#drawnMs, () => {
          this.#onMark({ kind: "ready" });
          this.#drawnMs = DRAWN_UNMARKED_MS;
        });
        if (ours) this.#finish({ kind: "exited", code: mark.code });
        else this.#operatorRan(mark.code);
        break;
      case "ready":
        this.#drawnMs = DRAWN_MS;
        this.#onReady();
        break;
      case "taken":
        if (ours) command.taken(mark.aside);
        else if (mark.tag === 0 && command?.phase === "sent" && command.attempts === 0) {
          command.setAside(mark.aside);
          void this.#deliverAgain(command);
        }
        break;
      case "started":
        this.#state = "running";
        if (ours) command.started();
        else this.#operatorCommand = this.#typed.text();
        break;
      case "shown":
        if (ours) command.outputBegins();
        break;
      case "ended":
        if (ours) command.freeze();
        break;
      case "incomplete":
        this.#onIncomplete();
        break;
      case "no-editor":
        this.#editor = false;
        break;
      case "shell-ended":
        this.#onShellEnded(mark.code);
        break;
    }
    this.#condition.changed();
  }

  #onReady(): void {
    const hooksLost = this.#current?.phase === "started" && this.#editor && this.#state === "running";
    if (hooksLost && this.#current !== undefined) {
      // The prompt came without its mark: the command removed the hooks. Buddy's key puts them back.
      const place = this.#place();
      const again = deliver("", this.#current.tag, place);
      void this.options.session.send(again.lines).catch(() => {});
      return;
    }
    clearTimeout(this.#timer);
    this.#state = "ready";
    this.#typed = new TypedLine();
    const command = this.#current;
    if (command?.phase === "sent" && this.#promptSeen) this.#arm(UNTAKEN_MS, () => void this.#deliverAgain(command));
  }

  #abandonLine(): void {
    if (this.#current?.phase !== "taken") return;
    this.#state = "running";
    void this.options.session.send([`send-keys -t ${this.id} C-c`]).catch(() => {});
    this.#finish({ kind: "incomplete", hint: INCOMPLETE });
  }

  #onIncomplete(): void {
    const command = this.#current;
    if (command?.phase === "taken") {
      // fish tells before it runs anything and has emptied the line again; the others stand at their second prompt.
      if (this.options.session.options.shell.kind === "fish") this.#state = "ready";
      else {
        this.#state = "running";
        void this.#interrupt().catch(() => {});
      }
      this.#finish({
        kind: "incomplete",
        hint: "An unclosed quote, bracket, block or here-document; nothing was run.",
      });
    } else if (this.#state !== "running") this.#state = "continuation";
  }

  #onShellEnded(code: number): void {
    const command = this.#current;
    this.#state = "starting";
    this.#typed = new TypedLine();
    this.#operatorCommand = undefined;
    const text = `The shell in the pane ended (exit code ${code}); a new one was started in ${this.#cwd}: variables, functions and aliases are lost.`;
    if (command === undefined) {
      this.#asides.push(text);
      this.options.notice({ kind: "lost-state", text });
    } else if (command.phase !== "sent") {
      command.notes.push(text);
      this.#finish({ kind: "shell-ended", code });
    }
  }

  #operatorRan(code: number): void {
    const shown = this.#operatorCommand ?? (this.#editor ? undefined : this.#typed.firstLine());
    this.#operatorCommand = undefined;
    if (shown === undefined || shown.trim() === "") return;
    const text = `The operator ran ${JSON.stringify(clip(shown.trim()))} in the pane (exit code ${code}).`;
    if (this.#current === undefined) this.#asides.push(text);
    else this.#current.notes.push(text);
    this.options.notice({ kind: "operator", text });
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
      cwd: this.#cwd,
      outputId: command.recording.id,
      notes: command.notes.splice(0),
      durationMs: (command.endedAt || performance.now()) - command.startedAt,
    };
  }

  #notRun(outcome: RunOutcome, notes: readonly string[]): RunResult {
    return {
      outcome,
      output: { head: "", tail: "", omittedBytes: 0, totalBytes: 0 },
      cwd: this.#cwd,
      ...(this.#current === undefined ? {} : { outputId: this.#current.recording.id }),
      notes,
      durationMs: 0,
    };
  }

  #place(): DeliveryPlace {
    const { session } = this.options;
    return { pane: this.id, directory: session.directory, shell: session.options.shell.kind, editor: this.#editor };
  }

  #newScanner(): MarkScanner {
    return new MarkScanner(
      this.options.session.key,
      (bytes) => this.#onText(bytes),
      (mark) => this.#onMark(mark),
    );
  }

  #onText(bytes: Buffer): void {
    if (this.#current !== undefined) this.#current.output(bytes);
    if (this.#state === "ready") {
      this.#typed.write(bytes);
      if (!this.#editor && bytes.includes(10)) this.#unsure = true;
    }
  }

  #arm(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, ms);
  }
}

export class NoPrompt extends BuddyError {}

function clip(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
