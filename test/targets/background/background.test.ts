import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { backgroundShells } from "../../../src/targets/background/background.ts";
import type { BackgroundOutput, BackgroundShells, Transport } from "../../../src/targets/target.ts";
import { cleanScript, cleanShell, type CleanScript } from "../../../src/targets/read-only/clean-script.ts";
import { LocalTransport } from "../../../src/targets/connection/local.ts";
import { SshTransport } from "../../../src/targets/connection/ssh.ts";
import { buddyError } from "../../support/errors.ts";
import { processesWith, uniqueSeconds } from "../../support/processes.ts";
import { proxyTo } from "../../support/tcp-proxy.ts";
import { useSshd } from "../../support/sshd.ts";
import { eachPlace, openPlace, type Opened } from "../../support/transports.ts";
import { until } from "../../support/until.ts";
import { available, needs } from "../../support/needs.ts";

const ssh = await needs("sshd");
const container = await needs("podman");
const busybox = await needs("busybox");

const facts = { programs: Bun.which("bash") === null ? {} : { bash: Bun.which("bash")! }, path: "" };
const clean: CleanScript = (command, _, to, begins) =>
  cleanScript(command, cleanShell(facts), { own: ["GIT_OPTIONAL_LOCKS=0"], namespace: undefined }, to, begins);

async function text(transport: Transport, path: string): Promise<string> {
  return (await transport.run('cat "$1"', { args: [path] })).stdout.toString();
}

/** Looks until the shell has ended; everything that came meanwhile. */
async function untilEnded(shells: BackgroundShells, id: string): Promise<BackgroundOutput> {
  let stdout = "";
  let stderr = "";
  const last = await until(async () => {
    const look = await shells.output(id);
    stdout += look.stdout;
    stderr += look.stderr;
    return look.status !== "running" && look.moreBytes === 0 && look;
  }, "the background shell ends");
  return { ...last, stdout, stderr };
}

/** Also what left the group, and what hides behind another environment. */
async function endsWholeTree(transport: Transport, shells: BackgroundShells, signal: string): Promise<void> {
  const seconds = uniqueSeconds();
  const { id, pid, outputFile } = await shells.start(
    `setsid sleep ${seconds} & (env -i sleep ${seconds} &); sleep ${seconds}; echo never`,
  );
  await until(() => processesWith(`sleep ${seconds}`).length >= 3, "the tree is up");
  await transport.run('kill "-$1" "$2"', { args: [signal, String(pid)] });
  expect(await untilEnded(shells, id)).toMatchObject({ status: "killed", stdout: "" });
  await until(() => processesWith(`sleep ${seconds}`).length === 0, "nothing is left of it");
  expect(await text(transport, outputFile)).toBe(`[background process failed: stopped by SIG${signal}]\n`);
  expect((await shells.kill(id)).status).toBe("killed");
}

let home: string;
beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "buddy-background-")));
  process.env["XDG_STATE_HOME"] = home;
});
afterAll(() => {
  delete process.env["XDG_STATE_HOME"];
  rmSync(home, { recursive: true, force: true });
});

await eachPlace((place) => {
  let opened: Opened;
  let shells: BackgroundShells;
  const options = { clean, cwd: () => "/tmp", timeoutMs: 60_000, session: () => `test-${process.pid}` };
  beforeAll(async () => {
    opened = await openPlace(place);
    shells = backgroundShells(opened.transport, options);
  });
  afterAll(async () => await opened[Symbol.asyncDispose]());

  test("output apart and together, exit code, last line", async () => {
    const started = await shells.start("echo out; echo err >&2; pwd; exit 3");
    expect(started).toMatchObject({ status: "running", command: "echo out; echo err >&2; pwd; exit 3" });
    expect(started.pid).toBeGreaterThan(1);
    const ended = await untilEnded(shells, started.id);
    expect(ended).toMatchObject({ status: "failed", exitCode: 3, stdout: "out\n/tmp\n", stderr: "err\n" });
    const lines = await until(async () => {
      const all = (await text(opened.transport, started.outputFile)).trimEnd().split("\n");
      return all.at(-1)?.startsWith("[") && all;
    }, "the last line is written");
    expect(lines.at(-1)).toBe("[background process failed: exit code 3]");
    expect(lines.slice(0, -1).toSorted()).toEqual(["/tmp", "err", "out"]);
  });

  test("success is reported, also after a last line that was not ended", async () => {
    const { id, outputFile } = await shells.start("printf 'no newline'");
    expect(await untilEnded(shells, id)).toMatchObject({ status: "completed", exitCode: 0, stdout: "no newline" });
    await until(
      async () => (await text(opened.transport, outputFile)) === "no newline\n[background process completed]\n",
      "the output file is complete",
    );
  });

  test("commands of many lines with quotes, here-documents and much text", async () => {
    const filler = `# ${"x".repeat(150_000)}`;
    const { id } = await shells.start(`${filler}\ncat <<'EOF'\nit's $HOME "here"\nEOF\necho 'two'`);
    expect((await untilEnded(shells, id)).stdout).toBe(`it's $HOME "here"\ntwo\n`);
  });

  test("new output since the last look; a later session of the same name continues where this one was", async () => {
    const gate = `/tmp/buddy-gate-${uniqueSeconds()}`;
    const { id } = await shells.start(`echo one; while [ ! -e ${gate} ]; do sleep 0.02; done; echo two; rm ${gate}`);
    await until(async () => (await shells.output(id)).stdout === "one\n", "the first line");
    expect((await shells.output(id)).stdout).toBe("");
    await opened.transport.run("true");
    await opened.transport.run(': >"$1"', { args: [gate] });
    const resumed = backgroundShells(opened.transport, options);
    expect((await untilEnded(resumed, id)).stdout).toBe("two\n");
    const stranger = backgroundShells(opened.transport, { ...options, session: () => "another" });
    expect((await stranger.output(id)).stdout).toBe("one\ntwo\n");
    const seenBy = async (shells: BackgroundShells) => (await shells.list()).find((one) => one.id === id)?.own;
    expect([await seenBy(resumed), await seenBy(stranger)]).toEqual([true, false]);
  });

  test("a start that is given up does not continue there", async () => {
    const seconds = uniqueSeconds();
    const stop = new AbortController();
    const starting = shells.start(`sleep ${seconds}`, { signal: stop.signal });
    stop.abort(new Error("not wanted"));
    await expect(starting).rejects.toThrow("not wanted");
    await opened.transport.run("true");
    await until(
      async () => (await shells.list()).some((one) => one.command === `sleep ${seconds}` && one.status === "killed"),
      "it was ended",
    );
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
  });

  test("looks at once share the output, nothing comes twice", async () => {
    const { id } = await shells.start("seq 1 50");
    await until(async () => (await shells.list()).find((one) => one.id === id)?.status === "completed", "it ends");
    const looks = await Promise.all([
      shells.output(id, { limit: 60 }),
      shells.output(id, { limit: 60 }),
      shells.output(id),
    ]);
    const expected = Array.from({ length: 50 }, (_, at) => `${at + 1}\n`).join("");
    expect(looks.map(({ stdout }) => stdout).join("")).toBe(expected);
  });

  test("a filter keeps matching lines and does not use up the others", async () => {
    const { id } = await shells.start("seq 1 20; echo done");
    await until(async () => (await shells.list()).find((one) => one.id === id)?.status === "completed", "it ends");
    expect((await shells.output(id, { filter: "^1|done" })).stdout).toBe(
      "1\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\ndone\n",
    );
    expect((await shells.output(id, { filter: "^1|done" })).stdout).toBe("");
    expect((await shells.output(id, { filter: "^2" })).stdout).toBe("2\n20\n");
    expect((await shells.output(id)).stdout).toStartWith("1\n2\n3\n");
    expect((await shells.output(id, { filter: "^2" })).stdout).toBe("");
    await expect(shells.output(id, { filter: "(" })).rejects.toThrow(buddyError("tool", "filter"));
  });

  test("what does not fit comes with the next look", async () => {
    const { id } = await shells.start("seq 1 2000; seq 1 2000 >&2");
    const expected = Array.from({ length: 2000 }, (_, at) => `${at + 1}\n`).join("");
    let [stdout, stderr] = ["", ""];
    await until(async () => {
      const look = await shells.output(id, { limit: 1000 });
      expect(look.stdout.length + look.stderr.length).toBeLessThanOrEqual(1000);
      stdout += look.stdout;
      stderr += look.stderr;
      return look.status !== "running" && look.moreBytes === 0;
    }, "everything was shown");
    expect(stdout).toBe(expected);
    expect(stderr).toBe(expected);
  });

  test("kill ends the whole tree, also what left the group; twice is not an error", async () => {
    const seconds = uniqueSeconds();
    const { id, outputFile } = await shells.start(
      `trap '' TERM; setsid sleep ${seconds} & (sleep ${seconds} &); sleep ${seconds}; sleep ${seconds}`,
    );
    await until(() => processesWith(`sleep ${seconds}`).length >= 3, "the tree is up");
    expect(await shells.kill(id)).toMatchObject({ id, status: "killed" });
    expect(processesWith(`sleep ${seconds}`).filter((pid) => pid > 0)).toEqual([]);
    expect(await shells.kill(id)).toMatchObject({ id, status: "killed" });
    expect(await text(opened.transport, outputFile)).toEndWith("[background process failed: killed]\n");
    expect((await shells.output(id)).status).toBe("killed");
  });

  test("kill of a completed shell leaves the daemon that it started, and names it", async () => {
    const seconds = uniqueSeconds();
    const { id } = await shells.start(`sleep ${seconds} & echo started`);
    await until(
      async () => (await shells.list()).find((one) => one.id === id)?.status === "completed",
      "it is completed",
    );
    expect(processesWith(`sleep ${seconds}`)).not.toEqual([]);
    const killed = await shells.kill(id);
    expect(killed.status).toBe("completed");
    expect(killed.leftRunning).toHaveLength(1);
    expect(processesWith(`sleep ${seconds}`)).toHaveLength(1);
    await opened.transport.run('kill "$1"', { args: [String(killed.leftRunning?.[0])] });
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "it is gone");
    await until(async () => (await shells.kill(id)).leftRunning === undefined, "nothing is left");
  });

  test("the time limit is kept by the target itself", async () => {
    const seconds = uniqueSeconds();
    const short = backgroundShells(opened.transport, { ...options, timeoutMs: 1000 });
    const { id, outputFile } = await short.start(`echo begun; setsid sleep ${seconds} & sleep ${seconds}`);
    await until(async () => (await short.list()).find((one) => one.id === id)?.status === "killed", "it is stopped");
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "its processes are gone");
    await until(
      async () =>
        (await text(opened.transport, outputFile)).includes(
          "[background process failed: stopped after its time limit of 1 s]",
        ),
      "the last line says why",
    );
  });

  test("one that was killed behind our back is not called running", async () => {
    const seconds = uniqueSeconds();
    const { id, pid, outputFile } = await shells.start(`sleep ${seconds}`);
    await until(() => processesWith(`sleep ${seconds}`).length > 0, "it runs");
    await opened.transport.run('kill -KILL "-$1"', { args: [String(pid)] });
    await until(async () => (await shells.output(id)).status === "failed", "its end is noticed");
    expect(await text(opened.transport, outputFile)).toContain(
      "[background process failed: ended without an exit code]",
    );
  });

  test.each(["TERM", "INT", "HUP", "QUIT"])("SIG%s to the reported number ends the whole tree", async (signal) => {
    await endsWholeTree(opened.transport, shells, signal);
  });

  test("what ignores TERM is killed, and what it prints meanwhile is kept", async () => {
    const seconds = uniqueSeconds();
    const { id, pid } = await shells.start(
      `trap 'echo closing; exit 0' TERM; (trap '' TERM; sleep ${seconds}; sleep ${seconds}) & while :; do sleep 0.02; done`,
    );
    await until(() => processesWith(`sleep ${seconds}`).length > 0, "the tree is up");
    await opened.transport.run('kill -TERM "$1"', { args: [String(pid)] });
    expect(await untilEnded(shells, id)).toMatchObject({ status: "killed", stdout: "closing\n" });
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
  });

  test("kill -9 of that number alone: it is still running, ends with its own exit code, and can be killed", async () => {
    const gate = `/tmp/buddy-gate-${uniqueSeconds()}`;
    const command = `echo up; while [ ! -e ${gate} ]; do sleep 0.02; done; echo through; exit 5`;
    const [one, other] = [await shells.start(command), await shells.start(command)];
    for (const { id, pid } of [one, other]) {
      await until(async () => (await shells.output(id)).stdout === "up\n", "it runs");
      await opened.transport.run('kill -KILL "$1"', { args: [String(pid)] });
      expect((await shells.output(id)).status).toBe("running");
    }
    expect((await shells.kill(other.id)).status).toBe("killed");
    expect((await shells.output(one.id)).status).toBe("running");
    await opened.transport.run(': >"$1"', { args: [gate] });
    expect(await untilEnded(shells, one.id)).toMatchObject({ status: "failed", exitCode: 5, stdout: "through\n" });
    expect(await text(opened.transport, one.outputFile)).toEndWith("[background process failed: exit code 5]\n");
    await opened.transport.run('rm "$1"', { args: [gate] });
  });

  test("a signal to one that has ended takes what it left behind, and changes nothing about how it ended", async () => {
    const seconds = uniqueSeconds();
    const { id, pid, outputFile } = await shells.start(`sleep ${seconds} & echo started`);
    await until(async () => (await shells.output(id)).status === "completed", "it is completed");
    await opened.transport.run('kill -TERM "$1"', { args: [String(pid)] });
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "what it left is gone");
    expect((await shells.output(id)).status).toBe("completed");
    expect(await text(opened.transport, outputFile)).toBe("started\n[background process completed]\n");
  });

  test("unknown ids and empty commands are refused", async () => {
    await expect(shells.output("sh-none")).rejects.toThrow(buddyError("target", "sh-none"));
    await expect(shells.kill("../../etc")).rejects.toThrow(buddyError("target", "../../etc"));
    await expect(shells.start("  ")).rejects.toThrow(buddyError("target"));
    await expect(shells.start("a\0b")).rejects.toThrow(buddyError("target", "NUL"));
    const elsewhere = backgroundShells(opened.transport, { ...options, cwd: () => "/no/such/dir" });
    await expect(elsewhere.start("true")).rejects.toThrow(buddyError("target", "/no/such"));
  });
});

ssh.test("a shell continues when the connection and buddy are gone, and is found again", async () => {
  using server = await useSshd();
  await using proxy = await proxyTo(server.port);
  const open = () => SshTransport.open({ destination: `127.0.0.1:${proxy.port}`, interactive: false });
  const options = { clean, cwd: () => "/tmp", timeoutMs: 60_000, session: () => "survivor" };
  const gate = `/tmp/buddy-gate-${uniqueSeconds()}`;
  const first = await open();
  const { id } = await backgroundShells(first, options).start(
    `echo before; while [ ! -e ${gate} ]; do sleep 0.02; done; echo after`,
  );
  proxy.cut();
  // The same transport reconnects by itself and finds it.
  await until(
    async () => (await backgroundShells(first, options).output(id)).stdout === "before\n",
    "found after a drop",
  );
  await first[Symbol.asyncDispose]();
  await Bun.write(gate, "");
  const second = await open();
  expect((await untilEnded(backgroundShells(second, options), id)).stdout).toEndWith("after\n");
  await second[Symbol.asyncDispose]();
  rmSync(gate);
});

test.each(await available("bash", "busybox"))("signals where sh is %s", async (program) => {
  const bin = realpathSync(mkdtempSync(join(tmpdir(), "buddy-bin-")));
  const before = process.env["PATH"];
  symlinkSync(Bun.which(program) ?? "", join(bin, "sh"));
  process.env["PATH"] = `${bin}:${before}`;
  try {
    await using transport = new LocalTransport({});
    const shells = backgroundShells(transport, { clean, cwd: () => "/", timeoutMs: 60_000, session: () => "other-sh" });
    for (const signal of ["TERM", "INT", "HUP"]) await endsWholeTree(transport, shells, signal);
  } finally {
    process.env["PATH"] = before;
    rmSync(bin, { recursive: true });
  }
});

busybox.test.each([
  ["perl", ["perl"]],
  ["nothing", []],
])("where there is no setsid but %s", async (_, programs) => {
  const bin = realpathSync(mkdtempSync(join(tmpdir(), "buddy-bin-")));
  const before = process.env["PATH"];
  Bun.spawnSync(["busybox", "--install", "-s", bin]);
  // busybox sh would find its own setsid without any file.
  for (const name of ["setsid", "sh"]) rmSync(join(bin, name));
  symlinkSync(Bun.which("dash") ?? "", join(bin, "sh"));
  for (const name of programs) symlinkSync(Bun.which(name) ?? "", join(bin, name));
  process.env["PATH"] = bin;
  try {
    const transport = new LocalTransport({});
    const shells = backgroundShells(transport, {
      clean,
      cwd: () => "/",
      timeoutMs: 60_000,
      session: () => "no-setsid",
    });
    const seconds = uniqueSeconds();
    const done = await shells.start("echo fine");
    expect((await untilEnded(shells, done.id)).stdout).toBe("fine\n");
    const { id, pid } = await shells.start(`sleep ${seconds}`);
    await until(() => processesWith(`sleep ${seconds}`).length > 0, "it runs");
    await transport[Symbol.asyncDispose]();
    await using later = new LocalTransport({});
    const again = backgroundShells(later, { clean, cwd: () => "/", timeoutMs: 60_000, session: () => "no-setsid" });
    expect((await again.list()).find((one) => one.id === id)).toMatchObject({ pid, status: "running" });
    expect((await again.kill(id)).status).toBe("killed");
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
  } finally {
    process.env["PATH"] = before;
    rmSync(bin, { recursive: true });
  }
});

describe("the private directory", () => {
  test("all in it is for its owner alone, whatever the umask, which the command keeps", async () => {
    const before = process.umask(0);
    try {
      await using transport = new LocalTransport({});
      const shells = backgroundShells(transport, { clean, cwd: () => "/", timeoutMs: 60_000, session: () => "open" });
      const { id } = await shells.start("umask; sleep 300");
      await until(async () => (await shells.output(id)).stdout.startsWith("000"), "the umask of the command");
      await shells.kill(id);
      const directory = join(home, "buddy/shells/open");
      const names = readdirSync(directory, { recursive: true }).map((name) => join(directory, String(name)));
      expect(names.length).toBeGreaterThan(8);
      expect(names.filter((name) => (statSync(name).mode & 0o077) !== 0)).toEqual([]);
    } finally {
      process.umask(before);
    }
  });

  test("belongs to the user alone; finished shells are removed after a day", async () => {
    await using transport = new LocalTransport({});
    const shells = backgroundShells(transport, { clean, cwd: () => "/", timeoutMs: 60_000, session: () => "old" });
    const { id, outputFile } = await shells.start("true");
    await untilEnded(shells, id);
    const ended = join(dirname(outputFile), "ended");
    await until(() => statSync(ended).isDirectory(), "its books are closed");
    expect(statSync(dirname(dirname(dirname(outputFile)))).mode & 0o777).toBe(0o700);
    expect(statSync(outputFile).mode & 0o077).toBe(0);
    utimesSync(ended, new Date(0), new Date(0));
    await shells.start("true");
    await until(async () => !(await shells.list()).some((one) => one.id === id), "the old one is removed");
  });

  test("a directory that another user could have prepared is refused", async () => {
    const trap = realpathSync(mkdtempSync(join(tmpdir(), "buddy-trap-")));
    mkdirSync(join(trap, "elsewhere"), { mode: 0o755 });
    mkdirSync(join(trap, "state/buddy"), { recursive: true });
    symlinkSync(join(trap, "elsewhere"), join(trap, "state/buddy/shells"));
    process.env["XDG_STATE_HOME"] = join(trap, "state");
    const before = process.env["HOME"];
    process.env["HOME"] = join(trap, "home");
    mkdirSync(join(trap, "home"));
    await using transport = new LocalTransport({});
    const { id, outputFile } = await backgroundShells(transport, { clean, cwd: () => "/", timeoutMs: 60_000 }).start(
      "echo x",
    );
    expect(outputFile).toStartWith(join(trap, "home/.local/state/buddy/shells/shared"));
    expect(id).toMatch(/^sh-/);
    expect(statSync(join(trap, "elsewhere")).mode & 0o777).toBe(0o755);
    process.env["HOME"] = before;
    process.env["XDG_STATE_HOME"] = home;
    await until(() => readFileSync(outputFile, "utf8").includes("completed"), "it ends");
    rmSync(trap, { recursive: true });
  });

  container.test("one that was killed is not called running where no process waits for its end", async () => {
    // The first process of the container never does. Only root can read the environment of one that has ended.
    await using opened = await openPlace("container", {}, { run: ["--user", "1000:1000"] });
    const shells = backgroundShells(opened.transport, { clean, cwd: () => "/", timeoutMs: 60_000 });
    const { id, pid } = await shells.start("sleep 1000");
    expect((await shells.output(id)).status).toBe("running");
    await opened.transport.run('kill -KILL "-$1"', { args: [String(pid)] });
    expect((await untilEnded(shells, id)).status).toBe("failed");
    expect((await opened.transport.run('kill -0 "$1"', { args: [String(pid)] })).code).toBe(0);
  });

  container.test("without a home a directory in /tmp serves", async () => {
    await using opened = await openPlace("container", {}, { run: ["--user", "1000:1000"] });
    const shells = backgroundShells(opened.transport, { clean, cwd: () => "/", timeoutMs: 60_000 });
    const { id, outputFile } = await shells.start("echo x");
    expect(outputFile).toStartWith("/tmp/buddy-1000/shells/");
    expect((await untilEnded(shells, id)).stdout).toBe("x\n");
    await opened.transport.run("rm -rf /tmp/buddy-1000; ln -s /root /tmp/buddy-1000");
    await expect(shells.start("echo x")).rejects.toThrow(buddyError("target", "HOME"));
  });
});

test("what runs automatically runs in a clean shell: no functions, no other repository, its own text in the list", async () => {
  const before = { ...process.env };
  process.env["BASH_FUNC_ls%%"] = "() { echo hijacked; }";
  process.env["GIT_DIR"] = "/elsewhere";
  try {
    await using transport = new LocalTransport({ cwd: "/" });
    const shells = backgroundShells(transport, { clean, cwd: () => "/", timeoutMs: 60_000 });
    const command = "ls -d /etc; echo ${GIT_DIR-none} $GIT_OPTIONAL_LOCKS; (exit 3)";
    const { id } = await shells.start(command, { unasked: { inNamespace: false } });
    let text = "";
    await until(async () => {
      const look = await shells.output(id);
      text += look.stdout;
      return look.status !== "running";
    }, "its end");
    expect(text).toBe("/etc\nnone 0\n");
    expect((await shells.list()).find((one) => one.id === id)).toMatchObject({ command, exitCode: 3 });
  } finally {
    delete process.env["BASH_FUNC_ls%%"];
    delete process.env["GIT_DIR"];
    Object.assign(process.env, before);
  }
});
