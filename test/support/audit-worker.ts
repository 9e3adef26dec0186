/**
 * Writes to a record until it is done or killed, and prints a line for each entry that counts: audit-worker.ts STATE
 * TIMES [BYTES] [ROTATE].
 */
import { writeSync } from "node:fs";
import { AuditLog } from "../../src/audit/audit-log.ts";

const [directory = "", times = "0", bytes = "20", rotate = "1000000"] = process.argv.slice(2);
const log = new AuditLog({
  directory,
  redact: (text) => text,
  problem: (message) => writeSync(1, `problem ${message}\n`),
  rotateBytes: Number(rotate),
  durable: false,
});
for (let i = 0; i < Number(times); i += 1) {
  const about = { session: String(process.pid), user: "u", target: "local", tool: "run_shell", call: String(i) };
  const action = `${i} ${"x".repeat(Number(bytes))}`;
  await log
    .append({ kind: "effect", ...about, action, outcome: "exited", exit_code: 0, ms: 1 })
    .then(() => writeSync(1, `${i}\n`))
    .catch(() => undefined);
}
await log.close();
