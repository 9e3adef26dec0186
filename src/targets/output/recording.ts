/** What one command prints: rendered, streamed, kept as head and tail, and stored in full. */
import type { CapturedText, RunOptions } from "../target.ts";
import { ScreenText } from "./screen-text.ts";
import type { StoredOutput } from "./stored-output.ts";
import { wholeAt } from "../../lib/text.ts";

const DEFAULT_KEEP = 30_000;
/** Of a command that did not run. */
export const NO_OUTPUT: CapturedText = { head: "", tail: "", omittedBytes: 0, totalBytes: 0 };
/** An unfinished line is shown after this much silence. */
const PARTIAL_MS = 40;
const COUNTABLE = 4 * 1024 * 1024;

export class Recording {
  readonly #stored: StoredOutput;
  readonly #screen: ScreenText;
  readonly #stream: "stdout" | "stderr";
  #kept: HeadTail;
  #listener: RunOptions["onOutput"];
  #committed = 0;
  /** Characters shown as whole lines, and what was shown of the next line, which may still change. */
  #shown = 0;
  #partial = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(stored: StoredOutput, options: Pick<RunOptions, "keep" | "onOutput">, stream: "stdout" | "stderr") {
    this.#stored = stored;
    this.#stream = stream;
    this.#kept = new HeadTail(options.keep ?? DEFAULT_KEEP);
    this.#listener = options.onOutput;
    this.#screen = new ScreenText((text) => this.#commit(text));
    stored.pending = () => this.#screen.pending();
  }

  get id(): string {
    return this.#stored.id;
  }

  get fullScreen(): boolean {
    return this.#screen.fullScreen;
  }

  get asked(): boolean {
    return this.#screen.asked;
  }

  /** The line with the cursor: a prompt, if a program waits. */
  get lastLine(): string {
    return this.#screen.pending().split("\n").at(-1) ?? "";
  }

  get empty(): boolean {
    return this.#committed === 0 && this.#screen.pending() === "";
  }

  /** The last lines so far, the unfinished one last: to find the position again after a gap. */
  get lastLines(): readonly string[] {
    return this.#screen.pending().split("\n").slice(-6);
  }

  write(bytes: Uint8Array): void {
    this.#screen.write(bytes);
    this.#stored.touched();
    if (this.#listener === undefined) return;
    this.#showLines();
    this.#timer ??= setTimeout(() => this.#showPartial(), PARTIAL_MS);
  }

  /** How many lines have ended; undefined if counting would take long. */
  lineCount(): number | undefined {
    if (this.#stored.totalBytes > COUNTABLE) return undefined;
    let count = 0;
    for (let offset = 0, total = 1; offset < total;) {
      const page = this.#stored.read({ offset, limit: COUNTABLE });
      for (let at = page.text.indexOf("\n"); at >= 0; at = page.text.indexOf("\n", at + 1)) count++;
      offset = page.nextOffset;
      total = page.totalBytes;
    }
    return count;
  }

  /** The stream had a gap. */
  resync(alternate: boolean): void {
    this.#screen.resync(alternate);
  }

  /** Adds text that was missing from the stream, after a gap. */
  insert(text: string): void {
    this.write(Buffer.from(text.replaceAll("\n", "\r\n")));
  }

  listen(listener: RunOptions["onOutput"]): void {
    this.#listener = listener;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#screen.end();
    this.#stored.end();
  }

  captured(): CapturedText {
    const text = this.#kept.captured(this.#screen.pending());
    return this.#screen.binary ? { ...text, binary: true } : text;
  }

  #commit(text: string): void {
    this.#kept.add(text);
    this.#stored.add(text);
    if (this.#listener !== undefined) this.#show(text, text.length);
    this.#committed += text.length;
    this.#shown = Math.max(this.#shown, this.#committed - this.#partial.length);
  }

  /** Whole lines are shown at once: if a program moves the cursor up, they are only shown again. */
  #showLines(): void {
    if (this.#screen.fullScreen) return;
    const pending = this.#screen.pending();
    const end = pending.lastIndexOf("\n") + 1;
    if (end > this.#shown - this.#committed) this.#show(pending, end);
  }

  #showPartial(): void {
    this.#timer = undefined;
    if (this.#screen.fullScreen) return;
    const pending = this.#screen.pending();
    this.#show(pending, pending.length);
  }

  #show(text: string, upTo: number): void {
    const from = Math.max(0, this.#shown - this.#committed);
    if (upTo <= from) return;
    const fresh = text.slice(from, upTo);
    const out = fresh.startsWith(this.#partial) ? fresh.slice(this.#partial.length) : `\n${fresh}`;
    const lines = fresh.lastIndexOf("\n") + 1;
    this.#shown = this.#committed + from + lines;
    this.#partial = fresh.slice(lines);
    if (out !== "") this.#listener?.({ stream: this.#stream, text: out });
  }
}

/** Keeps the beginning and the end of a text and counts what was left out. */
export class HeadTail {
  readonly #half: number;
  #head = "";
  #tail = "";
  #total = 0;

  constructor(keep: number) {
    this.#half = Math.max(1, Math.ceil(keep / 2));
  }

  add(text: string): void {
    this.#total += Buffer.byteLength(text);
    let rest = text;
    if (this.#tail === "" && this.#head.length < this.#half) {
      const room = wholeAt(rest, this.#half - this.#head.length);
      this.#head += rest.slice(0, room);
      rest = rest.slice(room);
    }
    if (rest === "") return;
    this.#tail += rest;
    if (this.#tail.length > this.#half * 4 + 4096) this.#tail = lastCharacters(this.#tail, this.#half);
  }

  /** `pending`: text that follows but may still change. */
  captured(pending = ""): CapturedText {
    const totalBytes = this.#total + Buffer.byteLength(pending);
    const all = this.#tail + pending;
    if (this.#head.length + all.length <= this.#half * 2) {
      const kept = Buffer.byteLength(this.#head) + Buffer.byteLength(all);
      if (kept === totalBytes) return { head: this.#head + all, tail: "", omittedBytes: 0, totalBytes };
    }
    let head = this.#head;
    let behind = all;
    if (head.length < this.#half) {
      const room = wholeAt(behind, this.#half - head.length);
      head += behind.slice(0, room);
      behind = behind.slice(room);
    }
    const tail = lastCharacters(behind, this.#half);
    const omittedBytes = totalBytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
    return omittedBytes === 0
      ? { head: head + tail, tail: "", omittedBytes, totalBytes }
      : { head, tail, omittedBytes, totalBytes };
  }
}

function lastCharacters(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const at = text.length - limit;
  return text.slice(wholeAt(text, at) < at ? at + 1 : at);
}
