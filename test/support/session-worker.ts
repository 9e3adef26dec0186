/**
 * Writes to a session log until it is done or killed, telling each line that was written: session-worker.ts DIRECTORY
 * ID TIMES [BYTES].
 */
import { writeSync } from "node:fs";
import { SessionLog } from "../../src/session/log.ts";

const [directory = "", id = "", times = "0", bytes = "100"] = process.argv.slice(2);
const log = new SessionLog({
  id,
  directory,
  stateDirectory: undefined,
  redact: (text) => text,
  problem: (message) => writeSync(1, `problem ${message}\n`),
});
const stamp = { v: 1, ts: new Date().toISOString(), session: id, target: "local" } as const;
for (let i = 0; i < Number(times); i += 1) {
  const type = i % 10 === 9 ? "done" : "turn";
  if (type === "turn") log.append({ ...stamp, type, turn: i, prompt: `${i} ${"x".repeat(Number(bytes))}` });
  else log.append({ ...stamp, type, turn: i, status: "answered", text: "", iterations: 1, ms: i });
  log.flush();
  writeSync(1, `${i}\n`);
}
await log.close();
