/** A managed tmux pane: commands go in through the line of its shell, output and ends come from its byte stream. */
import { randomInt } from "node:crypto";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import type { CleanChildren } from "../read-only/clean-children.ts";
import { withVariables } from "../read-only/clean-script.ts";
import type { AskingPane } from "../read-only/standing-shell.ts";
import { TmuxUnusable } from "../errors.ts";
import type { OutputStore } from "../output/output-store.ts";
import { NO_OUTPUT } from "../output/recording.ts";
import type {
  CaptureOptions,
  KeysOptions,
  OutputPage,
  Pane,
  ReadOutputOptions,
  RunOptions,
  RunOutcome,
  RunResult,
  ShellPlace,
  TargetNotice,
} from "../target.ts";
import { OneAtATime, within, pause } from "../../lib/waiting.ts";
import { capturePane, lineBeforeCursor, pressKeys, sendKeys } from "./capture.ts";
import { deliver, isBlank } from "./delivery.ts";
import { hasPrintable, movedAway, typedLines, stillThere } from "./typed-keys.ts";
import { type AdoptedShell, AdoptedShells } from "./adopted-shell.ts";
import { parseRemembered } from "./markers.ts";
import { PaneInput } from "./pane-input.ts";
import type { PaneRow } from "./session-info.ts";
import { PaneState } from "./pane-state.ts";
import { asksForPassword, type ForegroundState, mayReadSilently } from "./probe.ts";
import { recover } from "./recover.ts";
import { RunningCommand } from "./running-command.ts";
import type { PaneSink } from "./pane-followers.ts";
import type { TmuxSession } from "./tmux-session.ts";
import { busyOutcome, holdsShell, watchCommand } from "./watch-command.ts";

export interface PaneOptions {
  readonly session: TmuxSession;
  readonly name: string;
  readonly outputStore: OutputStore;
  readonly notice: (notice: TargetNotice) => void;
  /** The script for a command that runs without approval. */
  readonly clean: Pick<CleanChildren, "reader" | "scriptForReader" | "inPane">;
  /** Recreates the pane after it was lost; returns the row of the new one. */
  readonly revive: () => Promise<PaneRow>;
}

/** How long start-up files may work until the first prompt; how often that is looked at. */
const START_MS = 30_000;
const LOOK_MS = 1000;
/** Longer than all attempts to reconnect take together. */
const REACHED_MS = 120_000;
/** After this, buddy checks whether another shell has replaced its own (`exec` in a start-up file). */
const REPLACED_MS = 2000;
/** It does so earlier if there was no prompt by then. */
const SOON_MS = 400;
/** How long a command waits for the pane to become free before it is reported as busy. */
const FREE_MS = 1500;
const SETTLED_MS = 200;
/** A pause in the operator's typing, and how long a command waits for one. */
const PAUSE_MS = 1000;
const TYPING_MS = 15_000;
/** How long to wait for the start of a command with `noWait`. */
const BEGUN_MS = 1000;
/** How long a capture waits for the prompt to be drawn. */
const PROMPT_MS = 250;
/** How long removing the hooks may take. */
const LEAVE_MS = 2000;
const LONG_MS = 2 ** 31 - 1;
const MISSED = "Output was missed while the connection was down";

/** The shell in a new pane shows no prompt. */
export class NoPrompt extends BuddyError {}
/** Every shell in the pane ends at once. */
export class NoShell extends TmuxUnusable {}

export class TmuxPane implements Pane, PaneSink {
  readonly kind = "tmux";
  readonly #options: PaneOptions;
  readonly #state: PaneState;
  readonly #input: PaneInput;
  readonly #turns = new OneAtATime();
  #unfollow: () => void;
  #reviving: Promise<void> | undefined;
  readonly #adopted = new AdoptedShells();

  constructor(row: PaneRow, options: PaneOptions) {
    this.#options = options;
    const { session, outputStore, notice } = options;
    const { shell, cwd } = session.options;
    this.#state = new PaneState(
      row,
      { shell, cwd, outputStore, key: () => session.key },
      {
        sendAgain: (command) => void this.#input.sendAgain(command),
        restoreHooks: (command) => void this.#input.restoreHooks(command).catch(() => {}),
        breakLine: () => void this.#input.breakLine().catch(() => {}),
        dropAnswers: () => void this.#input.dropAnswers().catch(() => {}),
        giveBack: (line) => void this.#input.giveBack(line).catch(() => {}),
        notice,
      },
    );
    this.#input = new PaneInput(session, this.#state);
    this.#unfollow = session.follow(row.id, this);
  }

  get id(): string {
    return this.#state.id;
  }

  get cwd(): string {
    return this.#state.cwd;
  }

  /** The line that the shell runs; "" if unknown. */
  get running(): string | undefined {
    const { phase, current, operatorCommand = "" } = this.#state;
    return phase === "running" ? (current?.text ?? operatorCommand) : undefined;
  }

  get environmentFile(): string {
    return `${this.#options.session.runDirectory}/${this.id.slice(1)}.env`;
  }

  get environmentVersion(): number {
    return this.#state.ownPrompts;
  }

  async where(): Promise<ShellPlace> {
    await this.#ensureAlive();
    const { session, name } = this.#options;
    const seen = await this.#input.foreground();
    const cwd = seen?.cwd || (await session.ask(`display-message -p -t ${this.id} "#{pane_current_path}"`))[0] || "";
    const atPrompt = seen?.shellItself ?? this.#state.phase === "ready";
    const isOwn = session.options.session === session.options.owner;
    const running = this.#state.current?.text ?? this.#state.operatorCommand;
    const inner = atPrompt
      ? {}
      : {
          program: seen?.program ?? "an unknown program",
          row: await lineBeforeCursor(session, this.id).catch(() => ""),
          ...(running === undefined ? {} : { running }),
        };
    return {
      cwd,
      user: seen?.user ?? "",
      ...inner,
      ...(isOwn && name === "shared" ? {} : { pane: isOwn ? name : `${session.name}:${name}` }),
      typed: atPrompt ? this.#state.typed : "",
    };
  }

  /** Waits for the first prompt of a new pane, or reads the state of an existing one. */
  async start(created: boolean): Promise<void> {
    const state = this.#state;
    const { skipped } = state.row;
    if (skipped !== "") state.startUpSkipped(Number(skipped));
    if (!created) {
      state.beginGap(false);
      await this.#recover(MISSED);
    }
    const isUp = () => state.phase !== "starting" || !state.alive;
    await this.#firstPrompt(isUp);
    const stuck = await this.#startUp(isUp, this.#toOperator);
    if (state.phase === "none") throw this.#noShell();
    if (state.phase === "starting" && created) {
      throw new NoPrompt("target", stuck ?? "it shows no prompt", {
        hint: "Check its start-up files; attach to the pane to see what it waits for.",
      });
    }
  }

  readonly #toOperator: Pick<RunOptions, "onDelay"> = {
    onDelay: (text) => this.#options.session.options.notice({ kind: "info", text }),
  };

  /** Waits for the prompt while start-up files work, and says what for. Returns why they will not reach it. */
  async #startUp(
    isUp: () => boolean,
    options: Pick<RunOptions, "onDelay" | "waitMs" | "signal">,
  ): Promise<string | undefined> {
    const { changes, shell } = this.#state;
    const end = performance.now() + Math.min(START_MS, options.waitMs ?? START_MS);
    for (let round = 0; !isUp() && options.signal?.aborted !== true; round++) {
      // A machine with much to do may not tell.
      const seen = await this.#input.look(false).catch(() => undefined);
      const replacing = await this.#input.look(true).catch(() => undefined);
      const isReplaced = replacing !== undefined && this.#isReplaced(replacing);
      const name = seen?.child ?? seen?.program ?? shell.name;
      let why: string | undefined;
      // The operator cannot have typed in a pane that was just made.
      if (isReplaced) why = `another shell took the place of ${shell.name}`;
      else if (seen !== undefined && seen.doing !== "working") why = `${name} waits for input`;
      else if (performance.now() > end) why = `${name} is still running after ${START_MS / 1000} seconds`;
      const text = `Waiting for the prompt of ${shell.name}: in its start-up files ${name} is still running.`;
      if (round === 0 && why === undefined && !isUp()) options.onDelay?.(text);
      await changes.until(isUp, isReplaced ? SETTLED_MS : LOOK_MS, options.signal);
      if (why !== undefined && !isUp()) return why;
    }
    return undefined;
  }

  async run(command: string, options: RunOptions = {}): Promise<RunResult> {
    const result = await this.#turns.take(() => this.#run(command, options), options.signal);
    return result ?? this.#notRun({ kind: "stopped", by: "user" }, ["It had not started."]);
  }

  async wait(options: Omit<RunOptions, "noWait"> = {}): Promise<RunResult> {
    const command = this.#state.current ?? this.#state.last;
    if (command === undefined) {
      throw new BuddyError("tool", "no command has been run in this pane yet", { hint: "Run one first." });
    }
    if (options.onOutput !== undefined) command.recording.listen(options.onOutput);
    return this.#watch(command, options);
  }

  async readOutput(id: string, options?: ReadOutputOptions): Promise<OutputPage> {
    return await this.#options.outputStore.read(id, options);
  }

  async capture(options: CaptureOptions = {}): Promise<{ text: string; notice?: string }> {
    await this.#ensureAlive();
    // A command has ended when its prompt begins to be drawn: wait for the whole prompt.
    await this.#state.changes.until(() => this.#state.phase !== "prompt", PROMPT_MS);
    return capturePane(this.#options.session, this.id, options);
  }

  async keys(options: KeysOptions): Promise<void> {
    await this.#ensureAlive();
    await pause(options.delayMs ?? 0, options.signal);
    // Until a prompt is drawn, the terminal itself handles keys like Ctrl-D.
    await this.#state.changes.until(() => this.#state.phase !== "prompt", FREE_MS, options.signal);
    // After the delay: the foreground may have changed.
    const secret = hasPrintable(options.keys ?? [], options.literalText ?? "") && (await this.#secretInput());
    if (typeof secret === "string") {
      throw new BuddyError("tool", `${secret}: buddy types nothing there`, {
        hint: "The operator types it in the pane. Wait for the command, or stop it with C-c.",
      });
    }
    const { keys, literalText, enter, onlyWhere } = options;
    if (onlyWhere !== undefined) stillThere(await this.where(), onlyWhere);
    this.#state.keysPressed(typedLines(this.#state.typed, { keys, literal_text: literalText, enter }));
    await sendKeys(this.#options.session, this.id, options);
  }

  output(bytes: Buffer): void {
    this.#state.feed(bytes);
    this.#adopted.feed(bytes);
  }

  /** Adopts the shell that the operator started in the pane. */
  async adopt(ended: () => void): Promise<AdoptedShell> {
    await this.#ensureAlive();
    await this.#mayHoldShell();
    const { session, outputStore } = this.#options;
    const isFirst = this.#adopted.innermost === undefined;
    const shell = await this.#adopted.adopt(
      {
        outputStore,
        width: () => this.#state.width,
        send: (keys) => pressKeys(session, this.id, keys),
      },
      ended,
    );
    if (isFirst) void this.#untilPrompt().then(() => this.#adopted.endAll());
    return shell;
  }

  /** Throws if the program in the foreground cannot be a shell at its prompt. */
  async #mayHoldShell(): Promise<void> {
    const state = this.#state;
    if (state.phase !== "running") {
      throw new BuddyError("usage", "the pane is at its own prompt: there is no other shell to adopt", {
        hint: "Start one in the pane first: sudo -i, su -, ssh HOST, docker exec -it NAME sh.",
      });
    }
    const seen = await this.#input.look(true);
    const [screen] = await this.#options.session.ask(`display-message -p -t ${this.id} "#{alternate_on}"`);
    if (!holdsShell(seen.program) || screen === "1" || seen.doing === "password") {
      throw new BuddyError("usage", `${seen.program} is in the foreground of the pane, not a shell at its prompt`, {
        hint: "Bring the inner shell to its prompt in the pane, then /adopt again.",
      });
    }
  }

  /** Resolves when the pane's own prompt is back, or the pane is gone. */
  async #untilPrompt(): Promise<void> {
    const state = this.#state;
    const back = () => state.phase !== "running" || !state.alive;
    while (!back()) await state.changes.until(back, LONG_MS);
  }

  dropped(): void {
    this.#state.beginGap(true);
  }

  reconnected(): void {
    const { current } = this.#state;
    if (current?.phase !== "sent")
      current?.note("The connection was lost while the command ran; the command was found again.");
    void this.#recover(MISSED).catch((error: unknown) => this.gone(messageOf(error)));
  }

  gone(why: string): void {
    this.#unfollow();
    this.#state.gone(why);
  }

  /** tmux continues; output that it dropped is read from the screen. */
  paused(): void {
    this.#state.beginGap(false);
    void this.#recover("tmux dropped output that came faster than it could be read").catch(() => {});
  }

  resized(width: number): void {
    this.#state.width = width;
  }

  /** Removes buddy's hooks from an adopted shell. */
  async leaveAdopted(): Promise<void> {
    const left = this.#adopted.leave().catch(() => {});
    await within(left, LEAVE_MS);
  }

  /** Stops following; the pane itself stays. */
  release(): void {
    this.#state.stop();
    this.#unfollow();
  }

  async #run(command: string, options: RunOptions): Promise<RunResult> {
    if (command.includes("\0")) throw new BuddyError("tool", "a command cannot contain a NUL byte");
    await this.#ensureReachable(options);
    if (isBlank(command)) return this.#notRun({ kind: "exited", code: 0 }, []);
    const busy = await this.#becomeFree(options);
    if (busy !== undefined) return busy;
    if (options.onlyIn !== undefined && options.onlyIn !== this.cwd) {
      const why = movedAway(this.cwd, options.onlyIn);
      return this.#notRun({ kind: "lost", why, notRun: true }, []);
    }
    const running = this.#dispatch(command, options);
    if (options.noWait === true) {
      await within(running.begun.promise, BEGUN_MS);
      return this.#result(running, running.outcome ?? { kind: "running", why: "no-wait" });
    }
    const result = await this.#watch(running, options);
    if (result.outcome.kind !== "lost" || this.#state.alive || !(await this.#input.neverTaken(running))) return result;
    return {
      ...result,
      outcome: { ...result.outcome, why: `${result.outcome.why}; the command did not run`, notRun: true },
    };
  }

  async #watch(command: RunningCommand, options: RunOptions): Promise<RunResult> {
    return this.#result(command, await watchCommand(command, options, this.#input));
  }

  #dispatch(command: string, options: RunOptions): RunningCommand {
    const tag = randomInt(1, 2 ** 31 - 1);
    const { unasked } = options;
    const clean = unasked && {
      shell: this.#options.clean.reader,
      script: (to: string) => this.#options.clean.scriptForReader(withVariables(command, unasked), unasked, to),
      asked: (pane: AskingPane) => this.#options.clean.inPane(withVariables(command, unasked), unasked, pane),
    };
    const delivery = deliver(command, tag, this.#input.place, { clean, shown: options.shown });
    const running = new RunningCommand(tag, command, this.#options.outputStore.open(), options, delivery.shown, clean);
    this.#input.send(running, delivery);
    return running;
  }

  /** Undefined if a command can be sent now; otherwise what to report instead. */
  async #becomeFree(options: RunOptions): Promise<RunResult | undefined> {
    const state = this.#state;
    const earlier = state.current;
    const end = performance.now() + Math.min(FREE_MS, options.waitMs ?? FREE_MS);
    const settled = () => ["ready", "continuation", "none"].includes(state.phase) || !state.alive;
    // A command that was just sent, such as a line that the model typed, may end within milliseconds; so may one after
    // Ctrl-C.
    const young = FREE_MS - (performance.now() - (earlier?.touchedAt ?? 0));
    if (earlier !== undefined && young > 0)
      await state.changes.until(
        () => state.current !== earlier || !state.alive,
        Math.min(young, options.waitMs ?? young),
        options.signal,
      );
    while (state.current === undefined && performance.now() < end && options.signal?.aborted !== true) {
      await state.changes.until(settled, end - performance.now(), options.signal);
      if (state.phase === "starting") await this.#startUp(() => state.phase !== "starting" || !state.alive, options);
      if (state.phase !== "continuation") break;
      if (await this.#operatorTypes(options)) return this.#becomeFree(options);
      // It gives up the lines itself, and keeps them.
      if (state.editor) return undefined;
      state.discardLines();
      await this.#input.breakLine();
    }
    if (options.signal?.aborted === true) return this.#notRun({ kind: "stopped", by: "user" }, []);
    if (!state.alive)
      return this.#notRun({ kind: "lost", why: "the pane was closed; it did not run", notRun: true }, []);
    if (state.phase === "none") {
      const { message, hint } = state.noShell;
      return this.#notRun({ kind: "lost", why: `${message}; the command did not run. ${hint}`, notRun: true }, []);
    }
    const isFree = () => state.current === undefined && state.phase === "ready" && !state.unsure;
    if (isFree()) {
      // The operator's Enter must not run half a line.
      return (await this.#operatorTypes(options)) ? this.#becomeFree(options) : undefined;
    }
    const { phase } = state;
    let seen = await this.#input.look(false);
    if (state.current === undefined && !seen.shellItself && state.phase === phase) {
      // A shell that is ending or starting looks like a program.
      const ms = seen.betweenShells ? FREE_MS : SETTLED_MS;
      await state.changes.until(() => state.phase !== phase, ms, options.signal);
      seen = await this.#input.look(false);
    }
    // It ended meanwhile: what was seen is not a program of the operator.
    const isOver = state.phase !== phase || isFree();
    if (state.current === undefined && (earlier !== undefined || isOver)) return this.#becomeFree(options);
    if (state.current === undefined && state.unsure && seen.shellItself && !this.#isReplaced(seen)) {
      state.sure();
      return undefined;
    }
    if (state.current === undefined && (await this.#input.wakePrompt(seen))) return undefined;
    const { outcome, note } = busyOutcome(seen, state.current, state.operatorCommand);
    return this.#notRun(outcome, [note]);
  }

  /** Waits a while for a pause in the operator's typing. True if they entered it: the pane must be checked again. */
  async #operatorTypes(options: RunOptions): Promise<boolean> {
    const state = this.#state;
    const { phase } = state;
    const end = performance.now() + Math.min(TYPING_MS, (options.waitMs ?? Infinity) / 2);
    let isSaid = false;
    while (state.typingPause < PAUSE_MS && performance.now() < end && options.signal?.aborted !== true) {
      if (!isSaid) options.onDelay?.("The operator is typing in the pane; the command waits for a pause.");
      isSaid = true;
      const left = Math.min(PAUSE_MS - state.typingPause, end - performance.now());
      await state.changes.until(() => state.phase !== phase, Math.max(1, left), options.signal);
    }
    return isSaid && (state.phase !== phase || options.signal?.aborted === true);
  }

  /** Waits a while for the first prompt; one from before buddy was attached is found on the screen. */
  async #firstPrompt(isUp: () => boolean): Promise<void> {
    const state = this.#state;
    // Replies and output come in order: a prompt that tmux knows and buddy does not was missed.
    const isMissed = !isUp() && (await this.#isPromptKnown()) && !isUp();
    if (!isMissed) await state.changes.until(isUp, SOON_MS);
    const seen = isMissed || isUp() ? undefined : await this.#input.look(true).catch(() => undefined);
    if (!isMissed && (seen === undefined || !this.#isReplaced(seen)))
      await state.changes.until(isUp, REPLACED_MS - SOON_MS);
    if (isUp() || state.gap.open) return;
    state.beginGap(false);
    await this.#recover(MISSED, true);
  }

  /** Whether tmux knows a prompt. False for a pane that is gone, which its state reports. */
  async #isPromptKnown(): Promise<boolean> {
    const { session } = this.#options;
    const lines = await session.ask(`display-message -p -t ${this.id} '#{pane_path}'`).catch(() => []);
    return parseRemembered(lines.join("\n"), session.key)?.kind === "prompt";
  }

  /** During a reconnect nothing can be sent, and the pane may turn out to be gone. */
  async #ensureReachable({ signal, waitMs }: RunOptions): Promise<void> {
    await this.#ensureAlive();
    const { session } = this.#options;
    if (session.connected) return;
    await within(session.settled(), waitMs ?? REACHED_MS, signal).catch(() => {});
    if (!this.#state.alive && signal?.aborted !== true) await this.#ensureAlive();
  }

  /** Recreates the pane once, however many calls find it gone. */
  #ensureAlive(): Promise<void> {
    if (this.#reviving === undefined && this.#state.alive) return Promise.resolve();
    return (this.#reviving ??= this.#revive().finally(() => (this.#reviving = undefined)));
  }

  async #revive(): Promise<void> {
    const state = this.#state;
    state.revived(await this.#options.revive());
    this.#unfollow = this.#options.session.follow(state.id, this);
    await this.#firstPrompt(() => state.phase !== "starting");
    await this.#startUp(() => state.phase !== "starting", this.#toOperator);
    const text = "The pane was gone and has been recreated: its directory, variables and running programs are lost.";
    state.tell("lost-state", text);
  }

  /** Why what is typed now may be a password. */
  async #secretInput(): Promise<string | undefined> {
    if (this.#state.current === undefined && this.#state.phase === "ready") return undefined;
    const seen = await this.#input.look(true);
    const line = seen.doing === "raw" ? await lineBeforeCursor(this.#options.session, this.id) : "";
    if (asksForPassword(seen, line, this.running)) return "a program in the pane asks for a password";
    const { current, phase } = this.#state;
    const runs = phase === "starting" || (phase === "running" && current?.clean === undefined);
    if (!runs || !mayReadSilently(seen, this.running ?? "")) return undefined;
    return "fish reads a line for a function or a script, which may be a password (read -s)";
  }

  /** Another shell than buddy's is in the foreground, after an `exec`. */
  #isReplaced(seen: ForegroundState): boolean {
    const { argv } = this.#state.shell;
    return seen.shellItself && seen.doing !== "working" && !argv.some((word) => word.endsWith(seen.program));
  }

  #noShell(): NoShell {
    const { message, hint } = this.#state.noShell;
    return new NoShell("target", message, { hint: `${hint} Or work without a pane: --no-tmux.` });
  }

  #recover(why: string, isNew = false): Promise<void> {
    return recover(this.#options.session, this.#state, this.#input, why, isNew);
  }

  #result(command: RunningCommand, outcome: RunOutcome): RunResult {
    return {
      outcome,
      output: command.recording.captured(),
      cwd: this.cwd,
      outputId: command.recording.id,
      notes: command.notes.splice(0),
    };
  }

  #notRun(outcome: RunOutcome, notes: readonly string[]): RunResult {
    const { current } = this.#state;
    return {
      outcome,
      output: NO_OUTPUT,
      cwd: this.cwd,
      ...(current === undefined ? {} : { outputId: current.recording.id }),
      notes,
    };
  }
}
