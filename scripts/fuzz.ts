/** The fuzzers of the suite at any size: `bun run fuzz NAME… [--cases N] [--seed S] [--case N]`; test/fuzz/. */
import { parseArgs } from "node:util";
import CORPUS from "../test/fuzz/corpus.json";
import { type Found, tryProperty, tryText } from "../test/fuzz/property.ts";
import { FUZZERS } from "../test/fuzz/table.ts";

const { values, positionals } = parseArgs({
  options: {
    cases: { type: "string", default: "100000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    case: { type: "string" },
  },
  allowPositionals: true,
});
const [total, seed] = [Number(values.cases), Number(values.seed)];
const only = values.case === undefined ? undefined : Number(values.case);
const unknown = positionals.find((name) => FUZZERS[name] === undefined);
if (unknown !== undefined || positionals.length === 0 || !(total > 0) || !Number.isInteger(seed)) {
  console.error(
    `usage: bun run fuzz NAME… [--cases N] [--seed S] [--case N]; NAME is ${Object.keys(FUZZERS).join(", ")}`,
  );
  process.exit(2);
}

let failures = 0;
for (const name of positionals) {
  const properties = FUZZERS[name] ?? [];
  console.log(`\n${name}: seed ${seed}, ${only === undefined ? `${total} cases` : `case ${only}`}`);
  // The cases are shared out as in the suite, so that slow properties get fewer.
  const usual = properties.reduce((sum, property) => sum + property.usual, 0);
  for (const property of properties) {
    for (const { fuzzer, text, about } of CORPUS as readonly Found[])
      if (fuzzer === name) report(await tryText(property, text), `of the corpus (${about}): ${JSON.stringify(text)}`);
    const cases = only === undefined ? Math.ceil((total * property.usual) / usual) : 1;
    const started = performance.now();
    const failure = await tryProperty(property, { seed, cases, from: only ?? 0 });
    const seconds = (performance.now() - started) / 1000;
    if (failure === undefined) {
      console.log(`  ok   ${property.name}: ${cases} cases in ${seconds.toFixed(1)} s`);
      continue;
    }
    const again = `bun run fuzz ${name} --seed ${seed} --case ${failure.at}`;
    report(failure.why, `${property.name}\n  made small: ${JSON.stringify(failure.text)}\n  again: ${again}`);
  }
}
console.log(
  failures === 0 ? "\nall properties hold" : `\n${failures} violated; put what was found into test/fuzz/corpus.json`,
);
process.exit(failures === 0 ? 0 : 1);

function report(why: string | undefined, what: string): void {
  if (why === undefined) return;
  failures++;
  console.log(`  VIOLATED ${what}\n  ${why}`);
}
