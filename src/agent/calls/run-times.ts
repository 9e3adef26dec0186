/**
 * When a call ran, and for how long: an operator who thinks about a question takes none of its time. When its lines of
 * output arrived: a few points in time, so that a recording plays at the same pace.
 */
export class RunTimes {
  readonly lines = new LineTimes();
  /** By the time of day, for reports. */
  #began: number | undefined;
  #runs: { readonly from: number; to: number }[] = [];

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#began ??= Date.now();
    const run = { from: performance.now(), to: Infinity };
    this.#runs.push(run);
    try {
      return await work();
    } finally {
      run.to = performance.now();
    }
  }

  /** The same call on several machines at once. */
  static together(all: readonly RunTimes[]): RunTimes {
    const one = new RunTimes();
    const starts = all.flatMap((times) => times.#began ?? []);
    if (starts.length > 0) one.#began = Math.min(...starts);
    one.#runs = all.flatMap((times) => times.#runs);
    return one;
  }

  /** How long at least one machine was running it. */
  get ms(): number {
    let total = 0;
    let until = 0;
    for (const { from, to } of this.#runs.toSorted((a, b) => a.from - b.from)) {
      const end = Math.min(to, performance.now());
      total += Math.max(0, end - Math.max(from, until));
      until = Math.max(until, end);
    }
    return Math.round(total);
  }

  /** As fields of `tool_finished`. */
  ended() {
    const began = this.#began === undefined ? {} : { began: new Date(this.#began).toISOString() };
    return { ...began, ms: this.ms, ...this.lines.ended() };
  }
}

/** How long before the end, in milliseconds, and how many lines had arrived by then. */
export type LineTime = readonly [before: number, lines: number];

class LineTimes {
  #lines = 0;
  #insideLine = false;
  #points: [at: number, lines: number][] = [];
  #step = STEP_MS;

  note(text: string): void {
    this.#insideLine = !text.endsWith("\n");
    let lines = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
    if (lines === 0) return;
    this.#lines += lines;
    const now = performance.now();
    const last = this.#points.at(-1);
    if (last !== undefined && now - last[0] < this.#step) last[1] = this.#lines;
    else this.#points.push([now, this.#lines]);
    if (this.#points.length <= MOST) return;
    // Each point counts all lines so far, so every other one can go.
    this.#points = this.#points.filter((_, at) => at % 2 === 1);
    this.#step *= 2;
  }

  /** How many lines there are, with one that has not ended. */
  get count(): number {
    return this.#lines + (this.#insideLine ? 1 : 0);
  }

  /** Nothing if all lines arrived together, or only at the end. */
  ended(): { readonly lines?: readonly LineTime[] } {
    const now = performance.now();
    const [first] = this.#points;
    if (first === undefined || now - first[0] < STEP_MS) return {};
    return { lines: this.#points.map(([at, lines]) => [Math.round(now - at), lines] as const) };
  }
}

const STEP_MS = 100;
const MOST = 200;
