/**
 * Which keys answer a question: one key alone, once the whole question was on the screen for a moment and the keys had
 * rested. A burst, a paste, a key held down and a second tap were meant for something else.
 */
import type { KeyInput, TerminalInput } from "../terminal/keys.ts";

export class KeyGuard {
  readonly #now: () => number;
  #shownAt: number | undefined;
  #keyAt = 0;
  #open = false;
  /** What may be an answer, if nothing follows it. */
  #held: KeyInput[] = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The whole question has left for the terminal; again, if it was not hidden since. */
  shown(): void {
    this.#shownAt ??= this.#now();
  }

  hidden(): void {
    this.#shownAt = undefined;
    this.#open = false;
    this.#held = [];
  }

  /** A key counts now: until then the question does not ask for one. */
  get open(): boolean {
    return this.#open;
  }

  /** When `look` is to be called, in milliseconds since the epoch. */
  get due(): number | undefined {
    if (this.#shownAt === undefined) return undefined;
    if (!this.#open) return Math.max(this.#shownAt, this.#keyAt) + REST_MS;
    return this.#held.length === 0 ? undefined : this.#keyAt + ALONE_MS;
  }

  /** One chunk of keys and pastes. */
  take(inputs: readonly TerminalInput[]): TakenKeys {
    const now = this.#now();
    const pause = now - this.#keyAt;
    const held = this.#held;
    this.#keyAt = now;
    this.#held = [];
    const [only] = inputs;
    if (inputs.length === 1 && only?.kind === "key" && stops(only)) return { answer: [only], refused: held };
    // A paste has its own marks: what is typed after it is not of it.
    if (inputs.every(({ kind }) => kind === "paste")) return { answer: [], refused: [...held, ...inputs] };
    if (!this.#open || inputs.length !== 1 || only?.kind !== "key") return this.#refuse([...held, ...inputs]);
    if (held.length === 0) {
      if (!isCharacter(only)) return { answer: [only], refused: [] };
      this.#held = [only];
      return NOTHING;
    }
    if (pause < BURST_MS) return this.#refuse([...held, only]);
    // "y" and Enter, or "no" and Enter, out of habit.
    if (only.name === "enter" && isWord(held))
      return { answer: letterOf(held) === "n" ? [held[0]!, only] : held.slice(0, 1), refused: [] };
    if (!isCharacter(only) || !beginsWord([...held, only])) return this.#refuse([...held, only]);
    this.#held = [...held, only];
    return NOTHING;
  }

  /** Time has passed without a key. */
  look(): TakenKeys {
    const { due } = this;
    if (due === undefined || this.#now() < due) return NOTHING;
    if (!this.#open) {
      this.#open = true;
      return NOTHING;
    }
    const held = this.#held;
    this.#held = [];
    return isWord(held) ? { answer: held.slice(0, 1), refused: [] } : this.#refuse(held);
  }

  /** The keys have to rest again before one counts. */
  #refuse(refused: readonly TerminalInput[]): TakenKeys {
    this.#open = false;
    return { answer: [], refused };
  }
}

export interface TakenKeys {
  readonly answer: readonly KeyInput[];
  /** They answer nothing, and the operator is told. */
  readonly refused: readonly TerminalInput[];
}

const NOTHING: TakenKeys = { answer: [], refused: [] };

/** They approve nothing, at any time. */
function stops({ ctrl, name }: KeyInput): boolean {
  return ctrl && (name === "c" || name === "d");
}

function isCharacter({ ctrl, alt, name }: KeyInput): boolean {
  return !ctrl && !alt && [...name].length === 1;
}

function letterOf(keys: readonly KeyInput[]): string {
  return keys[0]!.name.toLowerCase();
}

function isWord(keys: readonly KeyInput[]): boolean {
  return keys.length === 1 || WORDS.includes(textOf(keys));
}

function beginsWord(keys: readonly KeyInput[]): boolean {
  const text = textOf(keys);
  return WORDS.some((word) => word.startsWith(text));
}

function textOf(keys: readonly KeyInput[]): string {
  return keys.map(({ name }) => name.toLowerCase()).join("");
}

/** Answers that people write out, letter by letter. */
const WORDS = ["yes", "no", "always"];

/** A question that has been on the screen for less is still unread; keys that pause for less belong together. */
export const REST_MS = 500;
/** What follows a key within this belongs to it: a word, or a second tap. */
export const ALONE_MS = 250;
/** No hand presses two keys within this. */
const BURST_MS = 25;
