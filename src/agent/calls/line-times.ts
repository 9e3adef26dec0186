/** When the lines of a command's output arrived: a few points in time, so that a recording plays at the same pace. */

/** How long before the end, in milliseconds, and how many lines had arrived by then. */
export type LineTime = readonly [before: number, lines: number];

export class LineTimes {
  #lines = 0;
  #points: [at: number, lines: number][] = [];
  #step = STEP_MS;

  note(text: string): void {
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
