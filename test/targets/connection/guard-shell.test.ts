/**
 * One of many machines: the session of its connection runs what nobody was asked about, behind both locks; a pane comes
 * later.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openTarget } from "../../../src/targets/open.ts";
import { placeOf } from "../../../src/targets/place.ts";
import type { Target } from "../../../src/targets/target.ts";
import { needs } from "../../support/needs.ts";
import { processesWith, uniqueSeconds } from "../../support/processes.ts";
import { type SshServer, useSshd } from "../../support/sshd.ts";
import { until } from "../../support/until.ts";
import { targetOptions } from "../../support/target-options.ts";

const { afterAll, beforeAll, test } = await needs("sshd", "linux", "root");
setDefaultTimeout(60_000);

let server: SshServer & Disposable;
beforeAll(async () => void (server = await useSshd()));
afterAll(() => server[Symbol.dispose]());

const UNASKED = { unasked: { inNamespace: true } };

async function open(): Promise<Target> {
  const target = await openTarget(
    targetOptions({
      place: placeOf({ ssh: "lab" }),
      frugal: true,
      interactive: false,
    }),
  );
  expect(await target.locks.settled).toMatchObject({ kind: "ready", sealed: true });
  expect(target.transport.guardShell).toBeDefined();
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

test("no start-up file of the account takes the place of a program, in a text or in a shell it starts", async () => {
  const file = join(server.remoteHome, ".bashrc");
  writeFileSync(file, "uname() { echo from .bashrc; }\n");
  try {
    await using target = await open();
    for (const text of ["uname", "cd /; uname", "bash -c uname", "exec bash -c uname"])
      expect((await target.shell.run(text, UNASKED)).output.head).toBe("Linux\n");
    await target.shell.run("export NOW=1");
    expect((await target.shell.run("uname; bash -c uname", UNASKED)).output.head).toBe("Linux\nLinux\n");
  } finally {
    rmSync(file);
  }
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

/** The processes of the guard's session that have not ended. */
async function sessionOf(target: Target): Promise<{ guard: number; left: () => string[] }> {
  const guard = (await target.transport.run('printf %s "$$"')).stdout.toString();
  const session = (pid: string) => /\) \S+ \d+ \d+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
  const own = session(guard);
  const left = () =>
    readdirSync("/proc").filter((pid) => {
      try {
        return /^\d+$/.test(pid) && session(pid) === own && readlinkSync(`/proc/${pid}/exe`) !== "";
      } catch {
        return false; // It has ended.
      }
    });
  expect(left()).toContain(guard);
  return { guard: Number(guard), left };
}

test("of a session that was killed nothing is left when the next one has begun", async () => {
  await using target = await open();
  const { guard, left } = await sessionOf(target);
  process.kill(guard, "SIGKILL");
  await using next = await open();
  await until(() => left().length === 0, "all of them have ended");
  expect((await next.shell.run("uname", UNASKED)).output.head).toBe("Linux\n");
});

test("of a session that was killed after a text nothing is left, and the next text runs in a new one", async () => {
  await using target = await open();
  const { guard, left } = await sessionOf(target);
  expect((await target.shell.run("uname", UNASKED)).output.head).toBe("Linux\n");
  process.kill(guard, "SIGKILL");
  await until(() => left().length === 0, "all of them have ended");
  await until(() => target.transport.guardShell === undefined, "the end of the session is seen");
  expect((await target.shell.run("uname", UNASKED)).output.head).toBe("Linux\n");
});

test("after a text was stopped the next ones are still behind both locks", async () => {
  await using target = await open();
  const mark = `/tmp/buddy-own-${crypto.randomUUID()}`;
  for (let round = 0; round < 3; round++) {
    const seconds = uniqueSeconds();
    const stop = new AbortController();
    const stopped = target.shell.run(`sleep ${seconds}`, { ...UNASKED, signal: stop.signal });
    await until(() => processesWith(`sleep ${seconds}`).length > 0, "it runs");
    stop.abort();
    expect((await stopped).outcome).toEqual({ kind: "stopped", by: "user" });
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
    // Once by itself, then in a clean shell that stays again.
    for (const text of [`: >${mark}; echo out`, `: >${mark}; echo out`, "uname -n"]) {
      const { outcome, output, stderr } = await target.shell.run(text, UNASKED);
      expect(outcome).toEqual({ kind: "exited", code: 0 });
      expect(output.head).not.toBe("");
      if (text !== "uname -n") expect(stderr?.head).toContain("Read-only");
    }
    expect(existsSync(mark)).toBe(false);
  }
});

test("one clean shell takes all texts, another one after it was killed, and nothing of it is left", async () => {
  const said = async (target: Target, text: string): Promise<string> =>
    (await target.shell.run(text, UNASKED)).output.head.trim();
  let left: string[];
  {
    await using target = await open();
    const { stdout } = await target.transport.run('printf %s "$D"');
    left = [stdout.toString(), target.shell.environmentFile!];
    expect(existsSync(left[0]!)).toBe(true);
    const first = await said(target, "echo $$");
    expect(await said(target, "x=1; f() { :; }; echo $$")).toBe(first);
    const clean =
      "echo ${x-unset} $#; declare -F; compgen -v __buddy; for f in 3 4 5 6 7 8; do [ ! -e /dev/fd/$f ] || echo $f; done";
    expect(await said(target, clean)).toBe("unset 0");
    expect(await said(target, "grep SigIgn </proc/self/status")).toMatch(/:\s0+$/);
    expect(await said(target, "cd /usr; pwd")).toBe("/usr");
    expect(await said(target, "echo $$ $PWD")).toBe(`${first} /usr`);
    const killed = await target.shell.run("echo once; kill -9 $$; exec sleep 0", UNASKED);
    expect(killed).toMatchObject({ outcome: { kind: "exited", code: 137 }, output: { head: "once\n" } });
    expect(await said(target, "echo alone $$")).not.toBe(`alone ${first}`);
    const second = await said(target, "echo $$");
    expect(await said(target, `echo $$; : 2>&1 >${left[0]}/mine`)).toStartWith(second);
    expect(existsSync(`${left[0]}/mine`)).toBe(false);
    // No second session on the connection so far.
    expect(existsSync(left[1]!)).toBe(false);
    await target.shell.run("export LC_TIME=POSIX");
    expect(await said(target, "echo $LC_TIME")).toBe("POSIX");
  }
  await until(() => left.every((path) => !existsSync(path)), "nothing is left");
});

test("a program with plain words is found and run as in a shell of its own: builtins, keywords, new programs, signals", async () => {
  await using target = await open();
  const run = (text: string) => target.shell.run(text, UNASKED);
  const said = async (text: string): Promise<string> => (await run(text)).output.head.trim();
  // Builtins and keywords are those of bash, also where there is a program of the same name.
  expect(await said("type -t test")).toBe("builtin");
  expect((await run("time true")).stderr?.head).toContain("real");
  expect(await said("echo a  b=c")).toBe("a b=c");
  expect((await run("echo -n no newline")).output.head).toBe("no newline");
  expect(await said("pwd")).toBe(target.shell.cwd);
  for (const [text, code] of Object.entries({ ":": 0, true: 0, false: 1, "pwd --none": 2 }))
    expect((await run(text)).outcome).toEqual({ kind: "exited", code });
  expect((await run("pwd --none")).stderr?.head).toContain("pwd: --: invalid option");
  // Only what any program gets.
  expect(await said("env")).not.toContain("__buddy");
  expect((await said("ls /proc/self/fd")).replace("\n9", "")).toBe("0\n1\n2\n3");
  expect(await said("env A=1 B=2 printenv B")).toBe("2");
  expect((await run("A=1 true")).outcome).toEqual({ kind: "exited", code: 0 });
  const missing = await run("no-such-program-here now");
  expect(missing.outcome).toEqual({ kind: "exited", code: 127 });
  expect(missing.stderr?.head).toContain("no-such-program-here: command not found");
  expect((await run("timeout -s KILL 0.05 sleep 9")).outcome).toEqual({ kind: "exited", code: 137 });
  // Looked for each time: one that was replaced, or removed.
  const program = join(server.remoteBin, "buddy-plain-words");
  for (const text of ["one", "two"]) {
    writeFileSync(program, `#!/bin/sh\necho ${text}\n`, { mode: 0o755 });
    expect(await said("buddy-plain-words now")).toBe(text);
    rmSync(program);
    expect((await run("buddy-plain-words now")).outcome).toEqual({ kind: "exited", code: 127 });
  }
});
