/** The texts of one session: what this process adds, what earlier ones left, and how much of it is kept. */
import fs from "node:fs";
import path from "node:path";
import { type BundledText, parseBundle, readBundle, writeBundle } from "./output-bundle.ts";
import { FilePiece, numberOf, type OutputPiece, parseName } from "./output-piece.ts";
import { type Places, StoredOutput } from "./stored-output.ts";

/** How long short texts of ended commands wait before they get a file. */
const LATER_MS = 250;
const MOST_LATER = 200;
/** So many of them share one. */
const FEWEST_TOGETHER = 8;
/** Where no disk takes anything. */
const MAX_MEMORY = 32 * 1024 * 1024;

export interface SessionOutputsOptions {
  readonly directory: string | undefined;
  readonly prepare: (directory: string) => void;
  readonly temporary: () => string;
  readonly hide: () => (text: string) => string;
  readonly failed: (error: unknown, bytes: number) => void;
  readonly segmentBytes: number;
  readonly maxBytes: number;
}

export class SessionOutputs implements Places {
  readonly segmentBytes: number;
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

  /** Of all numbers that ids have had. */
  get highest(): number {
    return (this.#highest ??= this.#names().reduce(
      (most, name) => Math.max(most, parseName(name)?.number ?? parseBundle(name)?.to ?? 0),
      0,
    ));
  }

  /** All that are stored, by their numbers. */
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

  /** Of this process. */
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
      // Removed: nothing is left that could be given up.
    }
  }

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

  /** Where that does not work, each is stored by itself. */
  #storeTogether(ended: readonly StoredOutput[]): void {
    const { directory } = this.#options;
    const texts = ended.flatMap((text) => {
      const bytes = text.unstored();
      return bytes === undefined ? [] : [{ text, id: text.id, bytes }];
    });
    if (directory === undefined || texts.length < FEWEST_TOGETHER) return;
    try {
      const pieces = writeBundle(this.#directory(directory), texts);
      for (const [at, { text }] of texts.entries()) text.storedIn(pieces[at]!);
    } catch {
      // The directory was removed, or its disk is full.
    }
  }

  close(): void {
    this.#storeNow();
    for (const text of this.#texts.values()) text.close();
    this.#texts.clear();
  }

  create(place: number, id: string, start: number, whole: boolean): FilePiece | undefined {
    const { directory, temporary } = this.#options;
    const make = [...(directory === undefined ? [] : [() => this.#directory(directory)]), temporary][place];
    if (make === undefined) return undefined;
    const marked = whole && this.lasting && place === 0;
    try {
      return FilePiece.create(make(), id, start, marked);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      // It was cleaned up.
      this.#prepared = false;
      return FilePiece.create(make(), id, start, marked);
    }
  }

  failed(place: number, error: unknown, bytes: number): void {
    if (place === 0) this.#options.failed(error, bytes);
  }

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

  /** What an earlier buddy left of this session. */
  #load(wanted: (id: string) => boolean, number?: number): StoredOutput[] {
    const found = Map.groupBy(
      this.#found(number).filter(({ id }) => wanted(id)),
      ({ id }) => id,
    );
    return [...found].map(([id, pieces]) => {
      const whole = pieces.some((one) => one.whole);
      const text = StoredOutput.found(
        id,
        this,
        pieces.map(({ piece }) => piece()),
        whole,
      );
      this.#texts.set(id, text);
      return text;
    });
  }

  /** The pieces on the disk: those of one id, or all. */
  #found(number?: number): Found[] {
    const directory = this.#options.directory ?? "";
    return this.#names().flatMap((name): Found[] => {
      const file = path.join(directory, name);
      const parsed = parseName(name);
      if (parsed !== undefined) {
        const { id, start, whole } = parsed;
        return [{ id, whole, piece: () => FilePiece.found(file, start) }];
      }
      const bundle = parseBundle(name);
      if (bundle === undefined || (number !== undefined && (number < bundle.from || number > bundle.to))) return [];
      return this.#bundled(file).map(({ id, piece }) => ({ id, whole: true, piece: () => piece }));
    });
  }

  /** Once: its texts know together when the last of them is given up. */
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
  piece(): OutputPiece;
}
