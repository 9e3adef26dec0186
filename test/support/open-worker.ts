/**
 * A buddy's target in a process of its own: opens it, runs numbered commands, reports what came out, for tests with
 * several.
 */
import { openTarget } from "../../src/targets/open.ts";
import type { TargetOptions } from "../../src/targets/target.ts";

const [name = "", rounds = "1", commands = "1", options = "{}", stay] = process.argv.slice(2);
const wrong: unknown[] = [];
const notices: string[] = [];
const sessions = new Set<string>();
let kind = "";

for (let round = 0; round < Number(rounds); round++) {
  const given = JSON.parse(options) as TargetOptions;
  const target = await openTarget({ ...given, onNotice: (notice) => notices.push(`${notice.kind}: ${notice.text}`) });
  ({ kind } = target.shell);
  sessions.add(target.identity.tmuxSession ?? "");
  for (let number = 0; number < Number(commands); number++) {
    const line = `${name}-${round}-${number}`;
    const { outcome, output, notes } = await target.shell.run(`echo ${line}; (exit ${number % 7})`, { waitMs: 60_000 });
    const right = outcome.kind === "exited" && outcome.code === number % 7 && output.head === `${line}\n`;
    if (!right || notes.length > 0) wrong.push({ line, outcome, output: output.head, notes });
  }
  if (stay !== undefined) {
    console.log("open");
    await new Promise(() => setInterval(() => {}, 1000));
  }
  await target[Symbol.asyncDispose]();
}
console.log(JSON.stringify({ kind, wrong, notices, sessions: [...sessions] }));
