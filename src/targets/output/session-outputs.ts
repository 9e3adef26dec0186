/** The texts of one session: what this process adds, what earlier ones left, and how much of it is kept. */
import fs from "node:fs";
import path from "node:path";
import { FilePiece, parseName } from "./output-piece.ts";
import { type Places, StoredOutput } from "./stored-output.ts";

/** How long short texts of ended commands wait before they get a file. */
const LATER_MS = 250;
const MOST_LATER = 200;
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
  #highest: number | undefined;
  #prepared = false;
  #unchecked = 0;
  #later: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SessionOutputsOptions) {
    this.#options = options;
    this.segmentBytes = options.segmentBytes;
    this.lasting = options.directory !== undefined;
  }

  /** Of all numbers that ids have had. */
  get highest(): number {
    return (this.#highest ??= this.#files().reduce((most, { number }) => Math.max(most, number), 0));
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
    return this.#texts.get(id) ?? this.#load((name) => name === id)[0];
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

  later(act: () => void): void {
    this.#later.push(act);
    if (this.#later.length >= MOST_LATER) return this.#doNow();
    this.#timer ??= setTimeout(() => this.#doNow(), LATER_MS);
    this.#timer.unref();
  }

  #doNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const act of this.#later.splice(0)) act();
  }

  close(): void {
    this.#doNow();
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
  #load(wanted: (id: string) => boolean): StoredOutput[] {
    const found = Map.groupBy(
      this.#files().filter(({ id }) => wanted(id)),
      ({ id }) => id,
    );
    return [...found].map(([id, files]) => {
      const segments = files.map(({ file, start }) => FilePiece.found(file, start));
      const whole = files.some((file) => file.whole);
      const text = StoredOutput.found(id, this, segments, whole);
      this.#texts.set(id, text);
      return text;
    });
  }

  #files(): { id: string; number: number; start: number; whole: boolean; file: string }[] {
    const { directory } = this.#options;
    if (directory === undefined) return [];
    let names: string[];
    try {
      names = fs.readdirSync(directory);
    } catch {
      return [];
    }
    return names.flatMap((name) => {
      const parsed = parseName(name);
      return parsed === undefined ? [] : [{ ...parsed, file: path.join(directory, name) }];
    });
  }
}

/** Infinite for what is not an id. */
export function numberOf(id: string): number {
  return parseName(`${id}@0`)?.number ?? Number.POSITIVE_INFINITY;
}
