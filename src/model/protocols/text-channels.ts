/**
 * Separates what a server mixed in one text: reasoning between tags, the channels of gpt-oss, and tool calls
 * that were written as text. Only what is where a template puts it counts; an answer may speak of these tags.
 */
import { once } from "../../lib/values.ts";

interface ChannelSink {
  text(piece: string): void;
  /** All text so far. */
  soFar(): string;
  reasoning(piece: string): void;
  /** What was shown as text turns out to be reasoning. */
  wasReasoning(): void;
}

export class TextChannels {
  /** A tool call that the model wrote as text; it is not run. */
  writtenCall = false;
  #mode: "start" | "text" | "reasoning" | "channels" | "call" = "start";
  /** Ends the mode: the closing tag of reasoning or of a written call. */
  #closing = "";
  /** Text that may become a tag with what follows. */
  #held = "";
  readonly #sink: ChannelSink;

  constructor(sink: ChannelSink) {
    this.#sink = sink;
  }

  push(piece: string): void {
    // Nearly every piece of nearly every answer.
    if (this.#held === "" && !mayHaveTag(piece) && this.#isText(piece)) {
      this.#mode = "text";
      return this.#sink.text(piece);
    }
    this.#held += piece;
    while (this.#step(false));
  }

  /** The answer has ended: what was held back is shown for what it looks like. */
  end(): void {
    // Nearly always; no pattern has to be compiled for it.
    if (this.#held === "") return;
    while (this.#step(true));
    const rest = this.#held;
    this.#held = "";
    // Blank lines after reasoning belong to neither.
    if (rest === "" || (this.#mode === "start" && this.#closing !== "" && rest.trim() === "")) return;
    if (this.#mode === "reasoning") this.#sink.reasoning(rest);
    else if (this.#mode !== "call" && this.#mode !== "channels") this.#show(rest);
  }

  /** For a piece that has no tag. */
  #isText(piece: string): boolean {
    if (this.#mode !== "start" || this.#closing !== "") return this.#mode === "text";
    const text = piece.trimStart();
    return text !== "" && !text.startsWith("◁") && !text.startsWith("analysis") && !"analysis".startsWith(text);
  }

  #show(piece: string): void {
    if (piece === "") return;
    this.#sink.text(piece);
  }

  /** Works on what is held; false when it needs more, or has nothing left. */
  #step(last: boolean): boolean {
    switch (this.#mode) {
      case "start":
        return this.#begin(last);
      case "text":
        return this.#inText(last);
      case "channels":
        return this.#inChannels(last);
      case "reasoning":
        return this.#until((piece) => this.#sink.reasoning(piece), last);
      case "call":
        return this.#until(() => {}, last);
    }
  }

  #begin(last: boolean): boolean {
    const text = this.#held.trimStart();
    if (text === "") return false;
    const { open, opening, harmony, bare } = patterns();
    const tag = (open.exec(text) ?? bare.exec(text))?.[0];
    if (tag !== undefined) {
      this.#mode = "reasoning";
      this.#closing = closingOf(tag);
      this.#held = text.slice(tag.length);
      return true;
    }
    if (harmony.test(text)) {
      this.#mode = "channels";
      this.#held = text;
      return true;
    }
    if (!last && (mayBecome(text, STARTS) || (opening.test(text) && text.length < MOST_ATTRIBUTES))) return false;
    // The blank lines that set reasoning off from the answer belong to neither.
    if (this.#closing !== "") this.#held = text;
    this.#mode = "text";
    return this.#held !== "";
  }

  #inText(last: boolean): boolean {
    const found = patterns().inText.exec(this.#held);
    if (found === null) {
      const keep = last ? 0 : openTail(this.#held, IN_TEXT);
      this.#show(this.#held.slice(0, this.#held.length - keep));
      this.#held = this.#held.slice(this.#held.length - keep);
      return false;
    }
    const [tag] = found;
    const before = this.#held.slice(0, found.index);
    const after = this.#held.slice(found.index + tag.length);
    const soFar = this.#sink.soFar() + before;
    if (ENDS.includes(tag) && after.trim() === "") {
      // An end mark that the server should have removed, if nothing follows.
      this.#show(before);
      this.#held = last ? "" : tag + after;
      return false;
    }
    if (!this.#counts(tag, soFar)) {
      this.#show(before + tag);
      this.#held = after;
      return after !== "";
    }
    this.#held = after;
    if (tag.startsWith("</")) {
      // The opening tag was part of the prompt: everything up to here was thought.
      this.#sink.reasoning(before);
      this.#sink.wasReasoning();
      this.#closing = tag;
      this.#mode = "start";
    } else if (tag in REASONING_TAGS) {
      this.#show(before);
      this.#mode = "reasoning";
      this.#closing = closingOf(tag);
    } else {
      this.#show(before.trimEnd());
      this.writtenCall = true;
      this.#mode = "call";
      this.#closing = CALL_TAGS[tag] ?? "";
    }
    return true;
  }

  /**
   * A template puts its tags on a line of their own or after the end of a word or a sentence; a sentence about them
   * has a space or a quote before them.
   */
  #counts(tag: string, soFar: string): boolean {
    if (ENDS.includes(tag) || inCode(soFar)) return false;
    if (tag in REASONING_TAGS) return this.#closing !== "" && atLineStart(soFar);
    if (tag.startsWith("</") && soFar.includes("<think>")) return false;
    return atLineStart(soFar) || /[.!?:…] $/.test(soFar) || !/[\s"'`“‘«([{<>]$/.test(soFar);
  }

  #until(take: (piece: string) => void, last: boolean): boolean {
    const at = this.#closing === "" ? -1 : this.#held.indexOf(this.#closing);
    if (at < 0) {
      const keep = last ? 0 : openTail(this.#held, [this.#closing]);
      take(this.#held.slice(0, this.#held.length - keep));
      this.#held = this.#held.slice(this.#held.length - keep);
      return false;
    }
    take(this.#held.slice(0, at));
    this.#held = this.#held.slice(at + this.#closing.length);
    this.#mode = "start";
    return true;
  }

  /**
   * `<|channel|>analysis<|message|>…<|end|>`: analysis is reasoning, final is the answer, commentary to a tool a call.
   */
  #inChannels(last: boolean): boolean {
    const { header, tail } = patterns();
    const start = header.exec(this.#held);
    if (start === null) {
      // A header without its message yet, or what follows the last one.
      if (!last || this.#held.startsWith("<|")) return false;
      this.#mode = "text";
      return true;
    }
    const [whole, channel = "final", recipient] = start;
    const body = this.#held.slice(start.index + whole.length);
    const end = tail.exec(body);
    if (end === null && !last) return this.#streamChannel(channel, recipient, start.index + whole.length);
    this.#take(channel, recipient, end === null ? body : body.slice(0, end.index));
    this.#held = end === null ? "" : body.slice(end.index + end[0].length);
    const next = this.#held.trimStart();
    if (next !== "" && next !== "<" && !next.startsWith("<|")) this.#mode = "text";
    return this.#held !== "";
  }

  /** Passes on what has come of a message, and keeps its header for the rest. */
  #streamChannel(channel: string, recipient: string | undefined, from: number): boolean {
    const body = this.#held.slice(from);
    const keep = openTail(body, CHANNEL_ENDS);
    this.#take(channel, recipient, body.slice(0, body.length - keep));
    this.#held = this.#held.slice(0, from) + body.slice(body.length - keep);
    return false;
  }

  #take(channel: string, recipient: string | undefined, piece: string): void {
    if (recipient !== undefined && recipient !== "") this.writtenCall = true;
    else if (piece === "") return;
    else if (/final/.test(channel)) this.#show(piece);
    else this.#sink.reasoning(piece);
  }
}

export function mayHaveTag(text: string): boolean {
  return text.includes("<") || text.includes("[");
}

/** Opening tags of reasoning, and what closes each. */
const REASONING_TAGS: Readonly<Record<string, string>> = {
  "<think>": "</think>",
  "<thinking>": "</thinking>",
  "<thought>": "</thought>",
  "<reasoning>": "</reasoning>",
  "<seed:think>": "</seed:think>",
  "<longcat_think>": "</longcat_think>",
  "<|begin_of_thought|>": "<|end_of_thought|>",
  "[THINK]": "[/THINK]",
  "◁think▷": "◁/think▷",
  "<|channel>thought\n": "<channel|>",
  // The channels of gpt-oss without their marks: "analysisThe user …assistantfinalHello".
  analysis: "assistantfinal",
};

/** How templates of open models write a call; a server that knows them would have made a real one. */
const CALL_TAGS: Readonly<Record<string, string>> = {
  "<tool_call>": "</tool_call>",
  "<tool_calls>": "</tool_calls>",
  "<|tool_call|>": "",
  "<|tool_call>": "<tool_call|>",
  "<function=": "</function>",
  "<function_calls>": "</function_calls>",
  "<function_call>": "</function_call>",
  "<invoke name=": "</invoke>",
  "<tool_code>": "</tool_code>",
  "<minimax:tool_call>": "</minimax:tool_call>",
  "<seed:tool_call>": "</seed:tool_call>",
  "<longcat_tool_call>": "</longcat_tool_call>",
  "<xai:function_call": "</xai:function_call>",
  "<TOOLCALL>": "</TOOLCALL>",
  "<|python_tag|>": "",
  "<|tool_calls_section_begin|>": "<|tool_calls_section_end|>",
  "<｜tool▁calls▁begin｜>": "<｜tool▁calls▁end｜>",
  "<｜DSML｜function_calls>": "</｜DSML｜function_calls>",
  "<｜DSML｜tool_calls>": "</｜DSML｜tool_calls>",
  "[TOOL_CALLS]": "",
  "[TOOL_REQUEST]": "[END_TOOL_REQUEST]",
};

const HARMONY = ["<|channel|>", "<|start|>", "<|message|>"];
const CHANNEL_ENDS = ["<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>"];
/** Marks of the end of an answer. */
const ENDS = [
  "<|im_end|>",
  "<|eot_id|>",
  "<|endoftext|>",
  "<|end_of_text|>",
  "<｜end▁of▁sentence｜>",
  "<end_of_turn>",
  "</s>",
];
const IN_TEXT = [...Object.keys(CALL_TAGS), "</think>", "<think>", ...ENDS];
const STARTS = [...Object.keys(REASONING_TAGS), ...HARMONY];

const patterns = once(() => ({
  open: new RegExp(`^(?:${Object.keys(REASONING_TAGS).filter(isMarked).map(withAttributes).join("|")})`, "i"),
  // Such a tag whose attributes are not all there yet.
  opening: new RegExp(
    `^(?:${Object.keys(REASONING_TAGS).filter(isElement).join("|").replaceAll(">", "")})\\s[^<>]*$`,
    "i",
  ),
  bare: /^analysis(?=\p{Lu})/u,
  harmony: new RegExp(`^(?:${HARMONY.map(RegExp.escape).join("|")})`),
  inText: new RegExp(IN_TEXT.map(RegExp.escape).join("|")),
  header:
    /^\s*(?:<\|start\|>[^<]*)?(?:<\|channel\|>\s*(\w*)\s*(?:to=([^\s<]*))?[^<]*)?(?:<\|constrain\|>[^<]*)?<\|message\|>/,
  tail: new RegExp(
    CHANNEL_ENDS.map((end) => (/start|channel/.test(end) ? `(?=${RegExp.escape(end)})` : RegExp.escape(end))).join("|"),
  ),
}));

function isMarked(tag: string): boolean {
  return !/^\w/.test(tag);
}

function isElement(tag: string): boolean {
  return /^<[\w:]+>$/.test(tag);
}

function withAttributes(tag: string): string {
  return isElement(tag) ? tag.replace(">", "(?:\\s[^<>]*)?>") : RegExp.escape(tag);
}

const MOST_ATTRIBUTES = 200;

function closingOf(tag: string): string {
  return REASONING_TAGS[tag] ?? `</${tag.slice(1).replace(/\s[^]*>$/, ">")}`;
}

/** Whether the text is the beginning of one of these. */
function mayBecome(text: string, tags: readonly string[]): boolean {
  const begins = text.toLowerCase();
  return tags.some((tag) => tag.toLowerCase().startsWith(begins));
}

/** How many characters at the end may be the beginning of one of these. */
function openTail(text: string, tags: readonly string[]): number {
  const longest = Math.min(text.length, MOST_TAG);
  for (let length = longest; length > 0; length--) {
    const tail = text.slice(-length);
    if (tags.some((tag) => tag.length > length && tag.startsWith(tail))) return length;
  }
  return 0;
}

const MOST_TAG = 40;

function atLineStart(text: string): boolean {
  return /(^|\n)[ \t]*$/.test(text);
}

/** Inside code, tags are an example. */
function inCode(text: string): boolean {
  const line = text.slice(text.lastIndexOf("\n") + 1);
  return (text.match(/^ {0,3}(```|~~~)/gm)?.length ?? 0) % 2 === 1 || line.split("`").length % 2 === 0;
}
