/** Short texts that ended at about the same time, in one read-only file: a call on many machines has many of them. */
import fs from "node:fs";
import path from "node:path";
import { inverted, numberOf, type OutputSegment, readInverted } from "./output-segment.ts";

export interface BundledText {
  readonly id: string;
  readonly segment: OutputSegment;
}

/** The name has the lowest and the highest number of its ids, so that used ids are known without opening the file. */
export function parseBundle(name: string): { readonly from: number; readonly to: number } | undefined {
  const [, from, to] = /^bundle-(\d{1,9})-(\d{1,9})$/.exec(name) ?? [];
  return from === undefined ? undefined : { from: Number(from), to: Number(to) };
}

/** All or nothing; throws if the file cannot be written. */
export function writeBundle(
  directory: string,
  texts: readonly { readonly id: string; readonly bytes: Buffer }[],
): readonly OutputSegment[] {
  const numbers = texts.map(({ id }) => numberOf(id));
  const file = path.join(directory, `bundle-${Math.min(...numbers)}-${Math.max(...numbers)}`);
  const index = Buffer.from(`${JSON.stringify(texts.map(({ id, bytes }) => [id, bytes.length]))}\n`);
  try {
    fs.writeFileSync(file, inverted(Buffer.concat([index, ...texts.map(({ bytes }) => bytes)])), {
      flag: "wx",
      mode: 0o600,
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") fs.rmSync(file, { force: true });
    throw error;
  }
  return new Bundle(file, index.length).segments(texts.map(({ bytes }) => bytes.length));
}

/** The texts of a bundle; none if it was emptied or truncated. */
export function readBundle(file: string): readonly BundledText[] {
  try {
    const bytes = inverted(fs.readFileSync(file));
    const end = bytes.indexOf(10) + 1;
    const index = JSON.parse(bytes.toString("utf8", 0, end)) as readonly (readonly [string, number])[];
    const segments = new Bundle(file, end).segments(index.map(([, size]) => size));
    return index.map(([id], at) => ({ id, segment: segments[at]! }));
  } catch {
    return [];
  }
}

class Bundle {
  readonly file: string;
  readonly #begin: number;
  #left = 0;

  constructor(file: string, begin: number) {
    this.file = file;
    this.#begin = begin;
  }

  segments(sizes: readonly number[]): OutputSegment[] {
    this.#left = sizes.length;
    let at = this.#begin;
    return sizes.map((size) => new BundledSegment(this, (at += size) - size, size));
  }

  /** The file is removed with the last of its texts. */
  removed(): void {
    if (--this.#left === 0) fs.rmSync(this.file, { force: true });
  }
}

class BundledSegment implements OutputSegment {
  readonly start = 0;
  readonly inMemory = false;
  size: number;
  readonly #bundle: Bundle;
  readonly #at: number;

  constructor(bundle: Bundle, at: number, size: number) {
    this.#bundle = bundle;
    this.#at = at;
    this.size = size;
  }

  write(): void {
    throw new Error("a text in a bundle has ended");
  }

  draft(): void {}

  read(at: number, length: number): Buffer | undefined {
    return readInverted(this.#bundle.file, this.#at + at, Math.min(length, this.size - at));
  }

  remove(): void {
    this.size = 0;
    this.#bundle.removed();
  }

  close(): void {}
}
