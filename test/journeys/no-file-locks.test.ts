/** A home and a working directory on a file system without locks. */
import { expect, setDefaultTimeout } from "bun:test";
import { readdirSync, readlinkSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { sandbox } from "../support/buddy.ts";
import { execRig, shell } from "../support/exec.ts";
import { startLoginServer } from "../support/login-server.ts";
import { noFileLocks } from "../support/no-file-locks.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/until.ts";

const { afterAll, test } = await needs("linux", "cc");

setDefaultTimeout(60_000);

afterAll(() => rmSync(dirname(noFileLocks()), { recursive: true, force: true }));

// NFS without lockd, Lustre without flock, and what else file systems answer.
const ERRORS = ["ENOLCK", "ENOSYS", "EOPNOTSUPP", "EINVAL"];

test.each(ERRORS)("%s: a session is answered and continued, and the missing locks are reported once", async (error) => {
  using box = sandbox();
  const env = { LD_PRELOAD: noFileLocks(error) };
  const first = await box.run(["exec", "--no-tmux", "-m", "demo", "hello"], { env });
  expect(first.code).toBe(0);
  const second = await box.run(["exec", "--no-tmux", "-m", "demo", "--resume", "last", "again"], { env });
  expect(second.code).toBe(0);
  expect(second.stderr.match(/no file locks/g)).toHaveLength(1);
});

test.each(ERRORS)(
  "%s: two at once do not get the same session, commands are recorded, a sign-in is kept",
  async (error) => {
    const env = { LD_PRELOAD: noFileLocks(error) };
    await using rig = execRig(
      [
        shell("echo one"),
        { text: "first" },
        () => until(() => second, "the second to be refused").then(() => ({ text: "x" })),
      ],
      { env },
    );
    let second = false;
    expect((await rig.exec(["--approve", "1m", "go"])).stderr.match(/no file locks/g)).toHaveLength(1);
    const verified = await rig.box.run(["audit", "verify"], { env });
    expect(verified.stdout).toMatch(/^intact: [1-9]/);
    const one = rig.exec(["--resume", "last", "go"]);
    await until(() => rig.requests.length === 3, "the first is at work");
    const other = await rig.exec(["--resume", "last", "go"]);
    second = true;
    expect([(await one).code, other.code]).toEqual([0, 1]);
    expect(other.stderr).toContain("is in use by process");
    await using server = startLoginServer({});
    const login = await rig.box.run(["login", "gpt-codex"], { env: { ...env, BUDDY_AUTH_ISSUER: server.url } });
    expect(login.stderr).toContain("buddy exec");
  },
);

test("what a process left that was killed while it took a lock does not keep others out for ever", async () => {
  using box = sandbox();
  const env = { LD_PRELOAD: noFileLocks() };
  await box.run(["exec", "--no-tmux", "-m", "demo", "hello"], { env });
  const [session = ""] = readdirSync(join(box.cwd, ".buddyx/sessions"));
  const left = box.write(`cwd/.buddyx/locks/${session.replace(".jsonl", ".lock.pid")}`, "");
  const again = ["exec", "--no-tmux", "-m", "demo", "--resume", "last", "again"];
  expect((await box.run(again, { env })).code).toBe(1);
  utimesSync(left, 0, 0);
  expect((await box.run(again, { env })).code).toBe(0);
  // Of before the machine was started again: a number means nothing.
  const namespace = Number(readlinkSync("/proc/self/ns/pid").replace(/\D/g, "")).toString(36);
  writeFileSync(left, `${process.pid}-${namespace} ${hostname()} of-another-start\n`);
  expect((await box.run(again, { env })).code).toBe(0);
});
