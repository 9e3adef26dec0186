import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { containerTarget } from "../support/container.ts";
import { DECLARED, call, execRig, shell } from "../support/exec.ts";
import { processesWith, uniqueSeconds } from "../support/processes.ts";
import { proxyTo } from "../support/tcp-proxy.ts";
import { sshTarget } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { available, needs } from "../support/needs.ts";

const ssh = await needs("sshd");
const container = await needs("podman");

/** Work that shows where it was done: a command, a file written and read back, a background shell. */
const WORK = [
  shell("echo in $PWD as $(id -un); echo home $HOME"),
  call("write_file", { path: "note.txt", content: "left by buddy\n" }),
  call("read_file", { path: "note.txt" }),
  shell("echo from the background", { mode: "background", ...DECLARED }),
  { text: "done" },
];

const APPROVED = ["--approve", "all"];

/** Control sockets go here, and nobody else's. */
function runtime(): { path: string; sockets(): string[] } & Disposable {
  const path = mkdtempSync("/tmp/buddy-runtime-");
  return {
    path,
    sockets: () => readdirSync(join(path, "buddy")),
    [Symbol.dispose]: () => rmSync(path, { recursive: true }),
  };
}

const TMUX = (await available("tmux")).map(() => ["--tmux"]);

describe("the binary works where it should", () => {
  ssh.test.each([["--no-tmux"], ...TMUX])("over ssh %s", async (shellFlag) => {
    const { host, env, server } = await sshTarget();
    using sockets = runtime();
    await using rig = execRig(WORK, { env: { PATH: env["PATH"] ?? "", XDG_RUNTIME_DIR: sockets.path } });
    const run = await rig.exec(["--ssh", host, "--cd", server.remoteHome, shellFlag, ...APPROVED, "go"]);
    expect(run).toMatchObject({ code: 0, stdout: "done\n" });
    const [said, , read, background] = rig.results().map((result) => JSON.stringify(result));
    expect(said).toContain(`home ${server.remoteHome}`);
    expect(read).toContain("left by buddy");
    expect(background).toContain("sh-");
    expect(readFileSync(join(server.remoteHome, "note.txt"), "utf8")).toBe("left by buddy\n");
    expect(existsSync(join(rig.box.cwd, "note.txt"))).toBe(false);
    await until(() => sockets.sockets().length === 0, "no socket is left");
    await until(() => processesWith(sockets.path).length === 0, "no ssh is left");
  });

  container.test.each([["--no-tmux"], ["--tmux"]])("in a container %s", async (shellFlag) => {
    await using inside = await containerTarget({ image: "tmux", run: ["--workdir", "/root"] });
    await using rig = execRig(WORK, { env: { PATH: inside.env["PATH"] ?? "" } });
    const run = await rig.exec(["--container", inside.name, shellFlag, ...APPROVED, "go"]);
    expect(run).toMatchObject({ code: 0, stdout: "done\n" });
    const [said, , read] = rig.results().map((result) => JSON.stringify(result));
    expect(said).toContain("in /root as root");
    expect(read).toContain("left by buddy");
    expect(await inside.engine("exec", inside.name, "cat", "/root/note.txt")).toBe("left by buddy");
    expect(existsSync(join(rig.box.cwd, "note.txt"))).toBe(false);
  });

  container.test("in a container on a host over ssh; busybox only", async () => {
    const { host, env, server } = await sshTarget();
    await using inside = await containerTarget({ run: ["--workdir", "/root"] });
    await Bun.$`ln -sf ${inside.env["PATH"]?.split(":")[0]}/podman ${server.remoteBin}/podman`.quiet();
    await using rig = execRig(WORK, { env: { PATH: env["PATH"] ?? "" } });
    const run = await rig.exec(["--ssh", host, "--container", inside.name, ...APPROVED, "go"]);
    expect(run).toMatchObject({ code: 0, stdout: "done\n" });
    expect(await inside.engine("exec", inside.name, "cat", "/root/note.txt")).toBe("left by buddy");
  });
});

describe("a target that cannot be opened is an error, never this machine instead", () => {
  ssh.test("hosts", async () => {
    const { env } = await sshTarget();
    const trace = `buddy-was-here-${uniqueSeconds()}`;
    for (const [host, words] of [
      ["127.0.0.1:1", "refused the connection"],
      ["no-such-host.invalid", "cannot be resolved"],
      ["stranger", "refused the login"],
    ] as const) {
      await using rig = execRig([shell(`touch ${trace}`, DECLARED), { text: "done" }], {
        env: { PATH: env["PATH"] ?? "" },
      });
      const run = await rig.exec(["--ssh", host, ...APPROVED, "go"]);
      expect(run.code).toBe(1);
      expect(run.stderr).toContain(words);
      expect(existsSync(join(rig.box.cwd, trace))).toBe(false);
    }
  });

  container.test("containers, with the names of those that run", async () => {
    await using inside = await containerTarget();
    await using rig = execRig([shell("true"), { text: "done" }], { env: { PATH: inside.env["PATH"] ?? "" } });
    const run = await rig.exec(["--container", "no-such-thing", ...APPROVED, "go"]);
    expect(run.code).toBe(1);
    expect(run.stderr).toContain('container "no-such-thing" does not exist');
    expect(run.stderr).toContain(inside.name);
  });

  test("what looks like an option is refused before ssh sees it", async () => {
    await using rig = execRig([{ text: "done" }]);
    const run = await rig.exec(["--ssh=-oProxyCommand=touch owned", "go"]);
    expect(run.code).toBe(2);
    expect(existsSync(join(rig.box.cwd, "owned"))).toBe(false);
  });
});

ssh.test.each(["SIGKILL", "SIGINT", "SIGTERM"] as const)(
  "%s in the middle of a command over ssh leaves nothing",
  async (signal) => {
    const { host, env, server } = await sshTarget();
    using sockets = runtime();
    const seconds = uniqueSeconds();
    await using rig = execRig([shell(`sleep ${seconds}`, DECLARED), { text: "done" }], {
      env: { PATH: env["PATH"] ?? "" },
    });
    const child = await rig.box.spawn(["exec", "--ssh", host, "--no-tmux", ...APPROVED, "go"], {
      env: { PATH: env["PATH"], XDG_RUNTIME_DIR: sockets.path },
    });
    await until(() => processesWith(`sleep ${seconds}`).length > 0, "the command runs there");
    expect(sockets.sockets()).not.toEqual([]);
    child.kill(signal);
    await child.exited;
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "the command there is gone");
    await until(() => sockets.sockets().length === 0, "no socket is left");
    await until(() => server.connections().length === 0, "no connection is left");
  },
);

ssh.describe.each(["SIGINT", "SIGTERM"] as const)("%s when the line has become a black hole", (signal) => {
  test.each(["opening", "running"])("while %s: buddy ends at once, and nothing of it is left here", async (when) => {
    const { env, server } = await sshTarget();
    using sockets = runtime();
    await using proxy = await proxyTo(server.port);
    const seconds = uniqueSeconds();
    await using rig = execRig([shell(`sleep ${seconds}`, DECLARED), { text: "done" }]);
    proxy.swallow(when === "opening");
    const child = await rig.box.spawn(["exec", "--ssh", `127.0.0.1:${proxy.port}`, "--no-tmux", ...APPROVED, "go"], {
      env: { PATH: env["PATH"], XDG_RUNTIME_DIR: sockets.path },
    });
    child.stdin.end();
    if (when === "opening") await until(() => proxy.accepted > 0, "ssh connects");
    else await until(() => processesWith(`sleep ${seconds}`).length > 0, "the command runs there");
    proxy.swallow(true);
    child.kill(signal);
    expect(await child.exited).toBe(signal === "SIGINT" ? 130 : 143);
    // What no call has used yet is not waited for: it ends by itself.
    await until(() => processesWith(sockets.path).length === 0, "no ssh is left");
    await until(() => sockets.sockets().length === 0, "no socket is left");
    proxy.cut();
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "the other side ends the command by itself");
  });
});
