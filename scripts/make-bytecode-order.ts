/**
 * scripts/bytecode-order.txt: the functions that a short answer uses, which the build puts together at the front of the
 * bytecode. `bun scripts/make-bytecode-order.ts`, now and then: what has changed since then is only stored further
 * back.
 */
import { join } from "node:path";
import { ReplBinary } from "../test/support/repl-binary.ts";
import { ORDER } from "./build.ts";

const RUNS = 8;
await using model = new ReplBinary(Array.from({ length: RUNS }, () => ({ text: "The answer is 42." })));
model.configure();
let least: readonly string[] | undefined;
// On a busy machine the target opens before an answer is there: the run that used least was not held up.
for (let run = 0; run < RUNS; run++) {
  const recorded = join(model.box.dir, `order-${run}`);
  const done = await model.box.run(["exec", "-q", "hi"], { env: { BUN_BYTECODE_ORDER_OUT: recorded } });
  if (done.code !== 0) throw new Error(done.stderr);
  // Kept are the version, the functions and modules that were used, and all modules; the rest is what was not used.
  const kept = (await Bun.file(recorded).text()).split("\n").filter((line) => /^[vFMN]/.test(line));
  if (least === undefined || used(kept) < used(least)) least = kept;
}
await Bun.write(ORDER, `${least?.join("\n")}\n`);
console.log(`${ORDER}: ${used(least ?? [])} functions and modules`);

function used(lines: readonly string[]): number {
  return lines.filter((line) => /^[FM]/.test(line)).length;
}
