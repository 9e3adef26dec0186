/** Where questions wait for the operator: one at a time, and no key counts that was meant for something else. */
import type { ApprovalAnswer, ApprovalRequest, Asker } from "../policy/approvals.ts";
import { ApprovalPrompt } from "./approval-prompt.ts";
import type { TerminalInput } from "./terminal/keys.ts";
import type { Theme } from "./theme.ts";

export class ApprovalDesk implements Asker {
  readonly #style: Theme;
  readonly #listener: DeskListener;
  #waiting: ApprovalPrompt[] = [];
  #armed: ReturnType<typeof setTimeout> | boolean = false;
  #strokes: number[] = [];
  #answeredAt = 0;

  constructor(style: Theme, listener: DeskListener) {
    this.#style = style;
    this.#listener = listener;
  }

  get current(): ApprovalPrompt | undefined {
    return this.#waiting[0];
  }

  /** Questions behind the current one. */
  get behind(): number {
    return Math.max(0, this.#waiting.length - 1);
  }

  /** True once the question is on the screen and nobody is in the middle of a word. */
  get takesKeys(): boolean {
    return this.#waiting.length > 0 && this.#armed === true;
  }

  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
    if (signal.aborted) return Promise.resolve({ kind: "cancelled" });
    const done = (answer: ApprovalAnswer): void => {
      signal.removeEventListener("abort", cancelled);
      const first = this.#waiting[0] === prompt;
      this.#waiting = this.#waiting.filter((other) => other !== prompt);
      if (first) this.#disarm();
      this.#answeredAt = answer.kind === "cancelled" ? 0 : Date.now();
      this.#listener.answered(request, answer);
      resolve(answer);
      if (first && this.#waiting.length > 0) this.#listener.asked(this.#waiting[0]!);
    };
    const cancelled = (): void => done({ kind: "cancelled" });
    const prompt = new ApprovalPrompt(request, this.#style, done);
    signal.addEventListener("abort", cancelled);
    this.#waiting.push(prompt);
    if (this.#waiting.length === 1) {
      this.#disarm();
      this.#listener.asked(prompt);
    }
    return promise;
  }

  /** The terminal is gone: nobody answers any more. */
  close(): void {
    for (const prompt of this.#waiting.slice()) prompt.giveUp();
  }

  /** The question has reached the screen: from now on keys are answers, unless the operator is typing. */
  shown(): void {
    if (this.#waiting.length === 0 || this.#armed !== false) return;
    if (this.#typing()) {
      this.#armed = setTimeout(() => this.#arm(), QUIET_MS);
      return;
    }
    // Keys that are in the process already were pressed before the question could be seen.
    this.#armed = setTimeout(() => this.#arm(), 0);
  }

  /** Every chunk of input passes here first; keys that count are handled and removed. */
  take(inputs: readonly TerminalInput[]): readonly TerminalInput[] {
    const now = Date.now();
    if (inputs.length === 1 && inputs[0]!.kind === "key") this.#strokes = [...this.#strokes.slice(-STROKES), now];
    if (!this.takesKeys) {
      if (typeof this.#armed === "object" && this.#typing()) {
        clearTimeout(this.#armed);
        this.#armed = setTimeout(() => this.#arm(), QUIET_MS);
      }
      return this.#withoutEnter(inputs, now);
    }
    const prompt = this.current!;
    for (const [index, input] of inputs.entries()) {
      if (this.current !== prompt || !this.takesKeys) return this.#withoutEnter(inputs.slice(index), now);
      if (input.kind === "key" || input.kind === "paste") prompt.handle(input);
    }
    return [];
  }

  /** "y" and Enter, out of habit: that Enter must not send a half-typed line. */
  #withoutEnter(inputs: readonly TerminalInput[], now: number): readonly TerminalInput[] {
    const fresh = now - this.#answeredAt < HABIT_MS;
    if (inputs.some((input) => input.kind === "key")) this.#answeredAt = 0;
    const [first, ...rest] = inputs;
    return fresh && first?.kind === "key" && first.name === "enter" ? rest : inputs;
  }

  /** Several single keys within a moment: a person in the middle of a sentence, not a script and not an answer. */
  #typing(): boolean {
    const since = Date.now() - TYPING_MS;
    return this.#strokes.filter((at) => at >= since).length >= STROKES;
  }

  #arm(): void {
    this.#armed = true;
    this.#listener.armed();
  }

  #disarm(): void {
    if (typeof this.#armed === "object") clearTimeout(this.#armed);
    this.#armed = false;
  }
}

export interface DeskListener {
  asked(prompt: ApprovalPrompt): void;
  /** Keys go to the question from now on. */
  armed(): void;
  answered(request: ApprovalRequest, answer: ApprovalAnswer): void;
}

const STROKES = 3;
const TYPING_MS = 1000;
const QUIET_MS = 500;
const HABIT_MS = 800;
