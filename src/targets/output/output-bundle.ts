/** Short texts that ended together, in one file that never changes: a call on many machines has as many of them. */
import fs from "node:fs";
import path from "node:path";
import { inverted, numberOf, type OutputPiece, readInverted } from "./output-piece.ts";

export interface BundledText {
  readonly id: string;
  readonly piece: OutputPiece;
}

/** The lowest and the highest number of its ids are its name: an id that was used once is known without opening it. */
export function parseBundle(name: string): { readonly from: number; readonly to: number } | undefined {
  const [, from, to] = /^bundle-(\d{1,9})-(\d{1,9})$/.exec(name) ?? [];
  return from === undefined ? undefined : { from: Number(from), to: Number(to) };
}

/** All or nothing; throws where the file cannot be made. */
export function writeBundle(
  directory: string,
  texts: readonly { readonly id: string; readonly bytes: Buffer }[],
): readonly OutputPiece[] {
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
  return new Bundle(file, index.length).pieces(texts.map(({ bytes }) => bytes.length));
}

/** What is left of one; nothing where it was emptied or cut off. */
export function readBundle(file: string): readonly BundledText[] {
  try {
    const bytes = inverted(fs.readFileSync(file));
    const end = bytes.indexOf(10) + 1;
    const index = JSON.parse(bytes.toString("utf8", 0, end)) as readonly (readonly [string, number])[];
    const pieces = new Bundle(file, end).pieces(index.map(([, size]) => size));
    return index.map(([id], at) => ({ id, piece: pieces[at]! }));
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

  pieces(sizes: readonly number[]): OutputPiece[] {
    this.#left = sizes.length;
    let at = this.#begin;
    return sizes.map((size) => new BundledPiece(this, (at += size) - size, size));
  }

  /** The file goes with the last of its texts. */
  removed(): void {
    if (--this.#left === 0) fs.rmSync(this.file, { force: true });
  }
}

class BundledPiece implements OutputPiece {
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
