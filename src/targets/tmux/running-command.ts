/** One command that buddy sent to a pane, from the keys to its end. */
import type { CleanRun, Delivery } from "./delivery.ts";
import type { RunOptions, RunOutcome } from "../target.ts";
import { Recording } from "../output/recording.ts";
import type { StoredOutput } from "../output/stored-output.ts";

/** Text between taking and starting is kept up to this size: after a syntax error there is no other. */
const MAX_BEFORE = 64 * 1024;

export class RunningCommand {
  /** In its marks. A new one for another way of delivery, when it is certain that the one before was not taken. */
  tag: number;
  /** The file of whoever decides about it: its shell takes it, or buddy withdraws it. */
  claim = "";
  readonly text: string;
  /** Runs it as a clean child, without approval. */
  readonly clean: CleanRun | undefined;
  /** The text without its secrets, if it has any. */
  readonly shown: string | undefined;
  readonly recording: Recording;
  readonly notes: string[] = [];
  readonly ended: Promise<RunOutcome>;
  /** Resolves when the shell has taken the line. */
  readonly begun = Promise.withResolvers<void>();
  phase: "sent" | "taken" | "started" | "over" = "sent";
  /** A mark has shown that its shell has it. */
  wasTaken = false;
  outcome: RunOutcome | undefined;
  /** Its exit code, if that was reported before the prompt. */
  code: number | undefined;
  /** Why tmux did not deliver it. */
  refusal: string | undefined;
  /** Deliveries that the shell did not take. */
  attempts = 0;
  /** Number in the visible prompt where it was entered. */
  promptId = 0;
  /** Lines of its text below that prompt. */
  shownLines = 0;
  /** Prompts that were drawn while it ran, without a mark of its end. */
  promptsWithoutMark = 0;
  /** When it was sent, or keys were last pressed for it. */
  touchedAt = performance.now();
  lastActivity = performance.now();
  /** What is printed after its output when it ends its shell: a line, and more. */
  farewell = "";
  /** What may be the beginning of that line: written once something else follows. */
  #held = "";
  /** Output begins after the text that is shown to the operator. */
  #shown: boolean;
  readonly #finish: (outcome: RunOutcome) => void;
  #before: Buffer[] = [];
  #beforeBytes = 0;
  #open = false;
  /** Marks still to come before output begins. */
  #hidden = 0;
  #frozen = false;
  /** The note about a line that was set aside. */
  #aside = "";

  constructor(tag: number, text: string, stored: StoredOutput, options: RunOptions, shown: boolean, clean?: CleanRun) {
    this.tag = tag;
    this.clean = clean;
    this.text = text;
    this.shown = options.shown;
    this.#shown = shown;
    this.recording = new Recording(stored, options, "stdout");
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    this.ended = promise;
    this.#finish = resolve;
  }

  /** How it was sent, which may differ from an earlier attempt. */
  delivered({ shown, shownLines }: Pick<Delivery, "shown" | "shownLines">): void {
    this.#shown = shown;
    this.shownLines = shownLines;
  }

  get isShown(): boolean {
    return this.#shown;
  }

  output(bytes: Buffer): void {
    this.lastActivity = performance.now();
    if (this.#frozen || this.phase === "sent") return;
    if (this.#open) return this.#record(bytes);
    if (this.#beforeBytes > MAX_BEFORE) return;
    this.#before.push(Buffer.from(bytes));
    this.#beforeBytes += bytes.length;
  }

  #record(bytes: Buffer): void {
    if (this.farewell === "") return this.recording.write(bytes);
    const text = this.#held + bytes.toString("latin1");
    const line = this.farewell.slice(0, this.farewell.indexOf("\n") + 1);
    const starts = [text.lastIndexOf(line), text.lastIndexOf(line.slice(0, 1))];
    const start = starts.find((at) => at >= 0 && this.farewell.startsWith(text.slice(at))) ?? text.length;
    this.#held = text.slice(start);
    this.recording.write(Buffer.from(text.slice(0, start), "latin1"));
  }

  /** Adds the note only once. */
  note(text: string): void {
    if (!this.notes.includes(text)) this.notes.push(text);
  }

  taken(aside: string): void {
    this.phase = "taken";
    this.wasTaken = true;
    this.setAside(aside);
    this.begun.resolve();
  }

  /** What the operator had typed when the command was sent. */
  setAside(line: string): void {
    if (line.trim() === "") return;
    this.#aside = `The operator had typed ${JSON.stringify(line)} without running it; it was set aside and restored.`;
    this.note(this.#aside);
  }

  forgetAside(): void {
    const at = this.notes.indexOf(this.#aside);
    if (at >= 0) this.notes.splice(at, 1);
  }

  started(greets = false): void {
    this.phase = "started";
    this.wasTaken = true;
    this.#before = [];
    this.#beforeBytes = 0;
    this.#hidden = Number(this.#shown) + Number(greets);
    if (this.#hidden === 0) this.#open = true;
    this.begun.resolve();
  }

  outputBegins(): void {
    this.#before = [];
    if (--this.#hidden <= 0) this.#open = true;
  }

  /** What follows is output of the shell, not of the command; the first reported code is the command's. */
  freeze(code: number): void {
    this.#frozen = true;
    this.code ??= code;
  }

  finish(outcome: RunOutcome): void {
    if (this.outcome !== undefined) return;
    if (!this.#open) this.#keepBefore();
    if (outcome.kind !== "shell-ended") this.recording.write(Buffer.from(this.#held, "latin1"));
    this.phase = "over";
    this.outcome = outcome;
    this.recording.end();
    this.begun.resolve();
    this.#finish(outcome);
  }

  /** It never started: the text after the line is the error message of the shell. */
  #keepBefore(): void {
    const all = Buffer.concat(this.#before);
    const line = all.indexOf(10);
    if (line >= 0) this.recording.write(all.subarray(line + 1));
  }
}
