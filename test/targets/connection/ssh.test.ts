import { expect } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BuddyError } from "../../../src/lib/errors.ts";
import { hideFromChildren } from "../../../src/lib/processes.ts";
import {
  ConnectionDropped,
  ConnectionLost,
  LoginRefused,
  MachineChanged,
  PermanentRefusal,
  TargetClosed,
} from "../../../src/targets/errors.ts";
import { openTarget } from "../../../src/targets/open.ts";
import type { TargetOptions } from "../../../src/targets/target.ts";
import { destinationText, parseDestination, sshArguments } from "../../../src/targets/connection/ssh-destination.ts";
import { sshFailure } from "../../../src/targets/connection/ssh-failure.ts";
import { SshTransport } from "../../../src/targets/connection/ssh.ts";
import { socketDirectory, socketName } from "../../../src/targets/connection/socket-directory.ts";
import { endTmux } from "../../support/end-tmux.ts";
import { buddyError } from "../../support/errors.ts";
import { processesWith, uniqueSeconds, ACCOUNT } from "../../support/processes.ts";
import { proxyTo } from "../../support/tcp-proxy.ts";
import { sshdWith, useSshd, type SshServer } from "../../support/sshd.ts";
import { onTerminal } from "../../support/terminal.ts";
import { until } from "../../support/until.ts";
import { available, needs } from "../../support/needs.ts";
import { placeOf } from "../../../src/targets/place.ts";
import { targetOptions } from "../../support/target-options.ts";

const { afterAll, beforeAll, describe, test } = await needs("sshd");
const fish = await needs("sshd", "fish");
const pane = await needs("sshd", "tmux");
const MODES = ["never" as const, ...(await available("tmux")).map(() => "required" as const)];

const HOLDER = join(import.meta.dir, "../../support/transport-holder.ts");

let server: SshServer & Disposable;
beforeAll(async () => void (server = await useSshd()));
afterAll(() => server[Symbol.dispose]());

type More = Partial<Parameters<typeof SshTransport.open>[0]>;

function open(destination: string, more: More = {}): Promise<SshTransport> {
  return SshTransport.open({ destination, interactive: false, ...more });
}

async function refusal(destination: string, more: More = {}): Promise<BuddyError> {
  const opened = await open(destination, more).catch((error: unknown) => error);
  if (!(opened instanceof BuddyError)) throw new Error(`expected a refusal, got ${String(opened)}`);
  return opened;
}

async function output(transport: SshTransport, ...argv: string[]): Promise<string> {
  const child = transport.spawn(argv);
  child.stdin.end();
  return await new Response(child.stdout).text();
}

/** Panes keep their files in the same directory; only ssh has sockets there. */
const mySockets = () =>
  readdirSync(socketDirectory(), { withFileTypes: true })
    .filter((entry) => entry.isSocket() && entry.name.includes(`-${process.pid}-`))
    .map((entry) => entry.name);

describe("destinations", () => {
  test.each([
    ["host", { host: "host" }],
    ["user@host", { user: "user", host: "host" }],
    ["user@host:2222", { user: "user", host: "host", port: 2222 }],
    ["a@b.example@host", { user: "a@b.example", host: "host" }],
    ["[::1]:2222", { host: "::1", port: 2222 }],
    ["me@[fe80::1%eth0]", { user: "me", host: "fe80::1%eth0" }],
    ["fe80::1", { host: "fe80::1" }],
    ["10.0.0.1:22", { host: "10.0.0.1", port: 22 }],
    ["ssh://me@host:22/", { user: "me", host: "host", port: 22 }],
    ["my-alias_1.x", { host: "my-alias_1.x" }],
  ])("%s", (text, expected) => {
    expect(parseDestination(text)).toMatchObject(expected);
    expect(parseDestination(destinationText(expected))).toMatchObject(expected);
  });

  test.each([
    "",
    "@host",
    "user@",
    "-oProxyCommand=touch /tmp/x",
    "me@-host",
    "-l@host",
    "host:0",
    "host:65536",
    "host:22x",
    "host:",
    "a b",
    "host;id",
    "$(id)",
    "me`id`@host",
    "me\n@host",
  ])("%j is refused", (text) => {
    expect(() => parseDestination(text)).toThrow(buddyError("usage", JSON.stringify(text)));
  });
});

describe("reaching a host", () => {
  test("alias, user, port, jump host", async () => {
    for (const destination of [
      "lab",
      `${ACCOUNT}@lab`,
      `127.0.0.1:${server.port}`,
      `${ACCOUNT}@127.0.0.1:${server.port}`,
      "jump",
    ]) {
      await using transport = await open(destination);
      expect(await output(transport, "echo", "there")).toBe("there\n");
      expect(transport.label).toStartWith(`ssh ${ACCOUNT}@`);
    }
    expect(mySockets()).toEqual([]);
  });

  test("everything goes through one connection", async () => {
    await using proxy = await proxyTo(server.port);
    await using transport = await open(`127.0.0.1:${proxy.port}`);
    const all = await Promise.all(Array.from({ length: 5 }, (_, at) => output(transport, "echo", String(at))));
    expect(all.join("")).toBe("0\n1\n2\n3\n4\n");
    expect(proxy.accepted).toBe(1);
  });

  fish.test("a login shell that is not sh, one that talks, and settings that would get in the way", async () => {
    const fish = server.key("fish", { accept: `command="fish -c \\"$SSH_ORIGINAL_COMMAND\\""` });
    server.configure(`Host fishy\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${fish}`);
    server.configure(
      `Host busy\n  HostName 127.0.0.1\n  Port ${server.port}\n  RemoteCommand echo no\n  RequestTTY yes\n  LocalForward 1 localhost:1\n  ControlMaster auto\n  ControlPath ${server.dir}/theirs\n  LogLevel QUIET`,
    );
    writeFileSync(join(server.remoteHome, ".bashrc"), "echo welcome; echo 'dear operator' >&2\n");
    for (const destination of ["fishy", "busy", "lab"]) {
      await using transport = await open(destination);
      const child = transport.spawn(["sh", "-c", "printf '%s' \"$1\"; echo e >&2", "sh", "it's \\ ! \n$HOME"]);
      child.stdin.end();
      expect(await new Response(child.stdout).text()).toBe("it's \\ ! \n$HOME");
      expect(await new Response(child.stderr).text()).toBe("e\n");
    }
    rmSync(join(server.remoteHome, ".bashrc"));
    expect(existsSync(join(server.dir, "theirs"))).toBe(false);
  });

  test("--cd names the directory there", async () => {
    await using transport = await open("lab", { cwd: "/usr" });
    expect(transport.facts.cwd).toBe("/usr");
    expect(await output(transport, "pwd")).toBe("/usr\n");
    await expect(open("lab", { cwd: "/no/such" })).rejects.toThrow(buddyError("target", "/no/such"));
    expect(mySockets().length).toBe(1);
  });

  test("variables with secrets stay here", async () => {
    server.configure("Host leaky\n  SendEnv *\n  SetEnv OPEN=fine");
    const secret = `s3cret-${process.pid}`;
    process.env["MY_SECRET"] = secret;
    hideFromChildren(["MY_SECRET"]);
    await using transport = await SshTransport.open({
      destination: "lab",
      interactive: false,
    });
    delete process.env["MY_SECRET"];
    expect(await output(transport, "env")).not.toContain(secret);
    const [socket = "", ...others] = mySockets();
    expect(others).toEqual([]);
    const clients = processesWith(`-T -S ${join(socketDirectory(), socket)}`);
    expect(clients).not.toEqual([]);
    for (const pid of clients) expect(readFileSync(`/proc/${pid}/environ`, "latin1")).not.toContain(secret);
  });

  test("an abort while connecting ends the attempt", async () => {
    await using proxy = await proxyTo(server.port);
    proxy.swallow(true);
    const stop = new AbortController();
    const opening = open(`127.0.0.1:${proxy.port}`, { signal: stop.signal });
    await until(() => proxy.accepted > 0, "ssh connects");
    stop.abort(new Error("no longer wanted"));
    await expect(opening).rejects.toThrow("no longer wanted");
    expect(mySockets()).toEqual([]);
  });
});

describe("what goes wrong is reported with a remedy", () => {
  test("refused, unknown, wrong key, closed at once", async () => {
    const closed = await refusal("127.0.0.1:1");
    expect(closed).toBeInstanceOf(ConnectionLost);
    expect(closed.message).toContain("127.0.0.1:1");
    const unknown = await refusal("no-such-host.invalid");
    expect(unknown).toBeInstanceOf(ConnectionLost);
    expect(unknown.message).toContain("no-such-host.invalid");
    expect(unknown.hint).toContain("~/.ssh/config");
    const denied = await refusal("stranger");
    expect(denied).toBeInstanceOf(LoginRefused);
    expect(denied.message).toContain("stranger");
    expect(denied.message).toContain("Permission denied (publickey)");
    expect(denied.hint).toContain("ssh-add -l");
    await using proxy = await proxyTo(server.port);
    proxy.refuse(true);
    expect(await refusal(`127.0.0.1:${proxy.port}`)).toBeInstanceOf(ConnectionDropped);
    expect(mySockets()).toEqual([]);
  });

  test("host keys: not known, and changed", async () => {
    const empty = join(server.dir, "known_none");
    const wrong = join(server.dir, "known_wrong");
    writeFileSync(empty, "");
    const other = readFileSync(`${server.key("other-host", { accept: false })}.pub`, "utf8");
    writeFileSync(wrong, `[127.0.0.1]:${server.port} ${other}`);
    const host = (name: string, known: string, strict: string) =>
      `Host ${name}\n  HostName 127.0.0.1\n  Port ${server.port}\n  UserKnownHostsFile ${known}\n  StrictHostKeyChecking ${strict}`;
    server.configure(host("unknown-key", empty, "ask"));
    server.configure(host("changed-key", wrong, "ask"));
    const unknown = await refusal("unknown-key");
    expect(unknown).toBeInstanceOf(LoginRefused);
    expect(unknown.hint).toContain("ssh unknown-key");
    const changed = await refusal("changed-key");
    expect(changed).toBeInstanceOf(LoginRefused);
    // By the name that known_hosts has, not by the alias, and in the file where ssh found it.
    expect(changed.hint).toContain(`ssh-keygen -f ${wrong} -R '[127.0.0.1]:${server.port}'`);
  });

  test("a jump host or proxy command that fails: by its own words, though ssh drops them", async () => {
    const host = (name: string, lines: string) =>
      server.configure(`Host ${name}\n  HostName 127.0.0.1\n  Port ${server.port}\n  ${lines}`);
    host("behind-nothing", "ProxyJump no-such-jump.invalid");
    host("behind-stranger", "ProxyJump stranger");
    host("behind-proxy", "ProxyCommand sh -c 'echo the proxy is closed >&2; exit 1'");
    const nothing = await refusal("behind-nothing");
    for (const name of ["behind-nothing", "no-such-jump.invalid"]) expect(nothing.message).toContain(name);
    expect(nothing.hint).toContain("ProxyJump");
    expect(nothing).toBeInstanceOf(ConnectionLost);
    const stranger = await refusal("behind-stranger");
    expect(stranger.message).toContain("Permission denied (publickey)");
    expect(stranger).toBeInstanceOf(PermanentRefusal);
    expect((await refusal("behind-proxy")).message).toEndWith("the proxy is closed");
  });

  test("the cause is also named with LogLevel QUIET; so is a key that ssh does not use", async () => {
    const open = server.key("open-key");
    chmodSync(open, 0o644);
    server.configure("Host quiet-stranger\n  LogLevel QUIET");
    server.configure(`Host open-key\n  IdentityFile ${open}`);
    for (const name of ["quiet-stranger", "open-key"])
      server.configure(`Host ${name}\n  HostName 127.0.0.1\n  Port ${server.port}`);
    expect(await refusal("quiet-stranger")).toBeInstanceOf(LoginRefused);
    expect((await refusal("open-key")).message).toContain(`(Load key "${open}": bad permissions)`);
  });

  test("a login that runs no commands", async () => {
    const key = server.key("nologin", { accept: 'command="echo This account is currently not available.; exit 1"' });
    server.configure(`Host nologin\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${key}`);
    const error = await refusal("nologin");
    expect(error).toBeInstanceOf(PermanentRefusal);
    expect(error.message).toContain("nologin");
  });

  test("a passphrase that no one can be asked for is an error, not a wait", async () => {
    const key = server.key("locked", { passphrase: "open sesame" });
    server.configure(`Host locked\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${key}`);
    expect(await refusal("locked")).toBeInstanceOf(LoginRefused);
  });

  test.each([
    ["ssh: connect to host x port 22: No route to host", "No route to host", true],
    ["ssh: connect to host x port 22: Connection timed out", "Connection timed out", true],
    [
      "/root/.ssh/config: line 3: Bad configuration option: foo\r\n/root/.ssh/config: terminating, 1 bad configuration options",
      "/root/.ssh/config: line 3: Bad configuration option: foo",
      false,
    ],
    ["bind 192.0.2.1: Cannot assign requested address\nconnect to host x port 22: failure", "bind 192.0.2.1", false],
    ["Unable to negotiate with 1.2.3.4 port 22: no matching host key type found.", "no matching host key type", false],
    [
      "Welcome\nYour account has expired; please contact your system administrator.\nConnection closed by 1.2.3.4 port 22",
      "Your account has expired; please contact your system administrator.",
      false,
    ],
    ["Welcome\ndown for maintenance\n\nConnection closed by 1.2.3.4 port 22", "down for maintenance", true],
    ["something new", "something new", false],
    ["", "x", false],
  ])("%j", (said, message, passing) => {
    const failure = sshFailure(said, parseDestination("x"));
    expect(failure.message).toContain(message);
    expect(failure instanceof ConnectionLost).toBe(passing);
  });
});

describe("questions", () => {
  const options = (ssh: string): string => JSON.stringify({ place: placeOf({ ssh }) } satisfies Partial<TargetOptions>);

  test("a passphrase and a new host key are asked for on the terminal", async () => {
    const key = server.key("asking", { passphrase: "open sesame" });
    const known = join(server.dir, "known_new");
    writeFileSync(known, "");
    server.configure(
      `Host asking\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${key}\n  UserKnownHostsFile ${known}\n  StrictHostKeyChecking ask`,
    );
    const seconds = uniqueSeconds();
    const run = onTerminal([process.execPath, HOLDER, options("asking"), seconds], { ...process.env });
    await run.sees("(yes/no");
    run.type("yes\r");
    await run.sees("Enter passphrase");
    run.type("wrong\r");
    await run.sees(/Enter passphrase[\s\S]*Enter passphrase/);
    run.type("open sesame\r");
    await run.sees("ready");
    expect(run.text()).not.toContain("sesame");
    // The terminal's Ctrl-C reaches buddy, not the connection; with buddy gone nothing is left.
    run.type("\u0003");
    await run.child.exited;
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "the group there is gone");
    await until(() => processesWith(`-${run.child.pid}-`).length === 0, "no master is left");
  });

  test("a background job does not ask: it would be stopped for ever", async () => {
    const key = server.key("asking2", { passphrase: "open sesame" });
    server.configure(`Host asking2\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${key}`);
    const script = `set -m; "$0" "$1" "$2" 5 & wait $!; echo "ended $?"`;
    const run = onTerminal(["bash", "-c", script, process.execPath, HOLDER, options("asking2")], { ...process.env });
    await run.sees("ended 1");
    expect(run.text()).toContain("Permission denied");
    await run.child.exited;
  });
});

describe("when the line breaks", () => {
  test("a reset is noticed at once; ensure reconnects and what ran before is gone", async () => {
    await using proxy = await proxyTo(server.port);
    await using transport = await open(`127.0.0.1:${proxy.port}`, { cwd: "/usr" });
    const seconds = uniqueSeconds();
    const child = transport.spawn(["sh", "-c", `sleep ${seconds}; sleep ${seconds}`]);
    await child.pid;
    proxy.cut();
    expect(await child.exited).toBe(255);
    await transport.ensure();
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "the old command is gone");
    expect(await output(transport, "pwd")).toBe("/usr\n");
    expect(proxy.accepted).toBe(2);
    proxy.cut();
    expect((await transport.run("echo again")).stdout.toString()).toBe("again\n");
    expect(mySockets().length).toBe(1);
  });

  test("several who notice it at once share one reconnect; a server that is away for a moment is waited for", async () => {
    await using proxy = await proxyTo(server.port);
    await using transport = await open(`127.0.0.1:${proxy.port}`);
    proxy.refuse(true);
    proxy.cut();
    const waiting = Promise.all([transport.ensure(), transport.ensure(), transport.run("echo here")]);
    await until(() => proxy.accepted >= 3, "it is tried again");
    proxy.refuse(false);
    const [, , answer] = await waiting;
    expect(answer.stdout.toString()).toBe("here\n");
  });

  test("a black hole is found by asking over the line, and left behind", async () => {
    await using proxy = await proxyTo(server.port);
    await using transport = await open(`127.0.0.1:${proxy.port}`);
    const child = transport.spawn(["cat"]);
    await child.pid;
    proxy.swallow(true);
    const mended = transport.ensure();
    await until(() => child.exited.then(() => true), "the dead line is given up");
    proxy.swallow(false);
    await mended;
    expect(await output(transport, "echo", "back")).toBe("back\n");
  });

  test("an abort ends the attempts", async () => {
    await using proxy = await proxyTo(server.port);
    await using transport = await open(`127.0.0.1:${proxy.port}`);
    proxy.refuse(true);
    proxy.cut();
    const stop = new AbortController();
    const mending = transport.ensure(stop.signal);
    await until(() => proxy.accepted >= 2, "it is tried again");
    stop.abort(new Error("enough"));
    await expect(mending).rejects.toThrow();
    proxy.refuse(false);
  });

  test("another machine behind the same name is not worked on", async () => {
    await using proxy = await proxyTo(server.port);
    await using transport = await open(`127.0.0.1:${proxy.port}`);
    const fake = join(server.remoteBin, "id");
    const intruder = `intruder${process.pid}`;
    writeFileSync(fake, `#!/bin/sh\necho ${intruder}\n`);
    chmodSync(fake, 0o755);
    proxy.cut();
    const mending = transport.ensure();
    await expect(mending).rejects.toBeInstanceOf(MachineChanged);
    rmSync(fake);
    rmSync(`/tmp/buddy-${intruder}`, { recursive: true, force: true });
    await transport.ensure();
    expect(await output(transport, "echo", "the right one")).toBe("the right one\n");
  });

  test("closed is closed", async () => {
    const transport = await open("lab");
    await transport[Symbol.asyncDispose]();
    await transport[Symbol.asyncDispose]();
    expect(() => transport.spawn(["true"])).toThrow(TargetClosed);
    await expect(transport.ensure()).rejects.toBeInstanceOf(TargetClosed);
    await expect(transport.run("true")).rejects.toBeInstanceOf(TargetClosed);
    expect(mySockets()).toEqual([]);
  });
});

describe("sockets", () => {
  test("what a dead buddy left is removed at the next start", async () => {
    const gone = Bun.spawnSync(["true"]);
    const name = socketName("lab").replace(`-${process.pid}-`, `-${gone.pid}-`);
    const left = join(socketDirectory(), name);
    writeFileSync(left, "");
    const other = join(socketDirectory(), "not-ours");
    writeFileSync(other, "");
    await using transport = await open("lab");
    await transport.run("true");
    expect(existsSync(left)).toBe(false);
    expect(existsSync(other)).toBe(true);
    rmSync(other);
  });

  test("the directory is private, short and ours", () => {
    const uid = process.getuid?.() ?? 0;
    expect(socketDirectory({})).toBe(`/tmp/buddy-${uid}`);
    const runtime = realpathSync(mkdtempSync(join(tmpdir(), "r")));
    expect(socketDirectory({ XDG_RUNTIME_DIR: runtime })).toBe(join(runtime, "buddy"));
    Bun.spawnSync(["chmod", "755", join(runtime, "buddy")]);
    expect(socketDirectory({ XDG_RUNTIME_DIR: runtime })).toBe(`/tmp/buddy-${uid}`);
    expect(socketDirectory({ XDG_RUNTIME_DIR: `${server.dir}/${"long".repeat(30)}` })).toBe(`/tmp/buddy-${uid}`);
    expect(socketName("a")).not.toBe(socketName("a"));
    rmSync(runtime, { recursive: true });
  });
});

describe("an sshd with few sessions", () => {
  const socket = `buddy-test-few-${process.pid}`;
  const open = (destination: string, tmux: TargetOptions["tmux"]) =>
    openTarget(
      targetOptions({
        place: placeOf({ ssh: destination }),
        tmux,
        tmuxSocket: socket,
      }),
    );

  test.each(MODES)("MaxSessions 2 is enough for a shell, files and background shells (tmux %s)", async (tmux) => {
    const few = await sshdWith("MaxSessions 2");
    const before = process.env["PATH"];
    process.env["PATH"] = few.env.PATH;
    try {
      await using target = await open("lab", tmux);
      expect((await target.shell.run("echo one")).output.head).toBe("one\n");
      await target.files.write(join(few.dir, "file"), "text");
      const reads = await Promise.all([1, 2, 3].map(() => target.files.read(join(few.dir, "file"))));
      expect(reads.map(({ text }) => text)).toEqual(["text", "text", "text"]);
      const { id } = await target.background.start("echo background");
      await until(async () => (await target.background.output(id)).status === "completed", "it ends");
      expect((await target.shell.run("echo two")).output.head).toBe("two\n");
    } finally {
      endTmux(socket, few.sockets);
      process.env["PATH"] = before;
    }
  });

  pane.test.each(["required", "never"] as const)(
    "MaxSessions 1 (tmux %s): what is needed logs in once more; where that is refused, the cause is named",
    async (tmux) => {
      const one = await sshdWith("MaxSessions 1");
      const before = process.env["PATH"];
      process.env["PATH"] = one.env.PATH;
      const keys = join(one.dir, "authorized_keys");
      const allowed = readFileSync(keys);
      try {
        await using target = await open("lab", tmux);
        const { shell } = target;
        expect((await shell.run("echo one; cd /usr")).output.head).toBe("one\n");
        await target.files.write(join(one.dir, "file"), "text");
        expect((await target.files.read(join(one.dir, "file"))).text).toBe("text");
        const { id } = await target.background.start("echo background");
        await until(async () => (await target.background.output(id)).status === "completed", "it ends");
        expect((await shell.run("pwd; seq 1 20000 | tail -n 1")).output.head).toBe("/usr\n20000\n");
        if (tmux === "required") return;
        // As after a login with a password: nothing can be asked again.
        await using other = await open("lab", tmux);
        writeFileSync(keys, "");
        const shown: unknown[] = [];
        const { outcome, stderr } = await other.shell.run("true", { onOutput: (piece) => shown.push(piece) });
        expect(outcome).toMatchObject({ kind: "lost", notRun: true, why: expect.stringContaining("MaxSessions") });
        // Lines of ssh's own stood below it.
        expect([shown, stderr?.totalBytes]).toEqual([[], 0]);
      } finally {
        writeFileSync(keys, allowed);
        endTmux(socket, one.sockets);
        process.env["PATH"] = before;
      }
    },
  );
});

describe("a login that worked before and is refused now", () => {
  test("is tried once, then not again automatically; /reconnect tries again", async () => {
    await using proxy = await proxyTo(server.port);
    const key = server.key("fleeting");
    const line = readFileSync(`${key}.pub`, "utf8").trim();
    server.configure(`Host fleeting\n  HostName 127.0.0.1\n  Port ${proxy.port}\n  IdentityFile ${key}`);
    await using transport = await open("fleeting");
    const authorized = join(server.dir, "authorized_keys");
    const all = readFileSync(authorized, "utf8");
    writeFileSync(authorized, all.replace(line, ""));
    proxy.cut();
    await until(async () => !(await transport.answers(1000)), "the drop is noticed");
    await expect(transport.ensure()).rejects.toBeInstanceOf(PermanentRefusal);
    const attempts = proxy.accepted;
    await expect(transport.ensure()).rejects.toBeInstanceOf(PermanentRefusal);
    await expect(transport.run("true")).rejects.toBeInstanceOf(PermanentRefusal);
    expect(proxy.accepted).toBe(attempts);
    writeFileSync(authorized, all);
    await transport.reconnect();
    expect((await transport.run("echo again")).stdout.toString()).toBe("again\n");
  });
});

test("a direct shell that went with its connection is called restarted once there is another", async () => {
  await using proxy = await proxyTo(server.port);
  const place = placeOf({ ssh: `127.0.0.1:${proxy.port}` });
  await using target = await openTarget(targetOptions({ place, tmux: "never" }));
  const cut = () => {
    proxy.refuse(true);
    proxy.cut();
  };
  const dropped = await target.shell.run("echo begun; sleep 60", { onOutput: cut });
  expect([dropped.outcome.kind, dropped.notes]).toEqual(["lost", []]);
  proxy.refuse(false);
  expect((await target.shell.run("true")).notes.join()).toContain("functions");
  expect((await target.shell.run("true")).notes).toEqual([]);
});

test("a live connection of the user's own is used, and stays", async () => {
  const socket = join(server.dir, "own-master");
  const key = server.key("own", { passphrase: "open sesame", accept: "" });
  server.configure(
    `Host own\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${key}\n  ControlMaster auto\n  ControlPath ${socket}`,
  );
  const unlocked = server.key("own-unlocked");
  const login = ["ssh", "-MNf", "-i", unlocked, "-o", "BatchMode=yes", "-o", "ControlPersist=yes", "own"];
  const env = { ...process.env };
  expect(await Bun.spawn(login, { stdio: ["ignore", "ignore", "ignore"], env }).exited).toBe(0);
  {
    await using transport = await open("own");
    expect((await transport.run("echo through it")).stdout.toString()).toBe("through it\n");
    expect(mySockets()).toEqual([]);
  }
  const check = Bun.spawnSync(["ssh", "-O", "check", "own"], { stderr: "ignore", env });
  expect(check.exitCode).toBe(0);
  Bun.spawnSync(["ssh", "-O", "exit", "own"], { stderr: "ignore", env });
});

test.each([
  ["::1", "ssh -t ::1 tmux"],
  ["[::1]:2222", "ssh -t -p 2222 ::1 tmux"],
  ["ann@[fe80::1]:22", "ssh -t -p 22 ann@fe80::1 tmux"],
  ["ann@web1:22", "ssh -t -p 22 ann@web1 tmux"],
])("%s can be attached to by the command that is shown", (written, command) => {
  expect(`ssh -t ${sshArguments(parseDestination(written))} tmux`).toBe(command);
});

describe("a login that does not run commands is explained", () => {
  test.each([
    ["rbash", "restricted", 'command="exec rbash -c \\"$SSH_ORIGINAL_COMMAND\\""'],
    ["reads", "standard input", 'command="read x; exec bash -c \\"$SSH_ORIGINAL_COMMAND\\""'],
    ["echoes", "prints it", 'command="timeout 0.5 cat"'],
    ["elsewhere", "standard error", 'command="exec sh -c \\"$SSH_ORIGINAL_COMMAND\\" >&2"'],
    ["expired", "password", 'command="echo Password change required but no TTY available. >&2; exit 1"'],
  ])("%s", async (name, words, accept) => {
    const key = server.key(name, { accept });
    server.configure(`Host ${name}\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${key}`);
    for (const frugal of [false, true]) {
      const error = await refusal(name, { frugal });
      expect(error).toBeInstanceOf(PermanentRefusal);
      expect(error.message).toContain(words);
    }
  });

  test.each(["StdinNull yes", "SessionType subsystem"])("%s in the user's own configuration", async (setting) => {
    const name = setting.replace(" ", "-").toLowerCase();
    server.configure(
      `Host ${name}\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${server.key(name)}\n  ${setting}`,
    );
    const error = await refusal(name, { frugal: false });
    expect(error).toBeInstanceOf(PermanentRefusal);
    expect(error.message).toContain(setting);
  });

  test("a forced command", async () => {
    const key = server.key("forced", { accept: 'command="echo only backups here"' });
    server.configure(`Host forced\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${key}`);
    for (const frugal of [false, true]) {
      const error = await refusal("forced", { frugal });
      expect(error.message).toContain("only backups here");
      expect(error.hint).toContain("ForceCommand");
    }
  });
});

describe("an account with odd limits and variables", () => {
  const openAs = (name: string, accept: string, tmux: TargetOptions["tmux"]) => {
    const key = server.key(name, { accept });
    server.configure(`Host ${name}\n  HostName 127.0.0.1\n  Port ${server.port}\n  IdentityFile ${key}`);
    const told: string[] = [];
    const options = {
      place: placeOf({ ssh: name }),
      tmux,
      onNotice: ({ text }: { text: string }) => void told.push(text),
    };
    return { told, opened: openTarget(targetOptions({ ...options, tmuxSocket: `buddy-test-${name}-${process.pid}` })) };
  };

  test("what the shell itself prints when it starts is not the output of the first command", async () => {
    await using target = await openAs("noisy-start", 'environment="LC_ALL=xx_YY.UTF-8"', "never").opened;
    const { output, stderr } = await target.shell.run("echo one");
    expect([output.head, stderr?.head]).toEqual(["one\n", ""]);
  });

  test.each([
    ["never ends", "sleep 600; :", "did not answer"],
    ["cannot be ended", 'trap "" TERM HUP; while :; do sleep 1; done', "did not answer"],
    ["is something else", "echo no version", "no version"],
  ])("a tmux that %s is named, and a direct shell works", async (name, body, words) => {
    const tmux = join(server.remoteBin, "tmux");
    writeFileSync(tmux, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    try {
      const { told, opened } = openAs(`tmux-${name.replaceAll(" ", "-")}`, "no-pty", "auto");
      await using target = await opened;
      expect(target.shell.kind).toBe("direct");
      expect(told).toEqual([expect.stringContaining(words)]);
      expect(Bun.spawnSync(["pgrep", "-f", tmux]).stdout.toString()).toBe("");
    } finally {
      rmSync(tmux);
    }
  });

  pane.test("no file may grow: a direct shell works, and keeps what is exported", async () => {
    const accept = 'command="ulimit -f 0; exec sh -c \\"$SSH_ORIGINAL_COMMAND\\""';
    const { told, opened } = openAs("no-growth", accept, "auto");
    await using target = await opened;
    expect(target.shell.kind).toBe("direct");
    expect(told).not.toEqual([]);
    await target.shell.run("cd /usr; export A=kept");
    const { outcome, output, stderr } = await target.shell.run("echo $A $PWD");
    expect(outcome).toEqual({ kind: "exited", code: 0 });
    expect([output.head, stderr?.head]).toEqual(["kept /usr\n", ""]);
    endTmux(`buddy-test-no-growth-${process.pid}`, server.sockets);
  });
});
