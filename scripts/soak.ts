/**
 * Everything at once, for as long as you like: `bun run soak [--minutes N] [--seed S] [--step N]`; test/soak/README.md.
 */
import { parseArgs } from "node:util";
import { countsOf, soak } from "../test/soak/soak.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "2" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    step: { type: "string", multiple: true },
    "at-once": { type: "string", default: "3" },
  },
});
const [minutes, seed, atOnce] = [values.minutes, values.seed, values["at-once"]].map(Number) as [
  number,
  number,
  number,
];
const only = values.step?.map(Number);
if (![minutes, seed, atOnce, ...(only ?? [])].every((one) => Number.isFinite(one) && one >= 0)) {
  console.error("usage: bun run soak [--minutes N] [--seed S] [--step N] [--at-once N]");
  process.exit(2);
}

console.log(
  `seed ${seed}, ${only === undefined ? `${minutes} minutes` : `steps ${only.join(", ")}`}, ${atOnce} at once`,
);
const report = await soak({
  seed,
  seconds: minutes * 60,
  atOnce,
  ...(only === undefined ? {} : { only }),
  say: (line) => console.log(line),
});
for (const [what, counts] of Object.entries(countsOf(report))) {
  const sorted = Object.entries(counts).sort(([, a], [, b]) => b - a);
  console.log(`\n${what}: ${sorted.map(([name, count]) => `${name} ${count}`).join(" · ")}`);
}
console.log(`\n${report.steps.length} steps, ${report.wrong.length} violated properties`);
for (const one of report.wrong) console.log(`\nVIOLATED: ${one}`);
if (report.wrong.length > 0)
  console.log(`\nAgain: bun run soak --seed ${seed} --step N for one step alone, --minutes ${minutes} for all of it.`);
process.exit(report.wrong.length === 0 ? 0 : 1);
