/**
 * scripts/bytecode-order.txt: the functions that a start uses, which the build puts together at the front of the bytecode.
 * `bun scripts/make-bytecode-order.ts`, now and then: what has changed since then is only stored further back.
 */
import { join } from "node:path";
import { ReplBinary, shellReply } from "../test/support/repl-binary.ts";
import { ORDER } from "./build.ts";

await using repl = new ReplBinary([{ text: "The answer is 42." }, shellReply("uname"), { text: "Linux" }]);
const { box } = repl;
const recorded = (name: string) => join(box.dir, name);
repl.configure();
// The most common way to start comes first.
for (const [name, prompt] of Object.entries({ answer: "hi", call: "which system?" })) {
  const done = await box.run(["exec", "-q", "--no-tmux", prompt], { env: { BUN_BYTECODE_ORDER_OUT: recorded(name) } });
  if (done.code !== 0) throw new Error(done.stderr);
}
const pty = await repl.start({ env: { BUN_BYTECODE_ORDER_OUT: recorded("prompt") } });
await pty.until(/> *$/);
pty.type("/quit\r");
await pty.exited;

const lines = new Set<string>();
for (const name of ["answer", "prompt", "call"])
  for (const line of (await Bun.file(recorded(name)).text()).split("\n")) lines.add(line);
// The version; functions and modules that were used; all modules. The rest names what was not used.
const kept = ["v", "F", "M", "N"].flatMap((kind) => [...lines].filter((line) => line.startsWith(kind)));
await Bun.write(ORDER, `${kept.join("\n")}\n`);
console.log(`${ORDER}: ${kept.length} lines`);
