/**
 * scripts/bytecode-order.txt: the functions that a short answer uses, which the build puts together at the front of the
 * bytecode. `bun scripts/make-bytecode-order.ts`, now and then: what has changed since then is only stored further
 * back.
 */
import { join } from "node:path";
import { ReplBinary } from "../test/support/repl-binary.ts";
import { ORDER } from "./build.ts";

await using model = new ReplBinary([{ text: "The answer is 42." }]);
model.configure();
const recorded = join(model.box.dir, "order");
const done = await model.box.run(["exec", "-q", "hi"], { env: { BUN_BYTECODE_ORDER_OUT: recorded } });
if (done.code !== 0) throw new Error(done.stderr);
// Kept are the version, the functions and modules that were used, and all modules; the rest is what was not used.
const kept = (await Bun.file(recorded).text()).split("\n").filter((line) => /^[vFMN]/.test(line));
await Bun.write(ORDER, `${kept.join("\n")}\n`);
console.log(`${ORDER}: ${kept.length} lines`);
