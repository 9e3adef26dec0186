/** What the shell in a pane is at, and what the operator does in it, as its marks tell. */
import { Condition } from "./condition.ts";
import type { Mark } from "./markers.ts";
import { TypedLine } from "./typed-line.ts";

export type ShellPhase =
  /** No mark has come yet, or a new shell is coming up. */
  | "starting"
  /** A prompt is being drawn. */
  | "prompt"
  /** Keys are read. */
  | "ready"
  /** The operator is in the middle of a command of several lines. */
  | "continuation"
  | "running"
  /** None comes up, and the pane waits for the operator. */
  | "none";

export interface ShellEvents {
  /** The prompt is drawn. */
  ready(): void;
  /** A prompt was drawn in the middle of a command. True: that is looked into, the command still counts as running. */
  promptWithoutMark(): boolean;
  operatorRan(command: string, code: number): void;
}

/** A prompt without the end mark (a theme redrew it) counts as drawn after this; sooner when the pane never shows the mark. */
const DRAWN_MS = 1000;
const DRAWN_UNMARKED_MS = 60;

export class ShellState {
  readonly changes = new Condition();
  phase: ShellPhase = "starting";
  cwd: string;
  /** Number in the last visible prompt. */
  promptId = 0;
  /** The shell takes lines from buddy's key; otherwise they are typed. */
  editor: boolean;
  /** A line was entered that no start mark followed: in shells without hooks only a look tells what runs. */
  unsure = false;
  /** What runs in the foreground, when it is the operator's. */
  operatorCommand: string | undefined;
  readonly #events: ShellEvents;
  #typed = new TypedLine();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #drawnMs = DRAWN_MS;

  constructor(cwd: string, editor: boolean, events: ShellEvents) {
    this.cwd = cwd;
    this.editor = editor;
    this.#events = events;
  }

  /** What the operator has typed at the prompt so far, as the screen shows it. */
  get typed(): string {
    return this.#typed.text();
  }

  text(bytes: Buffer): void {
    if (this.phase !== "ready") return;
    this.#typed.write(bytes);
    if (!this.editor && bytes.includes(10)) this.unsure = true;
  }

  /** `ours`: the mark belongs to the command that buddy sent. */
  mark(mark: Mark, ours: boolean): void {
    switch (mark.kind) {
      case "prompt":
        this.#prompt(mark.id, mark.cwd);
        if (!ours) this.#tellOperator(mark.code);
        break;
      case "ready":
        this.#drawnMs = DRAWN_MS;
        if (this.phase !== "running" || !this.#events.promptWithoutMark()) this.#drawn();
        break;
      case "started":
        this.phase = "running";
        if (!ours) this.operatorCommand = this.#typed.text();
        break;
      case "incomplete":
        if (this.phase !== "running") this.phase = "continuation";
        break;
      case "no-editor":
        this.editor = false;
        break;
      case "shell-ended":
        this.restart();
        break;
      case "gave-up":
        this.restart();
        this.phase = "none";
        break;
      case "taken":
      case "start-up-skipped":
      case "shown":
      case "ended":
        break;
    }
    this.changes.changed();
  }

  /** A new shell comes up. */
  restart(): void {
    clearTimeout(this.#timer);
    this.phase = "starting";
    this.unsure = false;
    this.operatorCommand = undefined;
    this.forgetLine();
  }

  forgetLine(): void {
    this.#typed = new TypedLine();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #prompt(id: number, cwd: string): void {
    this.cwd = cwd || this.cwd;
    this.phase = "prompt";
    this.unsure = false;
    this.promptId = id;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#drawnMs = DRAWN_UNMARKED_MS;
      this.#drawn();
      this.changes.changed();
    }, this.#drawnMs);
  }

  #drawn(): void {
    clearTimeout(this.#timer);
    this.phase = "ready";
    this.forgetLine();
    this.#events.ready();
  }

  #tellOperator(code: number): void {
    const command = (this.operatorCommand ?? (this.editor ? "" : this.#typed.firstLine())).trim();
    this.operatorCommand = undefined;
    if (command !== "") this.#events.operatorRan(command, code);
  }
}
