/**
 * Runs steps side by side until the time is over, with one REPL beside them, and reports what was done and what is
 * wrong.
 */
import { checkAll } from "./checks.ts";
import { longRepl } from "./long-repl.ts";
import { runStep, type StepReport } from "./steps.ts";
import { startWorld } from "./world.ts";

export interface SoakOptions {
  readonly seed: number;
  /** Of steps; starting, ending and looking take about half a minute more. */
  readonly seconds: number;
  /** Side by side. */
  readonly atOnce: number;
  /** These steps alone. */
  readonly only?: readonly number[];
  readonly say: (line: string) => void;
}

export interface SoakReport {
  readonly steps: readonly StepReport[];
  readonly wrong: readonly string[];
  readonly skipped: readonly string[];
}

export async function soak({ seed, seconds, atOnce, only, say }: SoakOptions): Promise<SoakReport> {
  await using world = await startWorld();
  for (const why of world.skipped) say(`skipped: ${why}`);
  const end = performance.now() + seconds * 1000;
  const steps: StepReport[] = [];
  const wrong: string[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (only === undefined ? performance.now() < end : next < only.length) {
      const step = only === undefined ? next++ : (only[next++] as number);
      const report = await runStep(world, seed, step);
      steps.push(report);
      say(lineOf(report));
      for (const one of report.wrong) wrong.push(`step ${step}: ${one}`);
    }
  };
  const repl =
    only === undefined
      ? longRepl(world, seed, () => performance.now() < end).catch((error: Error) => {
          wrong.push(`the REPL: ${error.message}`);
          return undefined;
        })
      : undefined;
  await Promise.all(Array.from({ length: atOnce }, work));
  const talked = await repl;
  if (talked !== undefined) {
    say(`one REPL: ${talked.prompts} prompts, ${talked.figures}`);
    wrong.push(...talked.wrong);
  }
  say(`most memory of a step: ${Math.max(0, ...steps.map(({ peakMb }) => peakMb)).toFixed(0)} MB`);
  wrong.push(...(await checkAll(world, steps)));
  return { steps, wrong, skipped: world.skipped };
}

function lineOf({ step, place, fault, kinds, code, seconds }: StepReport): string {
  const at = `${place}, ${fault}`.padEnd(52);
  return `${String(step).padStart(5)}  ${at} exit ${String(code).padEnd(4)} ${seconds.toFixed(1).padStart(5)} s  ${kinds.join(", ")}`;
}

/** How often each thing was done. */
export function countsOf({ steps }: SoakReport): Readonly<Record<string, Readonly<Record<string, number>>>> {
  const by = (of: (step: StepReport) => readonly string[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const name of steps.flatMap(of)) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  };
  return {
    places: by(({ place }) => [place]),
    faults: by(({ fault }) => [fault]),
    "of the model": by(({ kinds }) => kinds),
    "exit codes": by(({ code }) => [String(code)]),
  };
}
