/** Files and background shells: time a call here, in a container, and in round trips over a line of 100 ms. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backgroundShells } from "../src/targets/background.ts";
import { fileAccess } from "../src/targets/files.ts";
import type { Transport } from "../src/targets/target.ts";
import { SshTransport } from "../src/targets/connection/ssh.ts";
import { proxyTo } from "../test/support/proxy.ts";
import { useSshd } from "../test/support/sshd.ts";
import { openPlace } from "../test/support/transports.ts";

const ROUND_TRIP_MS = 100;
const TIMES = 15;

async function median(work: () => Promise<unknown>): Promise<number> {
  await work();
  const taken: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const start = performance.now();
    await work();
    taken.push(performance.now() - start);
  }
  return taken.toSorted((a, b) => a - b)[Math.floor(TIMES / 2)] ?? Number.NaN;
}

async function measure(transport: Transport): Promise<Record<string, number>> {
  const dir = (await transport.run("mktemp -d /tmp/buddy-bench-XXXXXX")).stdout.toString().trim();
  const files = fileAccess(transport, { cwd: () => dir });
  const shells = backgroundShells(transport, { cwd: () => dir, timeoutMs: 60_000, scope: `bench-${process.pid}` });
  const text = "a line of text\n".repeat(200);
  await files.write("file", text);
  const running = await shells.start("sleep 100");
  const started: string[] = [];
  const figures = {
    "small script": await median(() => transport.run(":")),
    resolve: await median(() => files.resolve("file")),
    "read 3 KB": await median(() => files.read("file")),
    "write 3 KB": await median(() => files.write("file", text)),
    "resolve + write": await median(async () => {
      await files.resolve("file");
      await files.write("file", text);
    }),
    "read 10 at once": await median(() => Promise.all(Array.from({ length: 10 }, () => files.read("file")))),
    "background start": await median(async () => void started.push((await shells.start("true")).id)),
    "background poll": await median(() => shells.output(running.id)),
  };
  await shells.kill(running.id);
  await transport.run('rm -rf "$1"', { args: [dir] });
  return figures;
}

process.env["XDG_STATE_HOME"] = mkdtempSync(join(tmpdir(), "buddy-bench-state-"));
const rows: Record<string, Record<string, string>> = {};
const add = (name: string, figures: Record<string, number>, unit: string, divisor: number) => {
  for (const [what, ms] of Object.entries(figures)) {
    rows[what] = { ...rows[what], [name]: `${(ms / divisor).toFixed(2)} ${unit}` };
  }
};
for (const place of ["local", "container"] as const) {
  const opened = await openPlace(place);
  add(place, await measure(opened.transport), "ms", 1);
  await opened[Symbol.asyncDispose]();
}
using server = await useSshd();
await using proxy = await proxyTo(server.port, { delayMs: ROUND_TRIP_MS / 2 });
const start = performance.now();
const far = await SshTransport.open({ destination: `127.0.0.1:${proxy.port}`, interactive: false });
const opening = performance.now() - start;
add(`ssh, ${ROUND_TRIP_MS} ms`, await measure(far), "RTT", ROUND_TRIP_MS);
await far[Symbol.asyncDispose]();
console.table(rows);
console.log(`opening over ssh: ${(opening / ROUND_TRIP_MS).toFixed(1)} RTT`);
rmSync(process.env["XDG_STATE_HOME"], { recursive: true });
