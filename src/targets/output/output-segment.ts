/** A segment of an output: in a file if a disk has space for it, otherwise in memory. */
import fs from "node:fs";
import path from "node:path";

export interface OutputSegment {
  /** Offset of its first byte in the text. */
  readonly start: number;
  readonly size: number;
  readonly inMemory: boolean;
  /** All or nothing; throws if there is no space. */
  write(bytes: Buffer): void;
  /** Appends text that may still change; the next `draft` or `write` replaces it. */
  draft(bytes: Buffer): void;
  /** Undefined if it is gone. */
  read(at: number, length: number): Buffer | undefined;
  remove(): void;
  /** `whole`: this is the end of a text that is stored from its beginning. */
  close(whole: boolean): void;
}

const WHOLE = ".end";

/** Which text a file belongs to, at which offset, and whether the text ends in it: `out-3@0`, `out-3@33554432.end`. */
export function parseName(name: string): { id: string; number: number; start: number; whole: boolean } | undefined {
  const [, id, number, start, end] = /^(\w+-(\d{1,9}))@(\d{1,15})(\.end)?$/.exec(name) ?? [];
  if (id === undefined) return undefined;
  return { id, number: Number(number), start: Number(start), whole: end !== undefined };
}

/** Infinite if it is not an id. */
export function numberOf(id: string): number {
  return parseName(`${id}@0`)?.number ?? Number.POSITIVE_INFINITY;
}

export class FileSegment implements OutputSegment {
  readonly start: number;
  readonly inMemory = false;
  size = 0;
  #file: string;
  #fd: number | undefined;
  #drafted = 0;

  private constructor(file: string, start: number) {
    this.#file = file;
    this.start = start;
  }

  /** `whole`: the text begins and ends in it. */
  static create(directory: string, id: string, start: number, whole: boolean): FileSegment {
    const segment = new FileSegment(path.join(directory, `${id}@${start}${whole ? WHOLE : ""}`), start);
    segment.#fd = fs.openSync(segment.#file, "wx", 0o600);
    return segment;
  }

  static found(file: string, start: number): FileSegment {
    const segment = new FileSegment(file, start);
    segment.size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    return segment;
  }

  write(bytes: Buffer): void {
    this.#put(bytes);
    this.size += bytes.length;
  }

  draft(bytes: Buffer): void {
    this.#put(bytes);
    this.#drafted = bytes.length;
  }

  read(at: number, length: number): Buffer | undefined {
    return readInverted(this.#file, at, Math.min(length, this.size - at));
  }

  remove(): void {
    this.#closeFile();
    fs.rmSync(this.#file, { force: true });
  }

  close(whole: boolean): void {
    this.#closeFile();
    if (!whole || this.#file.endsWith(WHOLE)) return;
    try {
      fs.renameSync(this.#file, this.#file + WHOLE);
      this.#file += WHOLE;
    } catch {
      // It was removed.
    }
  }

  #put(bytes: Buffer): void {
    const fd = (this.#fd ??= fs.openSync(this.#file, "r+"));
    if (this.#drafted > 0) fs.ftruncateSync(fd, this.size);
    this.#drafted = 0;
    try {
      for (let done = 0; done < bytes.length;) {
        const data = inverted(copy.subarray(0, bytes.copy(copy, 0, done)));
        done += fs.writeSync(fd, data, 0, data.length, this.size + done);
      }
    } catch (error) {
      fs.ftruncateSync(fd, this.size);
      throw error;
    }
  }

  #closeFile(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd);
    this.#fd = undefined;
  }
}

export class MemorySegment implements OutputSegment {
  readonly start: number;
  readonly inMemory = true;
  #data: Buffer | undefined = Buffer.alloc(0);

  constructor(start: number) {
    this.start = start;
  }

  get size(): number {
    return this.#data?.length ?? 0;
  }

  write(bytes: Buffer): void {
    this.#data = Buffer.concat([this.#data ?? Buffer.alloc(0), bytes]);
  }

  draft(): void {}

  read(at: number, length: number): Buffer | undefined {
    return this.#data?.subarray(at, at + length);
  }

  remove(): void {
    this.#data = undefined;
  }

  close(): void {}
}

/** Undefined if it cannot be read. */
export function readInverted(file: string, at: number, length: number): Buffer | undefined {
  const data = Buffer.allocUnsafe(length);
  try {
    const fd = fs.openSync(file, "r");
    try {
      return inverted(data.subarray(0, fs.readSync(fd, data, 0, length, at)));
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** Reused for every write: new buffers would be as much garbage as there is output. */
const copy = Buffer.allocUnsafeSlow(32 * 1024);

/** Inverts every bit: otherwise a `grep -r` through the home would find its own output in the file, without end. */
export function inverted(bytes: Buffer): Buffer {
  for (let at = 0; at < bytes.length; at++) bytes[at] = ~(bytes[at] as number);
  return bytes;
}
