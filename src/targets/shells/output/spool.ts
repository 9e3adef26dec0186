/** The full text of every command until the session ends: private files beside buddy, bounded, removed at the end. */
import fs from "node:fs";
import path from "node:path";
import { BuddyError } from "../../../lib/errors.ts";
import { isAlive } from "../../../lib/is-alive.ts";
import { temporaryDirectory } from "../../../lib/temporary-directory.ts";
import type { OutputPage, ReadOutputOptions } from "../../target.ts";

/** One segment is the unit in which old text is given up when the bound is reached. */
const SEGMENT_BYTES = 32 * 1024 * 1024;
/** `yes` for a minute writes 2 GB: past this the middle of the largest output goes, never its start or end. */
const MAX_BYTES = 1024 * 1024 * 1024;
const PAGE_BYTES = 64 * 1024;
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const PREFIX = "buddy-output-";

export interface SpoolLimits {
  readonly segmentBytes: number;
  readonly maxBytes: number;
}

export class Spool implements Disposable {
  readonly #limits: SpoolLimits;
  readonly #texts = new Map<string, SpooledText>();
  #directory: string | undefined;
  #next = 1;

  constructor(limits: Partial<SpoolLimits> = {}) {
    this.#limits = { segmentBytes: SEGMENT_BYTES, maxBytes: MAX_BYTES, ...limits };
  }

  open(prefix = "out"): SpooledText {
    const id = `${prefix}-${this.#next++}`;
    const text = new SpooledText(
      id,
      () => path.join(this.#home(), id),
      this.#limits.segmentBytes,
      () => this.#bound(),
    );
    this.#texts.set(id, text);
    return text;
  }

  find(id: string): SpooledText {
    const text = this.#texts.get(id);
    if (text !== undefined) return text;
    throw new BuddyError("tool", `no output is kept under ${JSON.stringify(id)}`, {
      hint: "Output can be read by the id that its result named, until the session ends.",
    });
  }

  [Symbol.dispose](): void {
    for (const text of this.#texts.values()) text.close();
    this.#texts.clear();
    if (this.#directory !== undefined) fs.rmSync(this.#directory, { recursive: true, force: true });
    this.#directory = undefined;
  }

  #home(): string {
    if (this.#directory !== undefined) return this.#directory;
    const place = temporaryDirectory();
    removeLeftovers(place);
    this.#directory = fs.mkdtempSync(path.join(place, `${PREFIX}${process.pid}-`));
    return this.#directory;
  }

  #bound(): void {
    let total = 0;
    for (const text of this.#texts.values()) total += text.keptBytes;
    while (total > this.#limits.maxBytes) {
      const largest = [...this.#texts.values()].reduce((a, b) => (b.keptBytes > a.keptBytes ? b : a));
      const freed = largest.dropMiddle();
      if (freed === 0) return;
      total -= freed;
    }
  }
}

/** What a crashed buddy left: its process id is in the name. */
function removeLeftovers(place: string): void {
  for (const name of fs.readdirSync(place)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || Number(pid) === process.pid || isAlive(Number(pid))) continue;
    try {
      fs.rmSync(path.join(place, name), { recursive: true, force: true });
    } catch {
      // Another user's directory: not ours to remove.
    }
  }
}

interface Segment {
  readonly start: number;
  size: number;
  readonly file: string;
  dropped: boolean;
}

export class SpooledText {
  readonly id: string;
  readonly #name: () => string;
  readonly #segmentBytes: number;
  readonly #grown: () => void;
  #segments: Segment[] = [];
  #fd: number | undefined;
  #buffer: string[] = [];
  #buffered = 0;
  #total = 0;
  #ended = false;

  constructor(id: string, name: () => string, segmentBytes: number, grown: () => void) {
    this.id = id;
    this.#name = name;
    this.#segmentBytes = segmentBytes;
    this.#grown = grown;
  }

  get totalBytes(): number {
    return this.#total;
  }

  get keptBytes(): number {
    return this.#segments.reduce((sum, one) => (one.dropped ? sum : sum + one.size), 0);
  }

  add(text: string): void {
    if (text === "") return;
    this.#buffer.push(text);
    this.#buffered += text.length;
    if (this.#buffered > 64 * 1024) this.#flush();
  }

  /** Nothing more will be added; can be read all the same. */
  end(): void {
    this.#flush();
    this.#ended = true;
    this.#closeFile();
  }

  close(): void {
    this.#closeFile();
    this.#buffer = [];
  }

  /** Gives up the oldest segment that is neither the first nor the last. */
  dropMiddle(): number {
    const middle = this.#segments.slice(1, -1).find((one) => !one.dropped);
    if (middle === undefined) return 0;
    middle.dropped = true;
    fs.rmSync(middle.file, { force: true });
    return middle.size;
  }

  read(options: ReadOutputOptions = {}, pending = ""): OutputPage {
    this.#flush();
    const limit = Math.min(Math.max(1, options.limit ?? PAGE_BYTES), MAX_PAGE_BYTES);
    const tail = Buffer.from(pending);
    const totalBytes = this.#total + tail.length;
    const offset = Math.min(Math.max(0, options.offset ?? 0), totalBytes);
    return options.filter === undefined
      ? this.#page(offset, limit, tail, totalBytes)
      : this.#matching(offset, limit, tail, totalBytes, compile(options.filter));
  }

  #page(offset: number, limit: number, tail: Buffer, totalBytes: number): OutputPage {
    const bytes = this.#bytes(offset, limit + 4, tail);
    const whole = wholeUtf8(bytes.data.subarray(0, limit), offset + limit >= totalBytes);
    const nextOffset = offset + bytes.skipped + whole.length;
    const gap = bytes.skipped > 0 ? `[${bytes.skipped} bytes are no longer kept]\n` : "";
    return { text: gap + whole.toString(), nextOffset, totalBytes, done: this.#ended && nextOffset >= totalBytes };
  }

  #matching(offset: number, limit: number, tail: Buffer, totalBytes: number, filter: RegExp): OutputPage {
    const found: string[] = [];
    let size = 0;
    let at = offset;
    let carry = Buffer.alloc(0);
    while (at < totalBytes) {
      const chunk = this.#bytes(at, 1024 * 1024, tail);
      const data = carry.length === 0 ? chunk.data : Buffer.concat([carry, chunk.data]);
      let lineStart = at + chunk.skipped - carry.length;
      at += chunk.skipped + chunk.data.length;
      let from = 0;
      for (;;) {
        let end = data.indexOf(10, from);
        if (end < 0 && at >= totalBytes && from < data.length) end = data.length;
        if (end < 0) break;
        const line = data.toString("utf8", from, end);
        if (filter.test(line)) {
          if (size > 0 && size + line.length > limit) {
            return { text: found.join(""), nextOffset: lineStart, totalBytes, done: false };
          }
          found.push(`${line}\n`);
          size += line.length + 1;
        }
        lineStart += end + 1 - from;
        from = end + 1;
        if (from >= data.length) break;
      }
      carry = Buffer.from(data.subarray(Math.min(from, data.length)));
      if (chunk.data.length === 0) break;
    }
    return { text: found.join(""), nextOffset: totalBytes, totalBytes, done: this.#ended };
  }

  #bytes(offset: number, length: number, tail: Buffer): { data: Buffer; skipped: number } {
    if (offset >= this.#total) {
      const from = offset - this.#total;
      return { data: tail.subarray(from, from + length), skipped: 0 };
    }
    let skipped = 0;
    for (const segment of this.#segments) {
      const end = segment.start + segment.size;
      const at = offset + skipped;
      if (at >= end) continue;
      if (segment.dropped) {
        skipped = end - offset;
        continue;
      }
      const size = Math.min(length, end - at);
      const data = Buffer.allocUnsafe(size);
      const fd = fs.openSync(segment.file, "r");
      try {
        const got = fs.readSync(fd, data, 0, size, at - segment.start);
        const more = got < length && end < this.#total + tail.length ? this.#bytes(end, length - got, tail) : undefined;
        const here = data.subarray(0, got);
        return { data: more === undefined || more.skipped > 0 ? here : Buffer.concat([here, more.data]), skipped };
      } finally {
        fs.closeSync(fd);
      }
    }
    return { data: tail.subarray(0, length), skipped };
  }

  #flush(): void {
    if (this.#buffered === 0) return;
    const bytes = Buffer.from(this.#buffer.join(""));
    this.#buffer = [];
    this.#buffered = 0;
    let segment = this.#segments.at(-1);
    if (segment === undefined || segment.size >= this.#segmentBytes) {
      this.#closeFile();
      segment = { start: this.#total, size: 0, file: `${this.#name()}.${this.#segments.length}`, dropped: false };
      this.#segments.push(segment);
    }
    this.#fd ??= fs.openSync(segment.file, "a", 0o600);
    fs.writeSync(this.#fd, bytes);
    segment.size += bytes.length;
    this.#total += bytes.length;
    if (segment.size >= this.#segmentBytes) this.#grown();
  }

  #closeFile(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd);
    this.#fd = undefined;
  }
}

function compile(filter: string): RegExp {
  try {
    return new RegExp(filter);
  } catch (error) {
    throw new BuddyError("tool", `filter is not a regular expression: ${(error as Error).message}`);
  }
}

/** Up to the last whole character, unless the text ends here anyway. */
function wholeUtf8(bytes: Buffer, last: boolean): Buffer {
  if (last) return bytes;
  let at = bytes.length;
  for (let back = 1; back <= 3 && at - back >= 0; back++) {
    const byte = bytes[at - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const need = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (need > back) at -= back;
    break;
  }
  return bytes.subarray(0, at === 0 ? bytes.length : at);
}
