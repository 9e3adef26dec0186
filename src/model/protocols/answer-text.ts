/** The words of an answer as they arrive: text and reasoning are separated, shown and kept. */
import { GrowingText } from "../../lib/growing-text.ts";
import type { Emit } from "./protocol.ts";
import { TextChannels } from "./text-channels.ts";

export class AnswerText {
  #text = new GrowingText();
  #reasoning = new GrowingText();
  readonly #channels: TextChannels;
  readonly #emit: Emit;

  constructor(emit: Emit) {
    this.#emit = emit;
    this.#channels = new TextChannels({
      text: (delta) => this.add(delta),
      soFar: () => this.text,
      reasoning: (delta) => this.addReasoning(delta),
      wasReasoning: () => {
        if (this.text === "") return;
        this.#reasoning = new GrowingText(this.text + this.reasoning);
        this.#text = new GrowingText();
        emit({ type: "discard" });
        emit({ type: "reasoning", delta: this.reasoning });
      },
    });
  }

  get text(): string {
    return this.#text.toString();
  }

  get reasoning(): string {
    return this.#reasoning.toString();
  }

  /** A call that the model wrote as text. */
  get writtenCall(): boolean {
    return this.#channels.writtenCall;
  }

  /** What the model wrote, with any reasoning between tags. */
  push(delta: string): void {
    if (delta !== "") this.#channels.push(delta);
  }

  /** Text, whatever it looks like. */
  add(delta: string): void {
    this.#text.add(delta);
    this.#emit({ type: "text", delta });
  }

  addReasoning(delta: string): void {
    if (delta === "") return;
    this.#reasoning.add(delta);
    this.#emit({ type: "reasoning", delta });
  }

  /** The text as its closing event repeats it: kept once. */
  share(text: string): void {
    this.#text.share(text);
  }

  end(): void {
    this.#channels.end();
  }

  /** Ends it where the protocol keeps the words itself: what was kept for showing is dropped. */
  close(): void {
    this.end();
    this.#text = new GrowingText();
    this.#reasoning = new GrowingText();
  }
}

/** The text and the reasoning of an answer that is complete. */
export function separated(words: string): AnswerText {
  const said = new AnswerText(() => {});
  said.push(words);
  said.end();
  return said;
}
