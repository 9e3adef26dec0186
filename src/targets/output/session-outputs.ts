/** The outputs of one session: those of this process and of earlier ones, within a size limit. */
import fs from "node:fs";
import path from "node:path";
import { FileSegment, inverted, numberOf, type OutputSegment, parseName, readInverted } from "./output-segment.ts";
import { StoredOutput } from "./stored-output.ts";

/** How long short texts of ended commands wait before they are written. */
const LATER_MS = 250;
const MOST_LATER = 200;
/** At least this many share a file. */
const FEWEST_TOGETHER = 8;
/** If no disk has space. */
const MAX_MEMORY = 32 * 1024 * 1024;

interface SessionOutputsOptions {
  readonly directory: string | undefined;
  readonly prepare: (directory: string) => void;
  readonly temporary: () => string;
  readonly hide: () => (text: string) => string;
  readonly failed: (error: unknown, bytes: number) => void;
  readonly segmentBytes: number;
  readonly maxBytes: number;
}

export class SessionOutputs {
  readonly segmentBytes: number;
  /** False if the files are removed with this process: then writing early has no benefit. */
  readonly lasting: boolean;
  readonly #options: SessionOutputsOptions;
  readonly #texts = new Map<string, StoredOutput>();
  readonly #bundles = new Map<string, readonly BundledText[]>();
  #highest: number | undefined;
  #prepared = false;
  #unchecked = 0;
  #later: StoredOutput[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SessionOutputsOptions) {
    this.#options = options;
    this.segmentBytes = options.segmentBytes;
    this.lasting = options.directory !== undefined;
  }

  /** The highest number of any id. */
  get highest(): number {
    return (this.#highest ??= this.#names().reduce(
      (most, name) => Math.max(most, parseName(name)?.number ?? parseBundle(name)?.to ?? 0),
      0,
    ));
  }

  /** All stored ids, by number. */
  ids(): readonly string[] {
    const ids = new Set(this.#found().map(({ id }) => id));
    return [...ids].sort((a, b) => numberOf(a) - numberOf(b));
  }

  open(id: string): StoredOutput {
    const text = new StoredOutput(id, this);
    this.#highest = Math.max(this.highest, numberOf(id));
    this.#texts.set(id, text);
    return text;
  }

  /** Only those of this process. */
  opened(id: string): StoredOutput | undefined {
    return this.#texts.get(id);
  }

  find(id: string): StoredOutput | undefined {
    return this.#texts.get(id) ?? this.#load((one) => one === id, numberOf(id))[0];
  }

  touch(): void {
    const { directory } = this.#options;
    if (directory === undefined || !this.#prepared) return;
    try {
      fs.utimesSync(directory, new Date(), new Date());
    } catch {
      // The directory was removed.
    }
  }

  /** Stores a short text that has ended a little later: creating a file takes longer than many commands. */
  storeLater(text: StoredOutput): void {
    this.#later.push(text);
    if (this.#later.length >= MOST_LATER) return this.#storeNow();
    this.#timer ??= setTimeout(() => this.#storeNow(), LATER_MS);
    this.#timer.unref();
  }

  #storeNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const ended = this.#later.splice(0);
    this.#storeTogether(ended);
    for (const text of ended) text.store();
  }

  /** If that fails, each text is stored in its own file. */
  #storeTogether(ended: readonly StoredOutput[]): void {
    const { directory } = this.#options;
    const texts = ended.flatMap((text) => {
      const bytes = text.unstored();
      return bytes === undefined ? [] : [{ text, id: text.id, bytes }];
    });
    if (directory === undefined || texts.length < FEWEST_TOGETHER) return;
    try {
      const segments = writeBundle(this.#directory(directory), texts);
      for (const [at, { text }] of texts.entries()) text.storedIn(segments[at]!);
    } catch {
      // The directory was removed, or its disk is full.
    }
  }

  close(): void {
    this.#storeNow();
    for (const text of this.#texts.values()) text.close();
    this.#texts.clear();
  }

  /** A new file in the first location, the second, …; undefined if there are no more. Throws if that fails. */
  create(location: number, id: string, start: number, whole: boolean): FileSegment | undefined {
    const { directory, temporary } = this.#options;
    const make = [...(directory === undefined ? [] : [() => this.#directory(directory)]), temporary][location];
    if (make === undefined) return undefined;
    const marked = whole && this.lasting && location === 0;
    try {
      return FileSegment.create(make(), id, start, marked);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      // The directory was removed.
      this.#prepared = false;
      return FileSegment.create(make(), id, start, marked);
    }
  }

  /** A location could not store a text that has at least this many bytes. */
  failed(location: number, error: unknown, bytes: number): void {
    if (location === 0) this.#options.failed(error, bytes);
  }

  /** A filter for a new text that masks secrets; keeps the number of bytes. */
  hide(): (text: string) => string {
    return this.#options.hide();
  }

  grown(bytes: number): void {
    this.#unchecked += bytes;
    if (this.#unchecked < Math.min(this.segmentBytes, MAX_MEMORY / 4)) return;
    this.#unchecked = 0;
    this.#bound();
  }

  #bound(): void {
    this.#load((id) => !this.#texts.has(id));
    const oldestFirst = [...this.#texts.values()]
      .filter((text) => text.keptBytes > 0)
      .sort((a, b) => numberOf(a.id) - numberOf(b.id));
    let memory = oldestFirst.reduce((sum, text) => sum + text.memoryBytes, 0);
    for (const text of oldestFirst)
      for (let freed = 1; memory > MAX_MEMORY && text.memoryBytes > 0 && freed > 0; memory -= freed)
        freed = text.dropMiddle() || (text.ended ? text.drop() : 0);
    let total = oldestFirst.reduce((sum, text) => sum + text.keptBytes, 0);
    while (total > this.#options.maxBytes) {
      const largest = oldestFirst.reduce((a, b) => (b.keptBytes > a.keptBytes ? b : a));
      const freed = largest.dropMiddle() || (oldestFirst.find((text) => text.ended && text.keptBytes > 0)?.drop() ?? 0);
      if (freed === 0) return;
      total -= freed;
    }
  }

  #directory(directory: string): string {
    if (!this.#prepared) this.#options.prepare(directory);
    this.#prepared = true;
    return directory;
  }

  /** Outputs of this session from an earlier process. */
  #load(wanted: (id: string) => boolean, number?: number): StoredOutput[] {
    const found = Map.groupBy(
      this.#found(number).filter(({ id }) => wanted(id)),
      ({ id }) => id,
    );
    return [...found].map(([id, segments]) => {
      const whole = segments.some((one) => one.whole);
      const text = StoredOutput.found(
        id,
        this,
        segments.map(({ segment }) => segment()),
        whole,
      );
      this.#texts.set(id, text);
      return text;
    });
  }

  /** The segments on disk: those of one id, or all. */
  #found(number?: number): Found[] {
    const directory = this.#options.directory ?? "";
    return this.#names().flatMap((name): Found[] => {
      const file = path.join(directory, name);
      const parsed = parseName(name);
      if (parsed !== undefined) {
        const { id, start, whole } = parsed;
        return [{ id, whole, segment: () => FileSegment.found(file, start) }];
      }
      const bundle = parseBundle(name);
      if (bundle === undefined || (number !== undefined && (number < bundle.from || number > bundle.to))) return [];
      return this.#bundled(file).map(({ id, segment }) => ({ id, whole: true, segment: () => segment }));
    });
  }

  /** Read only once: its segments must share a count of those that are left. */
  #bundled(file: string): readonly BundledText[] {
    const bundled = this.#bundles.get(file) ?? readBundle(file);
    this.#bundles.set(file, bundled);
    return bundled;
  }

  #names(): string[] {
    const { directory } = this.#options;
    if (directory === undefined) return [];
    try {
      return fs.readdirSync(directory);
    } catch {
      return [];
    }
  }
}

interface Found {
  readonly id: string;
  readonly whole: boolean;
  segment(): OutputSegment;
}

// ── Short texts that ended at about the same time, in one read-only file: a call on many machines has many of them.

interface BundledText {
  readonly id: string;
  readonly segment: OutputSegment;
}

/** The name has the lowest and the highest number of its ids, so that used ids are known without opening the file. */
function parseBundle(name: string): { readonly from: number; readonly to: number } | undefined {
  const [, from, to] = /^bundle-(\d{1,9})-(\d{1,9})$/.exec(name) ?? [];
  return from === undefined ? undefined : { from: Number(from), to: Number(to) };
}

/** All or nothing; throws if the file cannot be written. */
function writeBundle(
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
function readBundle(file: string): readonly BundledText[] {
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
