/**
 * What was typed before: recalled with Up and Down, searched with Ctrl-R, kept in a private file of all buddies.
 */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { lock } from "../../lib/kernel-lock.ts";
import { requirePlainFiles } from "../../lib/files.ts";
import { graphemes } from "../../lib/text.ts";
import type { KeyInput } from "../terminal/keys.ts";
import { type Cell, textOf } from "./line-buffer.ts";

export class History {
  /** Read at their first use: the prompt does not need them. */
  #entries: string[] | undefined;
  readonly #hide: (entry: string) => string;
  #path: string | undefined;
  #failed: unknown;
  #stored: Promise<void> = Promise.resolve();

  /** Without a path nothing is read or written. `hide` takes secrets out of what goes into the file. */
  constructor(path: string | undefined, hide: (entry: string) => string = (entry) => entry) {
    this.#path = path;
    this.#hide = hide;
  }

  get entries(): readonly string[] {
    return (this.#entries ??= this.#path === undefined ? [] : parse(readIfThere(this.#path)));
  }

  /** Why the file could not be written, once. */
  takeFailure(): unknown {
    const failure = this.#failed;
    this.#failed = undefined;
    return failure;
  }

  /** Remembers an entry; an older copy is removed. */
  add(entry: string): void {
    if (entry.trim() === "") return;
    this.#entries = appended(this.entries, entry);
    if (entry.length <= PERSIST_CHARACTERS) this.#stored = this.#stored.then(() => this.#store(this.#hide(entry)));
  }

  /** Everything added so far is in the file, or has failed. */
  async settled(): Promise<void> {
    await this.#stored;
  }

  async #store(entry: string): Promise<void> {
    if (this.#path === undefined) return;
    try {
      await store(this.#path, entry);
    } catch (error) {
      this.#failed = error;
      this.#path = undefined;
    }
  }

  /** Newest entry at or before `from` that contains the text; upper case matters only if it was typed. */
  search(text: string, from: number): number | undefined {
    const fold = text === text.toLowerCase();
    for (let index = Math.min(from, this.entries.length - 1); index >= 0; index--) {
      const entry = this.entries[index]!;
      if ((fold ? entry.toLowerCase() : entry).includes(text)) return index;
    }
    return undefined;
  }
}

export const HISTORY_ENTRIES = 2000;
/** Longer entries (pastes) stay in memory only. */
const PERSIST_CHARACTERS = 32 * 1024;

function appended(entries: readonly string[], entry: string): string[] {
  const kept = entries.filter((other) => other !== entry);
  kept.push(entry);
  return kept.slice(-HISTORY_ENTRIES);
}

/** Read, add, write and rename under a lock: two buddies that add at the same moment both keep their line. */
async function store(path: string, entry: string): Promise<void> {
  const { chmod, mkdir, rename, writeFile } = await import("node:fs/promises");
  requirePlainFiles(path);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const held = await lock(`${path}.lock`, AbortSignal.timeout(LOCK_WAIT_MS));
  try {
    const entries = appended(parse(readIfThere(path)), entry);
    // Not writeFileAtomic: its fsync would hold up the next key on a busy disk, and a history line is not worth that.
    const temporary = `${path}.${process.pid}.tmp`;
    await writeFile(temporary, entries.map((line) => `${escape(line)}\n`).join(""), { mode: 0o600 });
    await chmod(temporary, 0o600);
    await rename(temporary, path);
  } finally {
    held.release();
  }
}

const LOCK_WAIT_MS = 5000;

/** One entry a line: a newline is written \n, a backslash before n or a backslash is doubled. */
function escape(entry: string): string {
  return entry.replace(/\\(?=[\\n\n]|$)/g, "\\\\").replaceAll("\n", "\\n");
}

function parse(text: string): string[] {
  const seen = new Set<string>();
  const entries: string[] = [];
  const lines = text.split("\n");
  for (let index = lines.length - 1; index >= 0; index--) {
    if (lines[index] === "") continue;
    const entry = lines[index]!.replace(/\\([\\n])/g, (_, what: string) => (what === "n" ? "\n" : "\\"));
    if (seen.has(entry)) continue;
    seen.add(entry);
    entries.push(entry);
    if (entries.length === HISTORY_ENTRIES) break;
  }
  return entries.toReversed();
}

function readIfThere(path: string): string {
  try {
    requirePlainFiles(path);
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Ctrl-R: finds earlier lines while the operator types a part of them. */
export class HistorySearch {
  readonly #history: History;
  readonly #before: readonly Cell[];
  #query = "";
  #index: number | undefined;
  #failed = false;

  constructor(history: History, before: readonly Cell[]) {
    this.#history = history;
    this.#before = before;
  }

  get query(): string {
    return this.#query;
  }

  get failed(): boolean {
    return this.#failed;
  }

  get match(): string | undefined {
    return this.#index === undefined ? undefined : this.#history.entries[this.#index];
  }

  /** What the line shows: the match, or what stood there before. */
  get shown(): string {
    return this.match ?? textOf(this.#before);
  }

  /** `take`: into the line; `run`: into the line and let the key act; `cancel`: the line as it was. */
  key(input: KeyInput): "stay" | "take" | "run" | "cancel" {
    if (input.ctrl && input.name === "r") return this.#find((this.#index ?? this.#history.entries.length) - 1);
    if (input.ctrl && input.name === "s") return this.#forward();
    if (input.ctrl && (input.name === "g" || input.name === "c")) return "cancel";
    if (input.name === "escape" || input.name === "tab") return "take";
    if (input.name === "backspace" || (input.ctrl && input.name === "h")) {
      this.#query = graphemes(this.#query).slice(0, -1).join("");
      this.#index = undefined;
      return this.#find(this.#history.entries.length - 1);
    }
    if (input.ctrl || input.alt || [...input.name].length !== 1) return "run";
    this.#query += input.name;
    return this.#find(this.#index ?? this.#history.entries.length - 1);
  }

  #find(from: number): "stay" {
    if (this.#query === "" && this.#index === undefined && from >= this.#history.entries.length - 1) {
      this.#failed = false;
      return "stay";
    }
    const found = this.#history.search(this.#query, from);
    this.#failed = found === undefined;
    if (found !== undefined) this.#index = found;
    return "stay";
  }

  #forward(): "stay" {
    const { entries } = this.#history;
    for (let index = (this.#index ?? entries.length) + 1; index < entries.length; index++) {
      if (this.#history.search(this.#query, index) === index) {
        this.#index = index;
        this.#failed = false;
        return "stay";
      }
    }
    this.#failed = true;
    return "stay";
  }
}
