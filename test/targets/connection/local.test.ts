import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BuddyError } from "../../../src/lib/errors.ts";
import { hideFromChildren } from "../../../src/lib/processes.ts";
import { childEnv } from "../../../src/lib/start-child.ts";
import { FACTS_SCRIPT, localFacts, parseFacts } from "../../../src/targets/connection/identity.ts";
import { RUNNER_ARGV, RUNNER_SCRIPT, ScriptRunner } from "../../../src/targets/connection/script-runner.ts";
import { ScriptRunners } from "../../../src/targets/connection/script-runners.ts";
import { loaderLine } from "../../../src/targets/script-line.ts";
import type { SpawnOptions, TargetOptions } from "../../../src/targets/target.ts";
import { canAsk } from "../../../src/lib/terminal.ts";
import { LocalTransport } from "../../../src/targets/connection/local.ts";
import { openTransport } from "../../../src/targets/connection/open-transport.ts";
import { exitCleanup } from "../../../src/targets/connection/exit-cleanup.ts";
import { buddyError } from "../../support/errors.ts";
import { processesWith, uniqueSeconds } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { available } from "../../support/needs.ts";
import { targetOptions } from "../../support/target-options.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const directory = temporaryDirectory();
const SECRETS = ["BUN_OPTIONS", "BUN_BE_BUN", "BUDDY_API_KEY", "MY_KEY"];

describe("secrets", () => {
  afterEach(() => {
    for (const name of SECRETS) delete process.env[name];
  });

  test("no child sees them, however it is started", async () => {
    for (const name of SECRETS) process.env[name] = "s3cret";
    hideFromChildren(["MY_KEY"]);
    await using transport = new LocalTransport();
    const child = transport.spawn(["env"], { env: { SHOWN: "yes", MY_KEY: "s3cret" } });
    const text = await new Response(child.stdout).text();
    expect(text).toContain("SHOWN=yes");
    expect(text).not.toContain("s3cret");
    expect((await transport.run("env")).stdout.toString()).not.toContain("s3cret");
    exitCleanup();
    const cleanups = processesWith("buddy-exit-cleanup", process.pid);
    expect(cleanups).not.toEqual([]);
    for (const pid of cleanups) {
      expect(await Bun.file(`/proc/${pid}/environ`).text()).not.toContain("s3cret");
    }
  });

  test("the rest is passed on", () => {
    expect(childEnv({ B: "2" }, { MY_KEY: "1", C: "3", D: undefined, BUN_OPTIONS: "x" })).toEqual({ B: "2", C: "3" });
  });
});

describe("who and where", () => {
  test("the script and the runtime say the same", async () => {
    await using transport = new LocalTransport({});
    const asked = parseFacts(await transport.run(FACTS_SCRIPT, { args: [process.cwd()] }), "here");
    const { programs, home, ...facts } = localFacts(process.cwd());
    expect(asked).toMatchObject(facts);
    expect(Object.keys(asked.programs).toSorted()).toEqual(Object.keys(programs).toSorted());
    expect(home).toBe(asked.home);
  });

  test("a directory that is not there, and an answer that is none", async () => {
    expect(() => new LocalTransport({ cwd: "/no/such" })).toThrow(buddyError("target", "/no/such"));
    expect(() => new LocalTransport({ cwd: "/etc/passwd" })).toThrow(buddyError("target", "/etc/passwd"));
    await using transport = new LocalTransport({ cwd: "~" });
    expect(transport.facts.cwd).toBe(realpathSync(process.env["HOME"] ?? "/"));
    const gone = await transport.run(FACTS_SCRIPT, { args: ["~/no/such/dir"] });
    expect(() => parseFacts(gone, "host", "~/no/such/dir")).toThrow(buddyError("target", "host", "~/no/such/dir"));
    for (const shell of ["buddy-lane: 7: ", "/bin/bash: line 7: ", "sh: "]) {
      const told = { code: 3, stdout: Buffer.from(""), stderr: `${shell}cd: can't cd to /x\n` };
      expect(hintOf(() => parseFacts(told, "host", "/x"))).toBe(
        `${shell === "sh: " ? shell : ""}cd: can't cd to /x\nName another one with --cd.`,
      );
    }
    const noise = { code: 0, stdout: Buffer.from("hello"), stderr: "" };
    expect(() => parseFacts(noise, "host")).toThrow(buddyError("target", "host"));
  });
});

const SHELLS = await available("dash", "bash", "busybox", "mksh", "zsh");
/** A program of several pieces, whatever a shell takes at once. */
const LONG = "x".repeat(20_000);

describe("script runners", () => {
  test("stdin that got out of step is never taken for commands", async () => {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-runner-")));
    await using transport = new LocalTransport({ cwd: dir });
    const scriptRunner = new ScriptRunner(transport.spawn(RUNNER_ARGV, { script: RUNNER_SCRIPT }));
    expect((await scriptRunner.run("echo fine")).stdout.toString()).toBe("fine\n");
    scriptRunner.process.stdin.write("touch intruder\n");
    await scriptRunner.ended;
    await expect(scriptRunner.run("echo x")).rejects.toThrow();
    expect(await Bun.file(join(dir, "intruder")).exists()).toBe(false);
    rmSync(dir, { recursive: true });
  });

  test("its end ends nothing that a file of its directory is named after", async () => {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-runner-")));
    await using transport = new LocalTransport({ cwd: dir });
    const other = await transport.spawn(["sleep", uniqueSeconds()]).pid;
    writeFileSync(join(dir, String(other)), "");
    const scriptRunner = new ScriptRunner(transport.spawn(RUNNER_ARGV, { script: RUNNER_SCRIPT }));
    scriptRunner.tell("makedirectory");
    await scriptRunner.run("true");
    scriptRunner.close();
    await scriptRunner.ended;
    expect(process.kill(-other, 0)).toBe(true);
    process.kill(-other);
    rmSync(dir, { recursive: true });
  });

  test.each(SHELLS)("%s can be the sh there", async (name) => {
    const shell = name === "busybox" ? ["busybox", "ash"] : [name];
    await using transport = new LocalTransport({});
    const scriptRunner = new ScriptRunner(transport.spawn(shell, { script: RUNNER_SCRIPT }));
    const bytes = Buffer.from([0, 1, 2, 255, 10, 13, 0]);
    const answers = await Promise.all([
      scriptRunner.run('cat; printf "%s" "$1"; echo e >&2; exit 9', ["it's\n"], bytes),
      scriptRunner.run('printf "%s|" "$@"', ["a b", "", "$x"]),
      scriptRunner.run("cat", [], new Uint8Array()),
    ]);
    expect(answers[0].stdout.equals(Buffer.concat([bytes, Buffer.from("it's\n")]))).toBe(true);
    expect(answers[0]).toMatchObject({ code: 9, stderr: "e\n" });
    expect(answers[1].stdout.toString()).toBe("a b||$x|");
    expect(answers[2]).toMatchObject({ code: 0 });
    scriptRunner.close();
    await scriptRunner.ended;
  });

  // dash and busybox take the program in large pieces, and what follows it; bash takes each byte by itself.
  test.each(SHELLS)(
    "%s takes its program and the first request from stdin, in whatever pieces they come",
    async (name) => {
      const shell = name === "busybox" ? ["busybox", "ash"] : [name];
      await using transport = new LocalTransport({});
      const pipe = join(directory, `pipe-${name}`);
      await transport.run('mkfifo "$1"', { args: [pipe] });
      for (const piece of [1_000_000, 4096, 1777]) {
        const child = transport.spawn(shell);
        const inPieces = (data: string | Uint8Array): void => {
          const bytes = Buffer.from(data as string);
          for (let at = 0; at < bytes.length; at += piece) child.stdin.write(bytes.subarray(at, at + piece));
        };
        const { runner, answer } = ScriptRunner.begin(
          ({ text }) => {
            inPieces(loaderLine(text));
            return { ...child, stdin: { write: inPieces, end: () => child.stdin.end() } };
          },
          {
            before: "V=before",
            script: 'echo "$V" "$1"',
            args: ["it's"],
            behind: `later() { { read -r _; echo "$1 later"; } <"$2" & }\n: ${LONG}`,
          },
        );
        const next = runner.run('cat; echo "$1"', ["next"], Buffer.from("bytes\n"));
        const known = runner.report("later", pipe);
        const meanwhile = runner.run('printf one; echo go >"$1"; sleep 0.05; printf two', [pipe]);
        expect((await answer).stdout.toString()).toBe("before it's\n");
        expect((await next).stdout.toString()).toBe("bytes\nnext\n");
        expect(await known).toBe("later");
        expect((await meanwhile).stdout.toString()).toBe("onetwo");
        // Lines that are no request are only passed over before the first one.
        child.stdin.write("echo intruder\n");
        expect(await runner.ended).not.toContain("intruder");
      }
    },
  );

  test("a quick script that got no answer in its short time ended the whole connection", async () => {
    await using transport = new LocalTransport({});
    const pipe = join(directory, "pipe-quick");
    await transport.run('mkfifo "$1"', { args: [pipe] });
    const spawn = (argv: readonly string[], options?: SpawnOptions) => transport.spawn(argv, options);
    const shared = new ScriptRunner(spawn(RUNNER_ARGV, { script: RUNNER_SCRIPT }));
    const runners = new ScriptRunners({ spawn, shared, label: "here" });
    const late = runners.run('read -r go <"$1"', { args: [pipe], timeoutMs: 50, quick: true });
    await expect(late).rejects.toBeInstanceOf(BuddyError);
    expect(shared.alive).toBe(true);
    writeFileSync(pipe, "go\n");
    expect((await runners.run("echo next", { quick: true })).stdout.toString()).toBe("next\n");
    runners.close();
    shared.close();
    await shared.ended;
  });

  test("a system program is not started for what it would say; another in its place is", async () => {
    const bin = realpathSync(mkdtempSync(join(tmpdir(), "buddy-bin-")));
    const facts = async (path: string) => {
      await using transport = new LocalTransport({});
      const child = transport.spawn(RUNNER_ARGV, { script: RUNNER_SCRIPT, env: { PATH: path, TMPDIR: bin } });
      const scriptRunner = new ScriptRunner(child);
      scriptRunner.tell("makedirectory");
      const answer = await scriptRunner.run(FACTS_SCRIPT);
      scriptRunner.close();
      await scriptRunner.ended;
      return parseFacts(answer, "here");
    };
    const { user, uid, host, os } = localFacts("/");
    expect(await facts(process.env["PATH"] ?? "")).toMatchObject({ user, uid, host, os });
    writeFileSync(join(bin, "uname"), "#!/bin/sh\necho Plan9 elsewhere 4\n", { mode: 0o755 });
    writeFileSync(join(bin, "id"), "#!/bin/sh\necho intruder\n", { mode: 0o755 });
    const others = await facts(`${bin}:${process.env["PATH"]}`);
    expect(others).toMatchObject({ user: "intruder", host: "elsewhere" });
    expect(others.os).toEndWith("Plan9 4");
    rmSync(bin, { recursive: true });
  });

  test("without head -c the bytes are counted by dd", async () => {
    const bin = realpathSync(mkdtempSync(join(tmpdir(), "buddy-bin-")));
    writeFileSync(join(bin, "head"), "#!/bin/sh\necho 'head: illegal option -- c' >&2; exit 1\n", { mode: 0o755 });
    await using transport = new LocalTransport({});
    const child = transport.spawn(RUNNER_ARGV, {
      script: RUNNER_SCRIPT,
      env: { PATH: `${bin}:${process.env["PATH"]}` },
    });
    const scriptRunner = new ScriptRunner(child);
    const bytes = Buffer.alloc(5000, "0123456789");
    const [first, second] = await Promise.all([scriptRunner.run("cat", [], bytes), scriptRunner.run("echo next")]);
    expect(first.stdout.equals(bytes)).toBe(true);
    expect(second.stdout.toString()).toBe("next\n");
    scriptRunner.close();
    rmSync(bin, { recursive: true });
  });

  test("much on stderr is bounded and does not stall", async () => {
    await using transport = new LocalTransport({});
    const { code, stderr } = await transport.run("seq 1 100000 >&2; echo last >&2; exit 2");
    expect(code).toBe(2);
    expect(stderr).toEndWith("last\n");
    expect(stderr.length).toBeLessThan(70_000);
  });

  test("more than can be taken is an error, not memory", async () => {
    await using transport = new LocalTransport({});
    await expect(transport.run("head -c 120000000 /dev/zero")).rejects.toThrow(buddyError("target", "96 MiB"));
    expect((await transport.run("echo on")).stdout.toString()).toBe("on\n");
  });

  test("an abort is an answer at once", async () => {
    await using transport = new LocalTransport({});
    const stop = new AbortController();
    const running = transport.run("sleep 0.3", { signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    await expect(transport.run("true", { signal: stop.signal })).rejects.toThrow("enough");
  });

  test("a script runner that was killed is replaced", async () => {
    await using transport = new LocalTransport({});
    const pid = (await transport.run("echo $$")).stdout.toString().trim();
    process.kill(Number(pid), "SIGKILL");
    expect((await transport.run("echo again")).stdout.toString()).toBe("again\n");
  });
});

test("closing does not end what another transport started", async () => {
  const seconds = uniqueSeconds();
  await using first = new LocalTransport({});
  const child = first.spawn(["sleep", seconds]);
  await until(() => processesWith(`sleep ${seconds}`).length === 1, "it runs");
  const second = new LocalTransport({});
  second.spawn(["true"]);
  await second[Symbol.asyncDispose]();
  expect(processesWith(`sleep ${seconds}`)).toEqual([await child.pid]);
  child.kill();
  await until(() => processesWith(`sleep ${seconds}`).length === 0, "it is gone");
});

test("without --ssh and --container it is this machine; an abort comes first", async () => {
  const options: TargetOptions = targetOptions();
  await using transport = await openTransport(options);
  expect(transport.kind).toBe("local");
  await expect(openTransport({ ...options, signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
  await expect(openTransport({ ...options, cwd: import.meta.path })).rejects.toThrow(
    `the directory ${import.meta.path} cannot be entered: a part of the path is not a directory`,
  );
  expect(typeof canAsk()).toBe("boolean");
});

function hintOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    return error instanceof BuddyError ? error.hint : undefined;
  }
  return undefined;
}

test("what is to be done when buddy dies is done once, unless it was taken back, and whatever else fails", async () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-tasks-")));
  const file = join(dir, "done");
  const program = `
    import { exitCleanup } from ${JSON.stringify(join(import.meta.dir, "../../../src/targets/connection/exit-cleanup.ts"))};
    const [add, last] = ["echo more >>${file}", "echo last >>${file}"];
    const takeBack = exitCleanup().onDeath(add);
    const forget = exitCleanup().watch(process.ppid);
    exitCleanup().onDeath(add);
    exitCleanup().onDeath("exit 1");
    exitCleanup().onDeath("echo 'not closed");
    exitCleanup().onDeath(last);
    forget();
    takeBack();
    await Bun.stdin.text();
    process.kill(process.pid, "SIGKILL");
  `;
  const child = Bun.spawn([process.execPath, "-e", program], { stdin: "pipe", stdout: "ignore", stderr: "inherit" });
  await child.stdin.end();
  await child.exited;
  expect(
    await until(() => readFileSync(file, "utf8").includes("last") && readFileSync(file, "utf8"), "it is done"),
  ).toBe("more\nlast\n");
  rmSync(dir, { recursive: true });
});
