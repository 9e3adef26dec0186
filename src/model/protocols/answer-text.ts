/** The words of an answer as they come in: text and reasoning separated, shown, and kept. */
import type { Emit } from "./protocol.ts";
import { TextChannels } from "./text-channels.ts";

export class AnswerText {
  text = "";
  reasoning = "";
  readonly #channels: TextChannels;
  readonly #emit: Emit;

  constructor(emit: Emit) {
    this.#emit = emit;
    this.#channels = new TextChannels({
      text: (delta) => {
        this.text += delta;
        emit({ type: "text", delta });
      },
      soFar: () => this.text,
      reasoning: (delta) => this.addReasoning(delta),
      wasReasoning: () => {
        if (this.text === "") return;
        this.reasoning = this.text + this.reasoning;
        this.text = "";
        emit({ type: "discard" });
        emit({ type: "reasoning", delta: this.reasoning });
      },
    });
  }

  /** A call that the model wrote as text. */
  get writtenCall(): boolean {
    return this.#channels.writtenCall;
  }

  /** What the model wrote, reasoning between tags and all. */
  push(delta: string): void {
    if (delta !== "") this.#channels.push(delta);
  }

  /** What is text whatever it looks like. */
  add(delta: string): void {
    this.text += delta;
    this.#emit({ type: "text", delta });
  }

  addReasoning(delta: string): void {
    if (delta === "") return;
    this.reasoning += delta;
    this.#emit({ type: "reasoning", delta });
  }

  end(): void {
    this.#channels.end();
  }
}

/** The same for words that are all there. */
export function toldApart(words: string): AnswerText {
  const said = new AnswerText(() => {});
  said.push(words);
  said.end();
  return said;
}
