/** The full output of one command: grows while it runs, readable by offset and by regular expression at any time. */
import type { SessionOutputs } from "./session-outputs.ts";
import { LineFilter, LONGEST_SEARCHED } from "../../lib/line-filter.ts";
import { wholeCharacters, wholeAt } from "../../lib/text.ts";
import type { OutputPage, ReadOutputOptions } from "../target.ts";
import { MemorySegment, type OutputSegment } from "./output-segment.ts";

const FLUSH_AT = 32 * 1024;
const MEMORY_SEGMENT = 1024 * 1024;
/** Text older than this is on disk, even if buddy is killed. */
const SAVE_MS = 500;
const CHUNK_BYTES = 1024 * 1024;
const PAGE_BYTES = 64 * 1024;
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

export class StoredOutput {
  readonly id: string;
  /** The end that may still change. */
  pending: () => string = nothing;
  readonly #locations: SessionOutputs;
  readonly #hide: (text: string) => string;
  #segments: OutputSegment[] = [];
  #buffer: string[] = [];
  #buffered = 0;
  #total = 0;
  #ended = false;
  #stored = false;
  /** The next one is used when one is full; then the first does not have the whole text. */
  #location = 0;
  /** The process that stored it ended before the command did. */
  #cut = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string, locations: SessionOutputs) {
    this.id = id;
    this.#locations = locations;
    this.#hide = locations.hide();
  }

  /** An output of an earlier process. */
  static found(
    id: string,
    locations: SessionOutputs,
    segments: readonly OutputSegment[],
    whole: boolean,
  ): StoredOutput {
    const text = new StoredOutput(id, locations);
    text.#segments = [...segments].sort((a, b) => a.start - b.start);
    const last = text.#segments.at(-1);
    text.#total = last === undefined ? 0 : last.start + last.size;
    text.#ended = true;
    text.#stored = true;
    text.#cut = !whole;
    return text;
  }

  get totalBytes(): number {
    return this.#total;
  }

  get keptBytes(): number {
    return this.#segments.reduce((sum, one) => sum + one.size, 0);
  }

  get memoryBytes(): number {
    return this.#segments.reduce((sum, one) => (one.inMemory ? sum + one.size : sum), 0);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** There was text, and all of it was removed. */
  get givenUp(): boolean {
    return this.#ended && this.keptBytes === 0 && (this.#total > 0 || this.#segments.length > 0);
  }

  add(text: string): void {
    if (text === "") return;
    this.#buffer.push(text);
    this.#buffered += text.length;
    if (this.#buffered > FLUSH_AT) this.#flush(false);
  }

  /** Something was added, perhaps only to the end that may still change. */
  touched(): void {
    if (!this.#locations.lasting || this.#timer !== undefined || this.#ended) return;
    this.#timer = setTimeout(() => this.save(), SAVE_MS);
    this.#timer.unref();
  }

  /** Nothing more will be added; it stays readable. */
  end(): void {
    this.#stopTimer();
    if (this.#ended) return;
    this.#ended = true;
    // Releases the recording, which holds all the state of the command.
    this.pending = nothing;
    if (this.#segments.length === 0 && this.#locations.lasting) this.#locations.storeLater(this);
    else this.store();
  }

  /** The whole text, if nothing of it is stored yet. */
  unstored(): Buffer | undefined {
    return this.#stored || this.#buffered === 0 ? undefined : this.#tail();
  }

  /** The whole text was stored in this segment. */
  storedIn(segment: OutputSegment): void {
    this.#stored = true;
    this.#buffer = [];
    this.#buffered = 0;
    this.#segments = [segment];
    this.#total = segment.size;
    this.#locations.grown(segment.size);
  }

  store(): void {
    if (this.#stored) return;
    this.#stored = true;
    this.#flush(true);
    this.#segments.at(-1)?.close(this.#locations.lasting && this.#location === 0);
  }

  /** Writes all text so far to disk. */
  save(): void {
    this.#stopTimer();
    if (this.#ended) return;
    this.#flush(false);
    const rest = this.#buffer.join("") + this.pending();
    if (rest === "") return;
    try {
      this.#open(false, rest.length).draft(Buffer.from(this.#hide(rest)));
    } catch {
      // It is still in memory; the final write reports the error.
    }
  }

  /** Stops recording without an end: the command may continue without buddy. */
  close(): void {
    if (this.#ended) return this.store();
    this.save();
    this.#segments.at(-1)?.close(false);
    this.#ended = true;
    this.#stored = true;
  }

  /** Removes the oldest segment that is neither the first nor the last; returns its size. */
  dropMiddle(): number {
    const [middle] = this.#segments.splice(1, Math.min(1, Math.max(0, this.#segments.length - 2)));
    middle?.remove();
    return middle?.size ?? 0;
  }

  drop(): number {
    const bytes = this.keptBytes;
    for (const segment of this.#segments.splice(0)) segment.remove();
    return bytes;
  }

  read({ offset, limit }: Omit<ReadOutputOptions, "filter"> = {}): OutputPage {
    const tail = this.#tail();
    return this.#marked(this.#page(this.#within(offset, tail), pageLimit(limit), tail, this.#total + tail.length));
  }

  /** Only lines that match; in a worker, and for a limited time. */
  async search(filter: string, { offset, limit }: Omit<ReadOutputOptions, "filter"> = {}): Promise<OutputPage> {
    using lines = new LineFilter(filter);
    const tail = this.#tail();
    const total = this.#total + tail.length;
    return this.#marked(await this.#matching(this.#within(offset, tail), pageLimit(limit), tail, total, lines));
  }

  #tail(): Buffer {
    return Buffer.from(this.#hide(this.#buffer.join("") + this.pending()));
  }

  #within(offset: number | undefined, tail: Buffer): number {
    return Math.min(Math.max(0, offset ?? 0), this.#total + tail.length);
  }

  #marked(page: OutputPage): OutputPage {
    return this.#cut && page.done ? { ...page, text: page.text + CUT } : page;
  }

  #page(offset: number, limit: number, tail: Buffer, totalBytes: number): OutputPage {
    const { data, skipped } = this.#bytes(offset, limit, tail);
    const whole = wholeUtf8(data, offset + skipped + data.length >= totalBytes);
    const nextOffset = offset + skipped + whole.length;
    return {
      text: gap(skipped) + whole.toString(),
      nextOffset,
      totalBytes,
      done: this.#ended && nextOffset >= totalBytes,
    };
  }

  async #matching(
    offset: number,
    limit: number,
    tail: Buffer,
    totalBytes: number,
    filter: LineFilter,
  ): Promise<OutputPage> {
    const found: string[] = [];
    let size = 0;
    const page = (nextOffset: number, done: boolean, note?: string): OutputPage => ({
      text: found.join(""),
      nextOffset,
      totalBytes,
      done,
      ...(note === undefined ? {} : { note }),
    });
    let at = offset;
    let line = new LongLine(offset);
    let longest = 0;
    while (at < totalBytes) {
      const chunk = this.#bytes(at, CHUNK_BYTES, tail);
      if (chunk.skipped > 0) {
        found.push(gap(chunk.skipped));
        line = new LongLine(at + chunk.skipped);
      }
      at += chunk.skipped + chunk.data.length;
      const batch: LongLine[] = [];
      for (let from = 0; from < chunk.data.length;) {
        const end = chunk.data.indexOf(10, from);
        line.add(chunk.data.subarray(from, end < 0 ? chunk.data.length : end));
        if (end < 0 && at < totalBytes) break;
        batch.push(line);
        longest = Math.max(longest, line.length);
        line = new LongLine(line.start + line.length + 1);
        if (end < 0) break;
        from = end + 1;
      }
      const { matches, gaveUp } = await filter.test(batch.map((one) => one.text));
      for (const [index, one] of batch.slice(0, matches.length).entries()) {
        if (matches[index] !== true) continue;
        const shown = one.shown(limit);
        if (size > 0 && size + shown.length > limit) return page(one.start, false);
        found.push(`${shown}\n`);
        size += shown.length + 1;
      }
      const stuck = batch[matches.length];
      if (gaveUp && stuck !== undefined)
        return page(Math.min(stuck.start + stuck.length + 1, totalBytes), false, GAVE_UP);
      if (chunk.data.length === 0) break;
    }
    return page(totalBytes, this.#ended, longest > LONGEST_SEARCHED ? LONG_LINES : undefined);
  }

  /** The stored bytes from `offset` to the next gap; `skipped`: bytes before them that were removed. */
  #bytes(offset: number, length: number, tail: Buffer): { data: Buffer; skipped: number } {
    const parts: Buffer[] = [];
    let from = offset;
    let got = 0;
    const at = () => from + got;
    for (const segment of this.#segments) {
      const end = segment.start + segment.size;
      if (end <= at()) continue;
      if (segment.start > at() && got > 0) break;
      const start = Math.max(segment.start, at());
      const bytes = segment.read(start - segment.start, Math.min(length - got, end - start));
      if (bytes === undefined || bytes.length === 0) continue;
      if (got === 0) from = start;
      parts.push(bytes);
      got += bytes.length;
      if (got >= length) break;
    }
    if (got === 0 && from < this.#total) from = this.#total;
    if (at() >= this.#total && got < length)
      parts.push(tail.subarray(at() - this.#total, at() - this.#total + length - got));
    return { data: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), skipped: from - offset };
  }

  #flush(whole: boolean): void {
    if (this.#buffered === 0) return;
    const all = this.#buffer.join("");
    // Whole lines: a secret must not be split.
    const cut = whole ? all.length : all.lastIndexOf("\n") + 1 || (all.length > FLUSH_AT ? all.length : 0);
    if (cut === 0) return;
    this.#buffer = cut === all.length ? [] : [all.slice(cut)];
    this.#buffered = all.length - cut;
    this.#write(Buffer.from(this.#hide(cut === all.length ? all : all.slice(0, cut))), whole);
  }

  #write(bytes: Buffer, whole: boolean): void {
    for (;;) {
      try {
        this.#open(whole, bytes.length).write(bytes);
        break;
      } catch (error) {
        this.#moveOn(error, bytes.length);
      }
    }
    this.#total += bytes.length;
    this.#locations.grown(bytes.length);
  }

  /** The segment to write to. `whole`: nothing was written yet, and this is the whole text. */
  #open(whole: boolean, bytes: number): OutputSegment {
    const last = this.#segments.at(-1);
    if (last !== undefined && last.size < (last.inMemory ? MEMORY_SEGMENT : this.#locations.segmentBytes)) return last;
    last?.close(false);
    return this.#begin(whole && last === undefined, bytes);
  }

  #begin(whole: boolean, bytes: number): OutputSegment {
    let segment: OutputSegment | undefined;
    while (segment === undefined) {
      try {
        segment = this.#locations.create(this.#location, this.id, this.#total, whole) ?? new MemorySegment(this.#total);
      } catch (error) {
        this.#locations.failed(this.#location++, error, this.#total + bytes);
      }
    }
    this.#segments.push(segment);
    return segment;
  }

  /** The location of the last segment is full. */
  #moveOn(error: unknown, bytes: number): void {
    this.#locations.failed(this.#location++, error, this.#total + bytes);
    const last = this.#segments.at(-1);
    last?.close(false);
    if (last?.size === 0) this.#segments.pop()?.remove();
    this.#begin(false, bytes);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

const nothing = () => "";

export const CUT = "\n[output after this was not saved: buddy ended while the command ran, or its disk was full]\n";

function gap(bytes: number): string {
  return bytes > 0 ? `[${bytes} bytes are no longer kept]\n` : "";
}

/** A line of any length; keeps only its beginning. */
class LongLine {
  readonly start: number;
  length = 0;
  #parts: Buffer[] = [];
  #kept = 0;

  constructor(start: number) {
    this.start = start;
  }

  add(bytes: Buffer): void {
    this.length += bytes.length;
    const room = LONGEST_SEARCHED - this.#kept;
    if (room <= 0 || bytes.length === 0) return;
    this.#parts.push(bytes.subarray(0, room));
    this.#kept += Math.min(room, bytes.length);
  }

  get text(): string {
    const bytes = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    return bytes.toString("utf8", 0, this.length === this.#kept ? bytes.length : wholeCharacters(bytes));
  }

  shown(limit: number): string {
    const { text } = this;
    if (this.length === this.#kept && text.length <= limit) return text;
    return `${text.slice(0, wholeAt(text, limit))} … [line of ${this.length} bytes]`;
  }
}

const GAVE_UP = "the filter took too long and was stopped; use a simpler one, or grep with run_shell";
const LONG_LINES = `lines of more than ${LONGEST_SEARCHED / 1024} KiB were searched only up to there`;

function pageLimit(limit = PAGE_BYTES): number {
  return Math.min(Math.max(1, limit), MAX_PAGE_BYTES);
}

/** Up to the last whole character, unless the text ends here. */
function wholeUtf8(bytes: Buffer, last: boolean): Buffer {
  return last ? bytes : bytes.subarray(0, wholeCharacters(bytes) || bytes.length);
}
