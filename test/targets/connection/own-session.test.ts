/**
 * One of many machines: the session of its connection runs what nobody was asked about, behind both locks; a pane comes
 * later.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { existsSync } from "node:fs";
import { openTarget } from "../../../src/targets/open.ts";
import { placeOf } from "../../../src/targets/place.ts";
import type { Target } from "../../../src/targets/target.ts";
import { needs } from "../../support/needs.ts";
import { processesWith, uniqueSeconds } from "../../support/processes.ts";
import { type SshServer, useSshd } from "../../support/sshd.ts";
import { until } from "../../support/until.ts";

const { afterAll, beforeAll, test } = await needs("sshd", "linux", "root");
setDefaultTimeout(60_000);

let server: SshServer & Disposable;
beforeAll(async () => void (server = await useSshd()));
afterAll(() => server[Symbol.dispose]());

const UNASKED = { unasked: { inRoom: true } };

async function open(): Promise<Target> {
  const target = await openTarget({
    place: placeOf({ ssh: "lab" }),
    tmux: "never",
    agentName: "",
    tmuxSocket: "",
    maxSessions: 1,
    maxPanes: 1,
    backgroundTimeoutMs: 60_000,
    secretEnv: [],
    frugal: true,
    interactive: false,
  });
  expect(await target.locks.settled).toMatchObject({ kind: "ready", sealed: true });
  expect(target.transport.own).toBeDefined();
  return target;
}

test("a text is behind both locks, its directory is kept, and a shell of its own continues there", async () => {
  await using target = await open();
  const mark = `/tmp/buddy-own-${crypto.randomUUID()}`;
  const { outcome, output, stderr } = await target.shell.run(`: >${mark}; echo out; cd /usr; (exit 7)`, UNASKED);
  expect(outcome).toEqual({ kind: "exited", code: 7 });
  expect(output.head).toBe("out\n");
  expect(stderr?.head).toContain("Read-only");
  expect(existsSync(mark)).toBe(false);
  expect(target.shell.cwd).toBe("/usr");
  expect((await target.shell.run("pwd")).output.head).toBe("/usr\n");
});

test("a text that takes too long is ended there, and so is one whose connection is gone", async () => {
  const [slow, lost] = [uniqueSeconds(), uniqueSeconds()];
  {
    await using target = await open();
    const { outcome } = await target.shell.run(`sleep ${slow}`, { ...UNASKED, waitMs: 500 });
    expect(outcome).toEqual({ kind: "stopped", by: "deadline" });
    expect(processesWith(`sleep ${slow}`)).toEqual([]);
  }
  await using target = await open();
  const running = target.shell.run(`sleep ${lost}`, UNASKED);
  await until(() => processesWith(`sleep ${lost}`).length > 0, "it runs");
  for (const pid of server.connections()) process.kill(pid, "SIGKILL");
  expect((await running).outcome.kind).toBe("lost");
  await until(() => processesWith(`sleep ${lost}`).length === 0, "it is ended");
  expect((await target.shell.run("echo back", UNASKED)).output.head).toBe("back\n");
});

test("a shell for the next text is started meanwhile, and nothing of it or of the room is left", async () => {
  const left: string[] = [];
  {
    await using target = await open();
    const { stdout } = await target.transport.run("echo $$");
    const room = `/tmp/buddy-${target.transport.facts.uid}/room.${stdout.toString().trim()}`;
    expect(existsSync(room)).toBe(true);
    await target.shell.run("true", UNASKED);
    const environment = target.shell.environmentFile!;
    await until(() => existsSync(environment), "the shell is there");
    left.push(room, environment);
  }
  await until(() => left.every((path) => !existsSync(path)), "nothing is left");
});
