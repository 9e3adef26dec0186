/** Files and background shells: time a call here, in a container, and in round trips over a line of 100 ms. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backgroundShells } from "../src/targets/background/background.ts";
import { fileAccess } from "../src/targets/files/files.ts";
import type { Transport } from "../src/targets/target.ts";
import { SshTransport } from "../src/targets/connection/ssh.ts";
import { proxyTo } from "../test/support/tcp-proxy.ts";
import { useSshd } from "../test/support/sshd.ts";
import { openPlace } from "../test/support/transports.ts";
import { figure } from "./support/figures.ts";

const ROUND_TRIP_MS = 100;
const TIMES = 15;

async function samples(work: () => Promise<unknown>): Promise<number[]> {
  await work();
  const taken: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const start = performance.now();
    await work();
    taken.push(performance.now() - start);
  }
  return taken;
}

async function measure(transport: Transport): Promise<Record<string, number[]>> {
  const dir = (await transport.run("mktemp -d /tmp/buddy-bench-XXXXXX")).stdout.toString().trim();
  const files = fileAccess(transport, { cwd: () => dir });
  const shells = backgroundShells(transport, {
    clean: () => "",
    cwd: () => dir,
    timeoutMs: 60_000,
    session: () => `bench-${process.pid}`,
  });
  const text = "a line of text\n".repeat(200);
  await files.write("file", text);
  const running = await shells.start("sleep 100");
  const started: string[] = [];
  const figures = {
    "small script": await samples(() => transport.run(":")),
    resolve: await samples(() => files.resolve("file")),
    "read 3 KB": await samples(() => files.read("file")),
    "write 3 KB": await samples(() => files.write("file", text)),
    "resolve + write": await samples(async () => {
      await files.resolve("file");
      await files.write("file", text);
    }),
    "read 10 at once": await samples(() => Promise.all(Array.from({ length: 10 }, () => files.read("file")))),
    "background start": await samples(async () => void started.push((await shells.start("true")).id)),
    "background poll": await samples(() => shells.output(running.id)),
  };
  await shells.kill(running.id);
  await transport.run('rm -rf "$1"', { args: [dir] });
  return figures;
}

process.env["XDG_STATE_HOME"] = mkdtempSync(join(tmpdir(), "buddy-bench-state-"));
const add = (name: string, figures: Record<string, number[]>, unit: string, divisor: number) => {
  for (const [what, taken] of Object.entries(figures))
    figure(
      `${what}, ${name}`,
      taken.map((ms) => ms / divisor),
      unit,
    );
};
for (const place of ["local", "container"] as const) {
  const opened = await openPlace(place);
  add(place === "local" ? "here" : "in a container", await measure(opened.transport), "ms", 1);
  await opened[Symbol.asyncDispose]();
}
using server = await useSshd();
await using proxy = await proxyTo(server.port, { delayMs: ROUND_TRIP_MS / 2 });
const start = performance.now();
const far = await SshTransport.open({ destination: `127.0.0.1:${proxy.port}`, interactive: false });
const opening = performance.now() - start;
add("over ssh", await measure(far), "round trips", ROUND_TRIP_MS);
await far[Symbol.asyncDispose]();
figure("opening over ssh", opening / ROUND_TRIP_MS, "round trips");
rmSync(process.env["XDG_STATE_HOME"], { recursive: true });
