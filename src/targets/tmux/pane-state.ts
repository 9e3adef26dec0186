/** The state of a pane: the phase of its shell, the current command, what the operator did. With all transitions. */
import { shownName } from "../../lib/byte-names.ts";
import { Condition } from "../../lib/waiting.ts";
import type { OutputStore } from "../output/output-store.ts";
import type { RunOutcome, TargetNotice } from "../target.ts";
import type { PaneShell } from "./bootstrap.ts";
import { type Mark, MarkScanner } from "./markers.ts";
import type { PaneRow } from "./session-info.ts";
import type { ForegroundState } from "./probe.ts";
import { commandOnScreen, Gap, type PaneSnapshot, takeApart } from "./recover.ts";
import { RunningCommand } from "./running-command.ts";
import { isTerminalReply, OWN_SCRIPT, RECALL, SHOWN_BYTES, TypedLine, YANK } from "./typed-line.ts";
import type { TypedLines } from "./typed-keys.ts";
import { shorten } from "../../lib/text.ts";

export type ShellPhase =
  /** No mark has come yet, or a new shell is starting. */
  | "starting"
  /** A prompt is being drawn. */
  | "prompt"
  /** Keys are read. */
  | "ready"
  /** The operator is in the middle of a command of several lines. */
  | "continuation"
  | "running"
  /** No shell starts, and the pane waits for the operator. */
  | "none";

export interface PaneStateOptions {
  readonly shell: PaneShell;
  readonly cwd: string;
  readonly outputStore: OutputStore;
  /** Of the marks; changes if the session is recreated. */
  readonly key: () => string;
}

/** Effects of transitions outside of the state. */
export interface PaneEffects {
  /** A prompt came, but the shell did not accept the command. */
  sendAgain(command: RunningCommand): void;
  /** A prompt was drawn in the middle of a command: its shell may have lost buddy's hooks. */
  restoreHooks(command: RunningCommand): void;
  /** The shell waits for the rest of a line that is abandoned. */
  breakLine(): void;
  /** The line contains replies of the terminal, which the operator did not type. */
  dropAnswers(): void;
  /** The prompt is back: restore the operator's line that was set aside. */
  giveBack(line: string): void;
  notice(notice: TargetNotice): void;
}

/** A prompt without the end mark (a theme redrew it) counts as drawn after this; earlier if the pane never has one. */
const DRAWN_MS = 1000;
const DRAWN_UNMARKED_MS = 60;
/** A prompt came, but the shell did not take the line. */
const UNTAKEN_MS = 700;
const CARRIAGE_RETURN = 13;
const PLACE_QUESTION = "\u001b[6n";
/** The exit code of a line that was abandoned with Ctrl-C. */
const INTERRUPTED = 130;
/** Nothing else ends the shell, and its message goes to the terminal. */
const EXITS = /^(?!.*(?:\b(?:exec|kill)\b|2>|&>)).*\bexit\b/s;
/** What bash prints for `exit`, and the supervisor then. */
const FAREWELL = "exit\r\n\u001b[?1049l\u001b[?25h\u001b[0m";
/** How many prompts in the middle of a command, printed or real, are checked. */
const MAX_UNMARKED = 20;
const MAX_UNKNOWN = 20;
const MAX_PROMPT = 64 * 1024;
/** What the model has not been told yet: the last of it is what counts. */
const MAX_ASIDES = 50;

const FIX_HINT = "The pane shows the exit code; the operator can fix the cause and press Enter in the pane.";
const READ_ONLY =
  "The start-up files make the variables of the prompt read-only: the pane has the variables they export, not their aliases and functions.";
const SKIPPED = "the pane runs without its start-up files. The operator can fix them and type exit in the pane.";
const DISCARDED = "The operator had started to type a command of several lines; it was discarded.";
const INCOMPLETE = "An unclosed quote, bracket, block or here-document; nothing was run.";

export class PaneState {
  readonly changes = new Condition();
  /** In columns. */
  width: number;
  readonly gap = new Gap();
  readonly #options: PaneStateOptions;
  readonly #effects: PaneEffects;
  #row: PaneRow;
  #scanner: MarkScanner;
  #alive = true;
  #phase: ShellPhase = "starting";
  #cwd: string;
  #promptId = 0;
  /** Prompts after something else than a command that runs automatically; the first one counts, too. */
  #ownPrompts = 0;
  #editor: boolean;
  #unsure = false;
  #operatorCommand: string | undefined;
  #current: RunningCommand | undefined;
  #last: RunningCommand | undefined;
  #asides: string[] = [];
  /** Lost before a mark showed that their shell had them: they may still run. */
  #unknown: RunningCommand[] = [];
  /** What the model left in the line at this prompt, and whether it pressed any keys. */
  #modelLine = "";
  #modelTyped = false;
  /** Its keys changed the line in a way that only the screen shows. */
  #modelEdited = false;
  /** Lines that the model's keys entered and whose end was not seen yet; "" where only the screen shows the text. */
  #modelLines: string[] = [];
  /** The operator's line that was set aside for a command, and the one that was restored. */
  #aside = "";
  /** The key that restores it, if the screen does not show all of it. */
  #asideBack: typeof YANK | typeof RECALL | undefined;
  #givenBack = "";
  #typedAt = 0;
  #typed = new TypedLine();
  /** The bytes of the prompt so far; undefined once it is drawn. */
  #drawing: Buffer[] | undefined;
  #drawnBytes = 0;
  #prompt = Buffer.alloc(0);
  /** The last command sent a query to the terminal: replies that it did not read are in the line. */
  #answers = false;
  /** The shell asks for the position of the cursor after each prompt, as busybox does. */
  #asksPlace = false;
  /** The shell gave up a command of several lines for the current one. */
  #gaveUpLines = false;
  /** Ctrl-C was pressed at a line that the shell has not abandoned yet. */
  #breaking = false;
  /** A prompt was drawn since the current command was sent. */
  #promptSeen = false;
  /** It was reported that the shell runs without its start-up files. */
  #skipped = false;
  #drawnTimer: ReturnType<typeof setTimeout> | undefined;
  #untakenTimer: ReturnType<typeof setTimeout> | undefined;
  #drawnMs = DRAWN_MS;

  constructor(row: PaneRow, options: PaneStateOptions, effects: PaneEffects) {
    this.#row = row;
    this.#options = options;
    this.#effects = effects;
    this.#cwd = options.cwd;
    this.width = row.width;
    this.#editor = this.shell.kind !== "sh";
    this.#scanner = this.#newScanner();
  }

  get shell(): PaneShell {
    return this.#row.shell ?? this.#options.shell;
  }

  get row(): PaneRow {
    return this.#row;
  }

  get id(): string {
    return this.#row.id;
  }

  get alive(): boolean {
    return this.#alive;
  }

  get phase(): ShellPhase {
    return this.#phase;
  }

  get cwd(): string {
    return this.#cwd;
  }

  /** Number in the last visible prompt. */
  get promptId(): number {
    return this.#promptId;
  }

  get ownPrompts(): number {
    return this.#ownPrompts;
  }

  /** The shell takes lines from buddy's key; otherwise they are typed. */
  get editor(): boolean {
    return this.#editor;
  }

  /** A line was entered without a start mark: in shells without hooks only a look at the foreground shows what runs. */
  get unsure(): boolean {
    return this.#unsure;
  }

  /** The text in the line at the prompt. Trailing blanks are known only for what the model typed. */
  get typed(): string {
    if (this.#phase === "running") return "";
    const shown = this.#phase === "ready" ? this.#typed.text() : "";
    return !this.#modelEdited && this.#modelLine.trim().startsWith(shown) ? this.#modelLine : shown;
  }

  /** How long the operator has paused in a half-typed line or command; infinite if there is none. */
  get typingPause(): number {
    if (this.#phase === "continuation") return performance.now() - this.#typedAt;
    if (this.#phase !== "ready") return Number.POSITIVE_INFINITY;
    const line = this.#operators(this.#typed.text());
    if (line === "" || line === this.#givenBack) return Number.POSITIVE_INFINITY;
    return performance.now() - this.#typedAt;
  }

  /** busybox shows many characters as `?`: what such a line contains is only in the shell. */
  get hidesLine(): boolean {
    return this.#asksPlace && !this.#editor && this.typed.includes("?");
  }

  get current(): RunningCommand | undefined {
    return this.#current;
  }

  /** The command before the current one, or the last one that has ended. */
  get last(): RunningCommand | undefined {
    return this.#last;
  }

  /** The operator's command in the foreground. */
  get operatorCommand(): string | undefined {
    return this.#operatorCommand;
  }

  /** Why there is no shell in the pane. */
  get noShell(): { readonly message: string; readonly hint: string } {
    const { name } = this.shell;
    return { message: `${name} does not start in the pane: it ends before its first prompt`, hint: FIX_HINT };
  }

  /** From the stream of the pane. */
  feed(bytes: Buffer): void {
    this.#scanner.feed(bytes);
  }

  /**
   * The stream has a gap here. `dropped`: the connection dropped, so a command that was being sent may be lost, too.
   */
  beginGap(dropped: boolean): void {
    this.gap.begin(dropped && this.#current?.phase === "sent" ? this.#current : undefined);
    this.#scanner = this.#newScanner();
    if (dropped) this.stop();
  }

  /** The screen was read: the stream is complete from here on. */
  endGap(snapshot: PaneSnapshot, why: string): void {
    const { marks: heard, unfinished } = this.gap.end();
    const { marks, ended } = takeApart(this.#current, snapshot, heard, why);
    if (ended !== undefined) this.finish(ended);
    const { mark: last } = snapshot;
    if (last?.kind === "started") {
      this.#cwd = snapshot.cwd || this.#cwd;
      if (this.#current === undefined && last.tag !== 0) this.#followCommand(last, snapshot);
    }
    for (const one of marks) {
      this.#mark(one);
      if (one === last && one.kind === "prompt") this.#mark({ kind: "ready" });
    }
    // What was typed during the gap is unknown.
    this.#operatorCommand ||= undefined;
    if (unfinished.length > 0) this.#text(unfinished);
    this.changes.changed();
  }

  /** Sets the phase from a look at the foreground, if there was no mark. */
  lookedAt(seen: ForegroundState): void {
    if (this.#phase === "starting") this.#phase = seen.shellItself && seen.doing !== "working" ? "ready" : "running";
  }

  /** The command is about to be sent. */
  sending(command: RunningCommand): void {
    command.promptId = this.#promptId;
    if (this.shell.kind === "bash" && EXITS.test(command.text)) command.farewell = FAREWELL;
    command.notes.push(...this.#asides.splice(0));
    this.#current = command;
    this.#promptSeen = false;
    this.#breaking = false;
    this.#gaveUpLines = false;
    if (!this.#editor) {
      const { hidesLine } = this;
      const line = this.#typed.text();
      command.setAside(this.#takeAside(line));
      const isYanked = this.#typed.isScrolled || (this.shell.name.endsWith("ksh") && SHOWN_BYTES.test(line));
      this.#asideBack = hidesLine ? RECALL : isYanked ? YANK : undefined;
      this.#typed = new TypedLine();
    }
  }

  /** It was not taken and is sent once more; `typed`: without the shell's line editor. */
  sendingAgain(typed: boolean): void {
    this.#promptSeen = false;
    if (typed) this.#editor = false;
  }

  /** A shell without an editor did not take the command: the text on the screen may not be a typed line. */
  forgetAside(command: RunningCommand): void {
    if (this.#editor) return;
    this.#aside = "";
    command.forgetAside();
  }

  /** It was not taken and never will be. */
  withdrawn(command: RunningCommand, outcome?: RunOutcome): void {
    if (this.#current === command) this.#current = undefined;
    if (outcome === undefined) return;
    this.#last = command;
    command.finish(outcome);
  }

  finish(outcome: RunOutcome): void {
    const command = this.#current;
    if (command === undefined) return;
    this.#current = undefined;
    this.#last = command;
    this.#modelLines = [];
    this.#answers = command.recording.asked;
    if (outcome.kind === "lost" && outcome.notRun !== true && !command.wasTaken) {
      this.#unknown.push(command);
      if (this.#unknown.length > MAX_UNKNOWN) this.#unknown.shift();
    }
    command.finish(outcome);
  }

  /** The model's keys are about to be pressed. */
  keysPressed({ lines, rest, unknown }: TypedLines): void {
    if (this.#current !== undefined) {
      this.#current.lastActivity = performance.now();
      this.#current.touchedAt = performance.now();
      return;
    }
    if (!this.#editor) this.#unsure = true;
    this.#modelLine = rest;
    this.#modelEdited = unknown !== undefined;
    this.#modelTyped = true;
    this.#modelLines.push(...lines.map((line) => (unknown === undefined ? line.trim() : "")));
  }

  /** A look showed that the shell itself is in the foreground. */
  sure(): void {
    this.#unsure = false;
  }

  /** A half-typed command of several lines is abandoned for one of buddy. */
  discardLines(): void {
    this.#aboutNext(DISCARDED);
  }

  /** Ctrl-C is being pressed at a line: the state is unknown until the next prompt. */
  breaking(): void {
    this.#phase = "running";
    this.#breaking = true;
    this.#typed = new TypedLine();
  }

  /** The shell ignores Ctrl-C: it is still at its line. */
  notBroken(): void {
    if (this.#phase !== "running" || !this.#breaking) return;
    this.#phase = "ready";
    this.changes.changed();
  }

  /** The shell took the line but does not run it: that is the outcome, and the line is abandoned. */
  incomplete(): void {
    if (this.#current?.phase !== "taken") return;
    // fish reports it before it runs anything and clears the line; the others are at their second prompt.
    if (this.shell.kind === "fish") this.#phase = "ready";
    else this.#effects.breakLine();
    this.finish({ kind: "incomplete", hint: INCOMPLETE });
    this.changes.changed();
  }

  /** fish did not respond at all: the line is abandoned with Ctrl-C there, too. */
  abandonLine(): void {
    if (this.#current?.phase !== "taken") return;
    this.#effects.breakLine();
    this.finish({ kind: "incomplete", hint: INCOMPLETE });
  }

  /** The pane no longer exists, or cannot be reached again. */
  gone(why: string): void {
    this.#alive = false;
    this.gap.forget();
    this.#restart();
    this.finish({ kind: "lost", why });
    this.changes.changed();
  }

  /** Another pane replaced it. */
  revived(row: PaneRow): void {
    this.#row = row;
    this.width = row.width;
    this.#alive = true;
    this.#skipped = false;
    this.#editor = this.shell.kind !== "sh";
    this.#scanner = this.#newScanner();
  }

  /** Stops all timers. */
  stop(): void {
    clearTimeout(this.#drawnTimer);
    clearTimeout(this.#untakenTimer);
  }

  /** Reports to the operator, and to the model with its next command. */
  tell(kind: "warning" | "lost-state", text: string): void {
    this.#aboutNext(text);
    this.#effects.notice({ kind, text });
  }

  /** For the model, with the result of the current or next command. */
  #aboutNow(text: string): void {
    const notes = this.#current?.notes ?? this.#asides;
    notes.push(text);
    if (notes.length > MAX_ASIDES) notes.shift();
  }

  #aboutNext(text: string): void {
    this.#asides.push(text);
    if (this.#asides.length > MAX_ASIDES) this.#asides.shift();
  }

  /** From its mark, or from what tmux remembers if that was missed. Reported once for each shell. */
  startUpSkipped(code: number | undefined): void {
    if (this.#skipped) return;
    this.#skipped = true;
    const ended = `${this.shell.name} ended before its first prompt (exit code ${code}): ${SKIPPED}`;
    this.tell("warning", code === undefined ? READ_ONLY : ended);
  }

  #newScanner(): MarkScanner {
    return new MarkScanner(
      this.#options.key(),
      (bytes) => this.#text(bytes),
      (mark) => this.#mark(mark),
    );
  }

  #text(bytes: Buffer): void {
    if (this.gap.open) {
      this.gap.passText(bytes);
      if (this.#current !== undefined) this.#current.lastActivity = performance.now();
      return;
    }
    this.#current?.output(bytes);
    this.#draw(bytes);
    if (!this.#editor && this.#current === undefined && bytes.includes(PLACE_QUESTION)) this.#placeAsked();
    if (this.#phase === "continuation") this.#typedAt = performance.now();
    if (this.#phase !== "ready") return;
    this.#typed.write(bytes);
    // A prompt that redraws itself (an asynchronous theme) begins with a carriage return; fish does so for every key.
    if (!bytes.includes(CARRIAGE_RETURN) || this.shell.kind === "fish") this.#typedAt = performance.now();
    if (!this.#editor && bytes.includes(10)) this.#unsure = true;
  }

  /** A prompt; a program can print its mark and then anything. */
  #draw(bytes: Buffer): void {
    if (this.#drawing === undefined || this.#drawnBytes > MAX_PROMPT) return;
    this.#drawing.push(Buffer.from(bytes));
    this.#drawnBytes += bytes.length + 1;
  }

  /** tmux has replied: the reply precedes what is typed from now on, so no command reads it. */
  #placeAsked(): void {
    this.#asksPlace = true;
    if (this.#phase !== "prompt") return;
    this.#drawn();
    this.changes.changed();
  }

  #mark(mark: Mark): void {
    if (this.gap.open) return this.gap.keepMark(mark);
    const command = this.#current;
    const ours = command !== undefined && "tag" in mark && mark.tag === command.tag;
    switch (mark.kind) {
      case "prompt":
        // Not the end of the current command: printed by a program that read the key.
        if (command?.phase === "started" && !ours) return;
        this.#editor = this.shell.kind !== "sh" && mark.typed !== true;
        if (mark.plain === true) this.startUpSkipped(undefined);
        this.#drawing = [];
        this.#drawnBytes = 0;
        // The same prompt, redrawn by the editor of mksh or busybox: nothing has run since.
        if (this.#phase === "ready" && mark.id === this.#promptId) {
          this.#typed = new TypedLine();
          break;
        }
        this.#promptBegins(mark.id, mark.cwd);
        if (ours) this.finish({ kind: "exited", code: command.code ?? mark.code });
        else this.#operatorRan(mark.code);
        break;
      case "ready":
        this.#drawnMs = DRAWN_MS;
        if (this.#phase === "running" && (this.#breaking || this.#isWithoutHooks())) break;
        if (this.#phase === "prompt" && this.#asksPlace) this.#drawnWithin(DRAWN_UNMARKED_MS);
        else this.#drawn();
        break;
      case "taken":
        if (ours) {
          // Not before: a line that was entered just now may still be drawn.
          this.#typed = new TypedLine();
          if (this.#gaveUpLines && mark.aside === "") command.note(DISCARDED);
          this.#gaveUpLines = false;
          command.taken(this.#takeAside(mark.aside));
        } else if (mark.tag !== 0) this.#startsLate(mark.tag);
        else if (command?.phase === "sent" && command.attempts === 0) {
          this.#gaveUpLines = true;
          this.#effects.sendAgain(command);
        } else if (command === undefined) {
          this.notBroken();
          this.#breaking = false;
        }
        break;
      case "started":
        this.#phase = "running";
        if (ours) command.started(mark.greets);
        else this.#operatorCommand = mark.line ?? this.#typed.text();
        break;
      case "shown":
        if (ours) command.outputBegins();
        break;
      case "ended":
        if (ours) command.freeze(mark.code);
        break;
      case "incomplete":
        if (command?.phase === "taken") this.incomplete();
        else if (this.#phase !== "running") {
          this.#phase = "continuation";
          this.#typedAt = performance.now();
        }
        break;
      case "shell-ended":
        this.#skipped = false;
        this.#restart();
        this.#cwd = mark.cwd || this.#cwd;
        this.#shellEnded(mark.code);
        break;
      case "start-up-skipped":
        this.startUpSkipped(mark.code);
        break;
      case "gave-up":
        this.#restart();
        this.#phase = "none";
        this.finish({ kind: "lost", why: `${this.noShell.message}. ${FIX_HINT}` });
        break;
    }
    this.changes.changed();
  }

  #promptBegins(id: number, cwd: string): void {
    if (this.#current?.clean === undefined || this.#current.phase === "sent") this.#ownPrompts++;
    this.#promptSeen = true;
    this.#modelLine = "";
    this.#modelEdited = false;
    // At a prompt no command can have changed the directory: such a mark was printed by another program. Shells without
    // an editor report no start.
    if (this.#phase !== "ready" || !this.#editor) this.#cwd = cwd || this.#cwd;
    this.#phase = "prompt";
    this.#unsure = false;
    this.#promptId = id;
    this.#drawnWithin(this.#drawnMs, true);
  }

  #drawnWithin(ms: number, isUnmarked = false): void {
    clearTimeout(this.#drawnTimer);
    this.#drawnTimer = setTimeout(() => {
      if (isUnmarked) this.#drawnMs = DRAWN_UNMARKED_MS;
      this.#drawn();
      this.changes.changed();
    }, ms);
  }

  #drawn(): void {
    clearTimeout(this.#drawnTimer);
    this.#phase = "ready";
    if (this.#drawing !== undefined) this.#prompt = Buffer.concat(this.#drawing);
    this.#drawing = undefined;
    this.#typed = new TypedLine({
      prompt: this.#prompt,
      width: () => this.width,
      isOneRow: !this.#editor,
    });
    const command = this.#current;
    if (command === undefined && this.#answers) {
      this.#answers = false;
      this.#effects.dropAnswers();
      return;
    }
    if (command === undefined && this.#aside !== "") {
      this.#givenBack = this.#aside.trim();
      this.#effects.giveBack(this.#asideBack ?? this.#aside);
      this.#aside = "";
    }
    if (command?.phase !== "sent" || !this.#promptSeen) return;
    clearTimeout(this.#untakenTimer);
    this.#untakenTimer = setTimeout(() => this.#effects.sendAgain(command), UNTAKEN_MS);
  }

  /**
   * A prompt in the middle of a command that removed the hooks, or just printed it. True: it still counts as running.
   */
  #isWithoutHooks(): boolean {
    const command = this.#current;
    if (command?.phase !== "started" || !this.#editor) return false;
    if (++command.promptsWithoutMark > MAX_UNMARKED) {
      this.finish({ kind: "lost", why: "the shell shows a prompt, but no longer reports how commands end" });
      return false;
    }
    this.#effects.restoreHooks(command);
    return true;
  }

  /** A new shell is starting. */
  #restart(): void {
    this.stop();
    this.#phase = "starting";
    this.#unsure = false;
    this.#operatorCommand = undefined;
    this.#typed = new TypedLine();
  }

  #shellEnded(code: number): void {
    const command = this.#current;
    const text = `The shell in the pane ended (exit code ${code}); a new one was started in ${shownName(this.#cwd)}: variables, functions and aliases are lost.`;
    if (command === undefined) return this.tell("lost-state", text);
    command.notes.push(text);
    // A command that was not taken yet runs in the new shell.
    if (command.phase !== "sent") this.finish({ kind: "shell-ended", code });
  }

  /** "" if the model left the line, or if it is a reply of the terminal: then it is not the operator's. */
  #operators(line: string): string {
    return this.#modelEdited || line.trim() === this.#modelLine.trim() || isTerminalReply(line) ? "" : line;
  }

  /** Keeps the line that is set aside; returns what the model does not know of it. */
  #takeAside(line: string): string {
    this.#aside = this.#operators(line).trim() === "" ? "" : line;
    return line.trim() === this.#givenBack ? "" : this.#operators(line);
  }

  #operatorRan(code: number): void {
    if (this.#breaking) {
      // With another code the prompt was redrawn for keys before the Ctrl-C.
      this.#breaking = !this.#editor && code !== INTERRUPTED;
      return;
    }
    // Without an editor, the screen shows lines that were typed ahead in another place.
    const entered = () => this.#modelLines[0] || this.#typed.entered();
    const command = (this.#operatorCommand ?? (this.#editor ? "" : entered())).trim();
    this.#operatorCommand = undefined;
    const known = this.#modelLines.indexOf(command);
    const at = known < 0 ? this.#modelLines.indexOf("") : known;
    const byModel = this.#modelTyped || at >= 0;
    this.#modelTyped = false;
    this.#modelLines = at < 0 ? [] : this.#modelLines.slice(at + 1);
    // mksh draws its prompt again over what was edited.
    const isUnseen = command === "" && at >= 0;
    if (!isUnseen && (command === "" || isTerminalReply(command) || OWN_SCRIPT.test(command))) return;
    if (byModel) {
      const line = isUnseen ? "A line" : JSON.stringify(named(command));
      const text = `${line}, typed with send-keys, ended with exit code ${code}.`;
      this.#aboutNow(text);
      return;
    }
    const text = `The operator ran ${JSON.stringify(named(command))} in the pane (exit code ${code}).`;
    this.#aboutNow(text);
    this.#effects.notice({ kind: "operator", text });
  }

  /** A command whose end was reported as unknown: its shell takes it only now. */
  #startsLate(tag: number): void {
    const lost = this.#unknown.find((command) => command.tag === tag);
    if (lost === undefined) return;
    this.#unknown = this.#unknown.filter((command) => command !== lost);
    this.tell("warning", `A command that was reported as lost runs in the pane now: ${named(lost.shown ?? lost.text)}`);
    if (this.#current !== undefined) return;
    const options = lost.shown === undefined ? {} : { shown: lost.shown };
    const command = new RunningCommand(tag, lost.text, this.#options.outputStore.open(), options, false, lost.clean);
    command.delivered({ shown: lost.isShown, shownLines: lost.shownLines });
    command.promptId = this.#promptId;
    this.#current = command;
    command.taken("");
  }

  #followCommand(mark: Mark & { kind: "started" }, snapshot: PaneSnapshot): void {
    this.#current = commandOnScreen(mark, snapshot, this.#options.outputStore);
    const text = `An earlier command still runs in the pane: ${named(this.#current.shown ?? this.#current.text)}`;
    this.#effects.notice({ kind: "info", text });
  }
}

/** A command, shortened for a message. */
export function named(command: string): string {
  return shorten(command, 200);
}
