/**
 * Where questions wait for the operator: one at a time, and a key that was meant for something else never answers one.
 */
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
   * `waiting`: the operator is in the middle of a word. `ready`: the next frame asks. `armed`: it has; keys are
   * answers. `aside`: the operator went to the line, to type a command first.
   */
  #state: "hidden" | "waiting" | "ready" | "armed" | "aside" = "hidden";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #strokes: number[] = [];
  /** An answer was just given: what remains of its word, and how much of that was typed since. */
  #habit: { readonly rest: string; readonly typed: string; readonly at: number } | undefined;
  #askedAt = 0;
  #behind: (() => number) | undefined;
  /** A key pressed before anyone can have read the question: an answer, unless a word follows. */
  #held: { readonly input: KeyInput; readonly timer: ReturnType<typeof setTimeout> } | undefined;

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

  ask(request: ApprovalRequest, signal: AbortSignal, behind?: () => number): Promise<ApprovalAnswer> {
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
      this.#listener.answered(request, answer);
      resolve(answer);
      if (first && this.#waiting.length > 0) this.#present();
    };
    const cancelled = (): void => done({ kind: "cancelled" });
    const prompt = new ApprovalPrompt(request, this.#style, {
      answer: done,
      view: (document) => this.#listener.view(document),
      editOutside: (text) => this.#listener.editOutside(text),
      changed: () => this.#listener.changed(),
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

  /** A frame with what `asks` said has left for the terminal. */
  painted(): void {
    if (this.#state !== "ready") return;
    this.#state = "armed";
    this.#askedAt = Date.now();
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
    const held = this.#takeHeld();
    if (prompt.choosing && held !== undefined && typed([held, ...inputs]).length > 1)
      return this.#backToLine([held, ...inputs]);
    if (prompt.choosing && isSentence(typed(inputs))) return this.#backToLine(inputs);
    if (held !== undefined) return this.#answers(prompt, [held, ...inputs], now);
    const [only] = inputs;
    if (
      prompt.choosing &&
      inputs.length === 1 &&
      only?.kind === "key" &&
      now - this.#askedAt < UNREAD_MS &&
      holdable(only)
    ) {
      this.#hold(only);
      return [];
    }
    return this.#answers(prompt, inputs, now);
  }

  #answers(prompt: ApprovalPrompt, inputs: readonly TerminalInput[], now: number): readonly TerminalInput[] {
    const others: TerminalInput[] = [];
    for (const [index, input] of inputs.entries()) {
      if (this.current !== prompt) return [...others, ...this.#withoutEnter(inputs.slice(index), now)];
      if (
        prompt.choosing &&
        input.kind === "key" &&
        !input.ctrl &&
        !input.alt &&
        (input.name === "/" || input.name === "escape")
      ) {
        if (input.name === "escape" && prompt.closeHelp()) continue;
        this.#state = "aside";
        if (input.name === "/") this.#listener.aside();
        return [...others, ...inputs.slice(input.name === "/" ? index : index + 1)];
      }
      if (input.kind === "key" || input.kind === "paste") prompt.handle(input);
      else others.push(input);
    }
    return others;
  }

  /** The operator writes a sentence: the question waits until the keys rest. */
  #backToLine(inputs: readonly TerminalInput[]): readonly TerminalInput[] {
    this.#state = "waiting";
    this.#after(QUIET_MS);
    return inputs;
  }

  #hold(input: KeyInput): void {
    const timer = setTimeout(() => {
      this.#takeHeld();
      this.current?.handle(input);
      this.#listener.changed();
    }, WORD_MS);
    this.#held = { input, timer };
  }

  #takeHeld(): KeyInput | undefined {
    const held = this.#held;
    clearTimeout(held?.timer);
    this.#held = undefined;
    return held?.input;
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
    this.#takeHeld();
    this.#state = "hidden";
  }
}

/** The characters that a chunk of input begins with. */
function typed(inputs: readonly TerminalInput[]): string {
  const end = inputs.findIndex((input) => input.kind !== "key" || !isCharacter(input));
  return inputs
    .slice(0, end === -1 ? inputs.length : end)
    .map((input) => (input as KeyInput).name)
    .join("");
}

function isCharacter({ ctrl, alt, name }: KeyInput): boolean {
  return !ctrl && !alt && [...name].length === 1;
}

/** n, e and / open a line of their own, which may begin in the same chunk when a script types. */
function isSentence(text: string): boolean {
  return text.length > 1 && !/^(?:y+|yes|a+|always|[ne?/].*)$/is.test(text);
}

/** Keys that approve, or that a word may begin with. */
function holdable(input: KeyInput): boolean {
  return isCharacter(input) && !/[ne?/]/i.test(input.name);
}

interface QueueListener {
  /** A question has come to the front; it is not shown yet. */
  asked(prompt: ApprovalPrompt): void;
  changed(): void;
  /** The line is needed for a command; what was half typed comes back after it. */
  aside(): void;
  answered(request: ApprovalRequest, answer: ApprovalAnswer): void;
  view(document: readonly string[]): void;
  editOutside(text: string): Promise<string | undefined>;
}

const STROKES = 3;
const TYPING_MS = 1500;
const QUIET_MS = 500;
const HABIT_MS = 800;
/** A question as young as this is still unread. */
const UNREAD_MS = 500;
/** Keys of a word follow each other within this. */
const WORD_MS = 250;
