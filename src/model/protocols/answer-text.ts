/** The words of an answer as they arrive: text and reasoning are separated, shown and kept. */
import { GrowingText } from "../growing-text.ts";
import type { ToolCall } from "../types.ts";
import { type Emit, type Finish, finishWith, type Json, type Reply, type ReportedUsage } from "./protocol.ts";
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

/** What the items of an answer hold; the text may have reasoning between tags in it. */
interface AnswerParts {
  readonly text: string;
  readonly reasoning: readonly string[];
  readonly items: readonly Json[];
  readonly toolCalls: readonly ToolCall[];
}

/** The reply of a protocol whose answers are made of items, which go back as they came. */
export function replyOf(
  { text, reasoning, items, toolCalls }: AnswerParts,
  { usage, finish }: { readonly usage: ReportedUsage | undefined; readonly finish: Finish | undefined },
): Reply {
  const said = new AnswerText(() => {});
  said.push(text);
  said.end();
  const thoughts = said.reasoning === "" ? reasoning : [...reasoning, said.reasoning];
  return {
    message: {
      role: "assistant",
      content: said.text === "" ? null : said.text,
      toolCalls,
      ...(thoughts.length > 0 && { reasoning: thoughts.join("\n\n") }),
      ...(items.length > 0 && { items }),
    },
    usage,
    finish: finishWith(toolCalls, finish),
    writtenCall: said.writtenCall && toolCalls.length === 0,
  };
}
