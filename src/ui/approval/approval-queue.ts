/**
 * Where questions wait for the operator: one at a time, and a key that was meant for something else never answers one.
 */
import { AnsweredElsewhere } from "../../agent/events.ts";
import type { ApprovalAnswer, ApprovalRequest, Asker } from "../../policy/approvals.ts";
import { ApprovalPrompt } from "./approval-prompt.ts";
import { COMMAND_FIRST } from "./question-text.ts";
import { key, type KeyInput, type TerminalInput } from "../terminal/keys.ts";
import type { Theme } from "../theme.ts";

export class ApprovalQueue implements Asker {
  readonly #style: Theme;
  readonly #listener: QueueListener;
  #waiting: ApprovalPrompt[] = [];
  /**
   * `hidden`: keys that are in the process already were pressed before the question and belong to the line.
   * `waiting`: the operator is in the middle of a word. `ready`: the next frame shows the question. `armed`: it has,
   * and gets the keys. `aside`: the operator went to the line, to type a command first.
   */
  #state: "hidden" | "waiting" | "ready" | "armed" | "aside" = "hidden";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #strokes: number[] = [];
  /** An answer was just given: what remains of its word, and how much of that was typed since. */
  #habit: { readonly rest: string; readonly typed: string; readonly at: number } | undefined;
  #looking: ReturnType<typeof setTimeout> | undefined;
  #behind: (() => number) | undefined;

  constructor(style: Theme, listener: QueueListener) {
    this.#style = style;
    this.#listener = listener;
  }

  get current(): ApprovalPrompt | undefined {
    return this.#waiting[0];
  }

  /** Questions behind the current one. */
  get behind(): number {
    return Math.max(this.#waiting.length - 1, this.#behind?.() ?? 0, 0);
  }

  /** The question is being asked: it has taken the place of the input line. */
  get asks(): boolean {
    return this.#waiting.length > 0 && (this.#state === "ready" || this.#state === "armed");
  }

  /** The question stays above the line until the keys rest, or the operator comes back to it. */
  get holdsBack(): boolean {
    return this.#waiting.length > 0 && (this.#state === "waiting" || this.#state === "aside");
  }

  /** The line is used for a command while the question waits. */
  get aside(): boolean {
    return this.#waiting.length > 0 && this.#state === "aside";
  }

  /** Back to the question. */
  resume(): void {
    if (this.#state !== "aside") return;
    this.#state = "ready";
    this.#listener.changed();
  }

  ask(request: ApprovalRequest, signal: AbortSignal, behind: () => number): Promise<ApprovalAnswer> {
    this.#behind = behind;
    const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
    if (signal.aborted) return Promise.resolve({ kind: "cancelled" });
    const done = (answer: ApprovalAnswer): void => {
      signal.removeEventListener("abort", cancelled);
      const first = this.#waiting[0] === prompt;
      this.#waiting = this.#waiting.filter((other) => other !== prompt);
      if (first) this.#hide();
      const rest = answer.kind === "yes" && answer.typed === undefined ? "es" : answer.kind === "always" ? "lways" : "";
      this.#habit = answer.kind === "cancelled" ? undefined : { rest, typed: "", at: Date.now() };
      const other = signal.reason instanceof AnsweredElsewhere ? signal.reason : undefined;
      this.#listener.answered(request, other?.answer ?? answer, other?.by);
      resolve(answer);
      if (first && this.#waiting.length > 0) this.#present();
    };
    const cancelled = (): void => done({ kind: "cancelled" });
    const prompt = new ApprovalPrompt(request, this.#style, {
      answer: done,
      view: (document) => this.#listener.view(document),
      editOutside: (text) => this.#listener.editOutside(text),
      changed: () => this.#listener.changed(),
      leave: () => this.#leave(),
      otherKeys: ["Esc  go to the input line; Esc again comes back", COMMAND_FIRST, "Ctrl-C  no, without a reason"],
    });
    signal.addEventListener("abort", cancelled);
    this.#waiting.push(prompt);
    if (this.#waiting.length === 1) this.#present();
    return promise;
  }

  /** The terminal is gone: nothing can be answered any more. */
  close(): void {
    for (const prompt of this.#waiting.slice()) prompt.giveUp();
  }

  /** A frame with the whole question has left for the terminal. */
  painted(): void {
    if (this.#state === "ready") this.#state = "armed";
    if (this.#state !== "armed") return;
    this.current?.shown();
    this.#lookLater();
  }

  /** Every chunk of input passes here first; keys that count are handled and removed. */
  take(inputs: readonly TerminalInput[]): readonly TerminalInput[] {
    const now = Date.now();
    if (inputs.length === 1 && inputs[0]!.kind === "key") this.#strokes = [...this.#strokes.slice(-STROKES), now];
    const prompt = this.current;
    if (prompt === undefined || this.#state !== "armed") {
      if (this.#state === "waiting") this.#after(QUIET_MS);
      return this.#withoutEnter(inputs, now);
    }
    const typed = inputs.filter(({ kind }) => kind === "key" || kind === "paste");
    const others = inputs.filter(({ kind }) => kind !== "key" && kind !== "paste");
    if (typed.length === 0) return others;
    const [first] = typed;
    if (prompt.choosing && first?.kind === "key" && isCharacter(first) && first.name === "/") {
      this.#leave();
      this.#listener.aside();
      return inputs;
    }
    const rest = prompt.take(typed);
    this.#lookLater();
    if (this.current !== prompt) return [...others, ...this.#withoutEnter(rest, now)];
    // They go to the line, but send nothing from there; pasted text is dropped.
    const letters = rest.filter((input) => input.kind === "key" && input.name !== "enter");
    return [...others, ...(letters.length === 0 ? [] : this.#backToLine(letters))];
  }

  #leave(): void {
    this.#state = "aside";
    this.current?.hidden();
  }

  #lookLater(): void {
    clearTimeout(this.#looking);
    const { due } = this.current ?? {};
    if (due === undefined || this.#state !== "armed") return;
    this.#looking = setTimeout(() => this.#look(), Math.max(0, due - Date.now()));
  }

  #look(): void {
    const rest = this.current?.look() ?? [];
    this.#lookLater();
    if (rest.length > 0) this.#listener.typed(this.#backToLine(rest));
    this.#listener.changed();
  }

  /** The operator writes a sentence: the question waits until the keys rest. */
  #backToLine(inputs: readonly TerminalInput[]): readonly TerminalInput[] {
    this.#state = "waiting";
    this.current?.hidden();
    this.#after(QUIET_MS);
    return inputs;
  }

  /** "y" and Enter, or "yes" and Enter, out of habit: the rest of the word is removed, and that Enter sends nothing. */
  #withoutEnter(inputs: readonly TerminalInput[], now: number): readonly TerminalInput[] {
    return inputs.flatMap((input) => {
      const habit = this.#habit;
      if (habit === undefined || input.kind !== "key") return [input];
      this.#habit = undefined;
      if (now - habit.at >= HABIT_MS) return [input];
      if (input.name === "enter") {
        if (habit.typed === "") return [];
        return habit.typed === habit.rest ? Array.from(habit.typed, () => key("backspace")) : [input];
      }
      const typed = habit.typed + input.name;
      if (isCharacter(input) && habit.rest.startsWith(typed)) this.#habit = { ...habit, typed, at: now };
      return [input];
    });
  }

  /** Several single keys within a moment: a person in the middle of a sentence, not a script and not an answer. */
  #typing(): boolean {
    const since = Date.now() - TYPING_MS;
    return this.#strokes.filter((at) => at >= since).length >= STROKES;
  }

  #present(): void {
    this.#hide();
    this.#listener.asked(this.current!);
    this.#after(0);
  }

  #after(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#waiting.length === 0) return;
      const typing = ms === 0 && this.#typing();
      this.#state = typing ? "waiting" : "ready";
      if (typing) this.#after(QUIET_MS);
      this.#listener.changed();
    }, ms);
  }

  #hide(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#looking);
    this.current?.hidden();
    this.#state = "hidden";
  }
}

function isCharacter({ ctrl, alt, name }: KeyInput): boolean {
  return !ctrl && !alt && [...name].length === 1;
}

interface QueueListener {
  /** A question has come to the front; it is not shown yet. */
  asked(prompt: ApprovalPrompt): void;
  changed(): void;
  /** The line is needed for a command; what was half typed comes back after it. */
  aside(): void;
  /** Keys that were held back, and belong to the line. */
  typed(inputs: readonly TerminalInput[]): void;
  /** `by`: who, where that was not here. */
  answered(request: ApprovalRequest, answer: ApprovalAnswer, by?: string): void;
  view(document: readonly string[]): void;
  editOutside(text: string): Promise<string | undefined>;
}

const STROKES = 3;
const TYPING_MS = 1500;
const QUIET_MS = 500;
const HABIT_MS = 800;
