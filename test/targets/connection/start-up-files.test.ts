/** bash reads ~/.bashrc for every command over ssh: how many sessions buddy opens shows in how often that runs. */
import { expect, setDefaultTimeout } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openTarget } from "../../../src/targets/open.ts";
import { placeOf } from "../../../src/targets/place.ts";
import type { Target, TargetOptions } from "../../../src/targets/target.ts";
import { needs } from "../../support/needs.ts";
import { sshdWith, type SshServer } from "../../support/sshd.ts";
import { targetOptions } from "../../support/target-options.ts";
import { proxyTo } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const { afterAll, beforeAll, test } = await needs("sshd", "tmux", "bash-login");

setDefaultTimeout(60_000);

const path = process.env["PATH"];
const servers = new Map<string, SshServer>();
const record = (server: SshServer) => join(server.remoteHome, "started");

beforeAll(async () => {
  for (const lines of ["", "MaxSessions 2", "MaxSessions 1"]) {
    const server = await sshdWith(lines);
    servers.set(lines, server);
    writeFileSync(join(server.remoteHome, ".bashrc"), `case $- in *i*) k=i ;; *) k=n ;; esac; echo $k >>~/started\n`);
  }
});
afterAll(() => void (process.env["PATH"] = path));

/** How often the file was read since the last time: by sessions, and by interactive shells. */
function reads(server: SshServer): { sessions: number; shells: number } {
  const lines = readFileSync(record(server), "utf8").split("\n");
  writeFileSync(record(server), "");
  return {
    sessions: lines.filter((line) => line === "n").length,
    shells: lines.filter((line) => line === "i").length,
  };
}

async function withTarget(
  lines: string,
  options: Partial<TargetOptions>,
  use: (target: Target, server: SshServer, cut: () => void) => Promise<void>,
): Promise<void> {
  const server = servers.get(lines)!;
  process.env["PATH"] = server.env.PATH;
  writeFileSync(record(server), "");
  await using proxy = await proxyTo(server.port);
  const place = placeOf({ ssh: `127.0.0.1:${proxy.port}` });
  await using target = await openTarget(
    targetOptions({ place, interactive: false, tmuxSocket: `buddy-test-rc-${process.pid}`, ...options }),
  );
  await use(target, server, () => proxy.cut());
}

async function useEverything(target: Target): Promise<void> {
  const file = join(target.transport.facts.home, "file");
  await target.files.write(file, "text");
  await Promise.all([1, 2, 3].map(() => target.files.read(file)));
  const { id } = await target.background.start("echo background");
  await until(async () => (await target.background.output(id)).status === "completed", "it ends");
}

test.each(["", "MaxSessions 2", "MaxSessions 1"])("a pane is a session for scripts and one for tmux (%s)", (lines) =>
  withTarget(lines, { tmux: "required" }, async (target, server, cut) => {
    await target.locks.settled;
    expect((await target.shell.run("echo one")).output.head).toBe("one\n");
    expect(reads(server)).toEqual({ sessions: 2, shells: 1 });
    // Files of the user may hang: they get a session of their own, where one is allowed.
    await useEverything(target);
    const more = lines === "" ? 1 : 0;
    expect(reads(server)).toEqual({ sessions: more, shells: 0 });
    cut();
    await until(async () => (await target.shell.run("echo again")).output.head === "again\n", "it is there again");
    await target.locks.settled;
    expect(reads(server).sessions).toBeLessThanOrEqual(2 + more);
  }),
);

test.each(["", "MaxSessions 2", "MaxSessions 1"])("a direct shell is one more session, too (%s)", (lines) =>
  withTarget(lines, { tmux: "never" }, async (target, server) => {
    await target.locks.settled;
    expect((await target.shell.run("x=1; echo one")).output.head).toBe("one\n");
    expect(reads(server)).toEqual({ sessions: 2, shells: 0 });
    await useEverything(target);
    expect(reads(server)).toEqual({ sessions: lines === "" ? 1 : 0, shells: 0 });
  }),
);

test("one of many machines is one session, and one more with its pane", () =>
  withTarget("", { tmux: "auto", frugal: true }, async (target, server) => {
    await target.locks.settled;
    const unasked = { inNamespace: true };
    expect((await target.shell.run("echo one", { unasked })).output.head).toBe("one\n");
    expect(reads(server)).toEqual({ sessions: 1, shells: 0 });
    expect((await target.shell.run("echo two")).output.head).toBe("two\n");
    expect(reads(server).shells).toBe(1);
  }));
