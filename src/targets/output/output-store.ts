/**
 * The full output of every command while its session is kept: private local files of limited size. Not on the target:
 * every byte was transferred already, so reading needs no round trip, works while the connection is down, and uses no
 * disk of the target.
 */
import fs from "node:fs";
import path from "node:path";
import { BuddyError } from "../../lib/errors.ts";
import { fileError } from "../../lib/files.ts";
import { hasEnded, processMark } from "../../lib/processes.ts";
import { temporaryDirectory } from "../../lib/local-directories.ts";
import type { OutputDirectory, OutputPage, ReadOutputOptions } from "../target.ts";
import { numberOf } from "./output-segment.ts";
import { SessionOutputs } from "./session-outputs.ts";
import type { StoredOutput } from "./stored-output.ts";

/** Above the limit, old text is removed in units of one segment. */
const SEGMENT_BYTES = 32 * 1024 * 1024;
/** `yes` writes 2 GB in a minute: above this the middle of the largest output is removed, then the oldest outputs. */
const MAX_BYTES = 1024 * 1024 * 1024;
/** Shorter texts are in the conversation anyway. */
const WORTH_A_WARNING = 16 * 1024;
const TOUCH_MS = 12 * 3600 * 1000;
const PREFIX = "buddy-output-";

export interface OutputStoreOptions {
  readonly segmentBytes: number;
  readonly maxBytes: number;
  /** Where texts are kept; without it they are removed when this process ends. */
  readonly store: OutputDirectory | undefined;
  readonly tell: (warning: string) => void;
}

export class OutputStore implements Disposable {
  readonly #options: OutputStoreOptions;
  readonly #sessions = new Map<string, SessionOutputs>();
  readonly #touch: ReturnType<typeof setInterval> | undefined;
  /** A number is never used twice in one process, even if the session changes. */
  #next = 1;
  #temporary: string | undefined;
  #warned = false;
  #users = 0;

  constructor(options: Partial<OutputStoreOptions> = {}) {
    this.#options = {
      segmentBytes: SEGMENT_BYTES,
      maxBytes: MAX_BYTES,
      store: undefined,
      tell: () => {},
      ...options,
    };
    if (options.store?.directory() === undefined) return;
    // Outputs of an unused session are removed after some time: mark this one as used.
    this.#touch = setInterval(() => this.#outputs().touch(), TOUCH_MS);
    this.#touch.unref();
  }

  /** One for all targets with the same `store`, so that ids are unique among them; the last to close it ends it. */
  static of(store: OutputDirectory | undefined, tell: (warning: string) => void): OutputStore {
    const found = (store && STORES.get(store)) ?? new OutputStore({ store, tell: store?.tell ?? tell });
    if (store !== undefined) STORES.set(store, found);
    found.#users++;
    return found;
  }

  open(prefix = "out"): StoredOutput {
    const outputs = this.#outputs();
    this.#next = Math.max(this.#next, outputs.highest + 1);
    return outputs.open(`${prefix}-${this.#next++}`);
  }

  /** A page of an earlier text; with a filter only the lines that match. */
  async read(id: string, { filter, ...page }: ReadOutputOptions = {}): Promise<OutputPage> {
    const text = this.find(id);
    return filter === undefined ? text.read(page) : await text.search(filter, page);
  }

  find(id: string): StoredOutput {
    const current = this.#outputs();
    const text = current.find(id) ?? [...this.#sessions.values()].map((outputs) => outputs.opened(id)).find(Boolean);
    if (text !== undefined && !text.givenUp) return text;
    if (text !== undefined || numberOf(id) <= current.highest)
      throw new BuddyError("tool", `the output ${JSON.stringify(id)} is no longer kept`, {
        hint: "When there are too many, the oldest outputs are removed first, and those of sessions unused for two weeks. Run the command again.",
      });
    throw new BuddyError("tool", `there is no output ${JSON.stringify(id)}`, {
      hint: "Use the id from the result of the command; its output is kept as long as the session.",
    });
  }

  [Symbol.dispose](): void {
    if (--this.#users > 0) return;
    const { store } = this.#options;
    if (store !== undefined) STORES.delete(store);
    clearInterval(this.#touch);
    for (const outputs of this.#sessions.values()) outputs.close();
    this.#sessions.clear();
    if (this.#temporary !== undefined) fs.rmSync(this.#temporary, { recursive: true, force: true });
    this.#temporary = undefined;
  }

  #outputs(): SessionOutputs {
    const { store, segmentBytes, maxBytes } = this.#options;
    const directory = store?.directory();
    const known = this.#sessions.get(directory ?? "");
    if (known !== undefined) return known;
    const outputs = new SessionOutputs({
      directory,
      prepare: (wanted) => store?.prepare(wanted),
      temporary: () => this.#home(),
      hide: () => store?.hide() ?? ((text) => text),
      failed: (error, bytes) => this.#failed(error, bytes),
      segmentBytes,
      maxBytes,
    });
    this.#sessions.set(directory ?? "", outputs);
    return outputs;
  }

  #failed(error: unknown, bytes: number): void {
    if (this.#warned || this.#options.store?.directory() === undefined || bytes < WORTH_A_WARNING) return;
    this.#warned = true;
    const why = fileError(error);
    this.#options.tell(
      `The full output of commands cannot be saved with the session (${why}): it will be lost when buddy ends.`,
    );
  }

  #home(): string {
    if (this.#temporary !== undefined && fs.existsSync(this.#temporary)) return this.#temporary;
    const location = temporaryDirectory();
    removeLeftovers(location);
    return (this.#temporary = fs.mkdtempSync(path.join(location, `${PREFIX}${processMark()}-`)));
  }
}

const STORES = new WeakMap<OutputDirectory, OutputStore>();

/** Removes what a crashed buddy left: its process is in the name. */
function removeLeftovers(location: string): void {
  for (const name of fs.readdirSync(location)) {
    const mark = new RegExp(`^${PREFIX}(\\d+-[0-9a-z]+)-`).exec(name)?.[1];
    if (mark === undefined || !hasEnded(mark)) continue;
    try {
      fs.rmSync(path.join(location, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user.
    }
  }
}
