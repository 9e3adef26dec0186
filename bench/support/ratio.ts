/** The ratio of two binaries from pairs of samples that were taken one right after the other. */

export interface Ratio {
  readonly name: string;
  readonly unit: string;
  /** Medians. */
  readonly own: number;
  readonly other: number;
  /** Median of own / other over the pairs. */
  readonly ratio: number;
  /** The 95 % interval of that median; undefined for fewer than six pairs. */
  readonly interval: readonly [low: number, high: number] | undefined;
  /** Of the fastest tenths: what a busy machine disturbs least. */
  readonly fastest: number;
}

export function ratioOf(name: string, unit: string, pairs: readonly (readonly [own: number, other: number])[]): Ratio {
  const ratios = pairs.map(([own, other]) => own / other).toSorted((a, b) => a - b);
  const at = (share: number) => (values: readonly number[]) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
  const [middle, tenth] = [at(0.5), at(0.1)];
  // By rank, so that no distribution is assumed: the sign test.
  const low = Math.floor(ratios.length / 2 - 0.98 * Math.sqrt(ratios.length));
  const [from, to] = [ratios[low], ratios[ratios.length - 1 - low]];
  return {
    name,
    unit,
    own: middle(pairs.map(([own]) => own)),
    other: middle(pairs.map(([, other]) => other)),
    ratio: middle(ratios),
    fastest: tenth(pairs.map(([own]) => own)) / tenth(pairs.map(([, other]) => other)),
    interval: low < 0 || from === undefined || to === undefined ? undefined : [from, to],
  };
}

/** One row: a figure is called more or less only where its interval leaves 1 out. */
export function ratioRow({ name, unit, own, other, ratio, interval, fastest }: Ratio): string {
  const value = (number: number) => `${number.toFixed(2)} ${unit}`;
  const [low, high] = interval ?? [];
  const verdict = low === undefined || high === undefined ? "too few" : low > 1 ? "more" : high < 1 ? "less" : "same";
  const range = low === undefined || high === undefined ? "" : `${low.toFixed(3)}–${high.toFixed(3)}`;
  return ratioLine([name, value(own), value(other), ratio.toFixed(3), range, fastest.toFixed(3), verdict]);
}

export const RATIO_HEADINGS: readonly string[] = ["", "dist/buddy", "other", "ratio", "95 % interval", "fastest", ""];

export function ratioLine(cells: readonly string[]): string {
  const widths = [-52, 11, 11, 8, 14, 8];
  return cells
    .map((cell, at) => ((widths[at] ?? 0) < 0 ? cell.padEnd(-widths[at]!) : cell.padStart(widths[at] ?? 0)))
    .join(" ")
    .trimEnd();
}
