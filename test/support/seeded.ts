/** Reproducible randomness for property tests: the same seed gives the same cases on every machine. */
export class Seeded {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 ≤ n < limit (mulberry32). */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % limit;
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** Up to `most` items joined. */
  text(items: readonly string[], most: number): string {
    return Array.from({ length: this.below(most + 1) }, () => this.of(items)).join("");
  }
}

/** How many cases a property test makes: BUDDY_FUZZ=1000000 for the long run. */
export function cases(usual: number): number {
  return Number(process.env["BUDDY_FUZZ"] ?? usual);
}

/** Milliseconds a property test may take: the long run on a busy machine. */
export const LONG = Math.max(600_000, 6 * cases(0));
