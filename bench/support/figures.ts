/** One figure of a bench: printed as a row, and given to `bun run bench` as data where that asks for it. */
import { appendFileSync } from "node:fs";

export interface Figure {
  readonly name: string;
  /** The median where there were several samples. */
  readonly value: number;
  readonly unit: string;
  /** Of the samples, from the tenth to the ninetieth in a hundred. */
  readonly spread?: readonly [low: number, high: number];
  /** "≤ 3" or "≥ 8", in the same unit. */
  readonly goal?: string;
  readonly met?: boolean;
}

/** Samples give their median and spread; a single number stands for itself. */
export function figure(name: string, measured: number | readonly number[], unit: string, goal?: string): Figure {
  const sorted = typeof measured === "number" ? [measured] : measured.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  const value = at(0.5);
  const made: Figure = {
    name,
    value,
    unit,
    ...(sorted.length > 2 && { spread: [at(0.1), at(0.9)] as const }),
    ...(goal !== undefined && { goal, met: isMet(value, goal) }),
  };
  console.log(
    [name.padEnd(58), shown(made).padStart(16), spreadOf(made).padStart(20), "  ", goalOf(made)].join(" ").trimEnd(),
  );
  const file = process.env["BENCH_FIGURES"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(made)}\n`);
  return made;
}

function isMet(value: number, goal: string): boolean {
  const [, sign, limit] = /^([≤≥]) ([\d.]+)$/.exec(goal) ?? [];
  if (limit === undefined) throw new Error(`not a goal: ${goal}`);
  return sign === "≤" ? value <= Number(limit) : value >= Number(limit);
}

export function shown({ value, unit }: Figure): string {
  return `${round(value)} ${unit}`.trim();
}

export function spreadOf({ spread }: Figure): string {
  return spread === undefined ? "" : `${round(spread[0])}–${round(spread[1])}`;
}

export function goalOf({ goal, met }: Figure): string {
  return goal === undefined ? "" : met === true ? goal : `${goal}, missed`;
}

/** Three digits that count. */
function round(value: number): string {
  if (!Number.isFinite(value)) return "?";
  const size = Math.abs(value);
  return size >= 100 ? Math.round(value).toLocaleString("en").replaceAll(",", " ") : value.toFixed(size >= 10 ? 1 : 2);
}
