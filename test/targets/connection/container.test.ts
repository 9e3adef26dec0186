import { afterAll, beforeAll, expect } from "bun:test";
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { BuddyError } from "../../../src/lib/errors.ts";
import { MachineChanged, PermanentRefusal } from "../../../src/targets/errors.ts";
import { fileAccess } from "../../../src/targets/files/files.ts";
import { ContainerTransport, findContainer } from "../../../src/targets/connection/container.ts";
import { LocalTransport } from "../../../src/targets/connection/local.ts";
import { openTarget } from "../../../src/targets/open.ts";
import { placeOf } from "../../../src/targets/place.ts";
import { SshTransport } from "../../../src/targets/connection/ssh.ts";
import { type Container, containerTarget, type Engine } from "../../support/container.ts";
import { buddyError } from "../../support/errors.ts";
import { proxyTo } from "../../support/tcp-proxy.ts";
import { useSshd } from "../../support/sshd.ts";
import { targetOptions } from "../../support/target-options.ts";
import { until } from "../../support/until.ts";
import { needs } from "../../support/needs.ts";

const { describe, test } = await needs("podman", "sshd");

/** The real docker client is not everywhere; podman, also under its name, is. */
const ENGINES: Engine[] = [
  "podman",
  "podman-as-docker",
  ...(Bun.which("docker") === null ? [] : (["docker"] as const)),
];

async function inPath<T>(path: string | undefined, work: () => Promise<T>): Promise<T> {
  const before = process.env["PATH"];
  process.env["PATH"] = path;
  try {
    return await work();
  } finally {
    process.env["PATH"] = before;
  }
}

function enter(container: Container, name = container.name): Promise<ContainerTransport> {
  return inPath(container.env["PATH"], () => ContainerTransport.open({ name, base: new LocalTransport({}) }));
}

async function refusal(container: Container, name: string): Promise<BuddyError> {
  const outcome = await enter(container, name).catch((error: unknown) => error);
  if (!(outcome instanceof BuddyError)) throw new Error(`expected a refusal, got ${String(outcome)}`);
  return outcome;
}

describe.each(ENGINES)("%s", (engine) => {
  test("a busybox image is enough", async () => {
    await using container = await containerTarget({ engine });
    await using transport = await enter(container);
    expect(basename(transport.engine)).toBe(engine === "podman" ? "podman" : "docker");
    expect(transport.label).toBe(`container ${container.name}`);
    expect(transport.facts.machine).toMatch(/^[0-9a-f]{12}$/);
    expect(transport.facts.programs["bash"]).toBeUndefined();
    expect(transport.facts.tmuxVersion).toBeUndefined();
    const files = fileAccess(transport, { cwd: () => "/root" });
    await files.write("note", "inside\n");
    expect((await files.read("/root/note")).text).toBe("inside\n");
    expect(await container.engine("exec", container.name, "cat", "/root/note")).toBe("inside");
  });

  test("kill reaches inside; a request that cannot work is explained", async () => {
    await using container = await containerTarget({ engine });
    const transport = await enter(container);
    const child = transport.spawn(["sh", "-c", "trap '' TERM; sleep 1234; sleep 1234"]);
    await child.pid;
    child.kill("SIGKILL");
    await child.exited;
    expect(await container.engine("exec", container.name, "ps")).not.toContain("sleep 1234");
    const unknown = await refusal(container, "no-such-container");
    expect(unknown).toEqual(buddyError("target", '"no-such-container"'));
    expect(unknown.hint).toContain(container.name);
    await transport[Symbol.asyncDispose]();
    await container.engine("stop", "-t", "0", container.name);
    const stopped = await refusal(container, container.name);
    expect(stopped).toEqual(buddyError("target", container.name));
    expect(stopped.hint).toContain(`start ${container.name}`);
  });
});

describe("podman", () => {
  let container: Container;
  beforeAll(async () => void (container = await containerTarget({ image: "tmux", run: ["--workdir", "/usr"] })));
  afterAll(async () => await container[Symbol.asyncDispose]());

  test("an image with tmux and bash says so; the working directory is the image's, or the one named", async () => {
    await using transport = await enter(container);
    expect(transport.facts.tmuxVersion).toMatch(/^\d/);
    expect(transport.facts.programs["bash"]).toContain("bash");
    expect(transport.facts.cwd).toBe("/usr");
    await using other = await inPath(container.env["PATH"], () =>
      ContainerTransport.open({ name: container.name, base: new LocalTransport({}), cwd: "/etc" }),
    );
    expect(other.facts.cwd).toBe("/etc");
  });

  test("a name is a name", async () => {
    for (const name of ["", "-it", "a b", "$(id)", "x;y"]) {
      await expect(findContainer(new LocalTransport({}), name)).rejects.toThrow(
        buddyError("usage", "--container", JSON.stringify(name)),
      );
    }
  });

  test("the id works as well as the name", async () => {
    const id = await container.engine("container", "inspect", "--format", "{{.Id}}", container.name);
    await using transport = await enter(container, id.slice(0, 12));
    expect(transport.facts.machine).toBe(id.slice(0, 12));
  });

  test("stopped and started again: found; made again under the same name: refused", async () => {
    await using mine = await containerTarget();
    await inPath(mine.env["PATH"], async () => {
      await using transport = await ContainerTransport.open({ name: mine.name, base: new LocalTransport({}) });
      await mine.engine("stop", "-t", "0", mine.name);
      await expect(transport.run("echo x")).rejects.toThrow(buddyError("target", mine.name));
      await mine.engine("start", mine.name);
      expect((await transport.run("echo back")).stdout.toString()).toBe("back\n");
      await mine.engine("rm", "-f", "-t", "0", mine.name);
      await expect(transport.ensure()).rejects.toBeInstanceOf(PermanentRefusal);
      await using again = await containerTarget({ name: mine.name });
      await expect(transport.ensure()).rejects.toBeInstanceOf(MachineChanged);
      expect(again.name).toBe(mine.name);
    });
  });

  test("renamed while it is used: it is the same container, and found again by its id", async () => {
    await using mine = await containerTarget();
    const renamed = `${mine.name}-renamed`;
    await inPath(mine.env["PATH"], async () => {
      await using transport = await ContainerTransport.open({ name: mine.name, base: new LocalTransport({}) });
      await mine.engine("rename", mine.name, renamed);
      await mine.engine("restart", "-t", "0", renamed);
      try {
        expect((await transport.run("echo back")).stdout.toString()).toBe("back\n");
      } finally {
        await mine.engine("rename", renamed, mine.name);
      }
    });
  });

  test("the error about a paused one says how to resume it", async () => {
    await using mine = await containerTarget();
    const paused = await mine.engine("pause", mine.name).then(
      () => true,
      () => false,
    );
    // Where cgroups do not allow to pause (no freezer), there is nothing to see.
    if (!paused) return;
    const error = await refusal(mine, mine.name);
    expect(error).toEqual(buddyError("target", mine.name, "paused"));
    expect(error.hint).toContain(`unpause ${mine.name}`);
    await mine.engine("unpause", mine.name);
  });

  test("an image without sh is reported as such", async () => {
    await using bare = await containerTarget({ image: "empty" });
    expect((await refusal(bare, bare.name)).message).toBe(
      `container ${bare.name} has no sh, so buddy cannot run commands in it`,
    );
  });

  test("nothing can be written: processes and scripts still run", async () => {
    await using closed = await containerTarget({ run: ["--read-only", "--read-only-tmpfs=false"] });
    await using transport = await enter(closed);
    expect((await transport.run("echo works")).stdout.toString()).toBe("works\n");
    const child = transport.spawn(["sh", "-c", "sleep 1235; sleep 1235"]);
    await child.pid;
    child.kill();
    await child.exited;
    const files = fileAccess(transport, { cwd: () => "/" });
    await expect(files.write("/x", "y")).rejects.toThrow("read-only");
  });
});

test("on a host over a line that breaks: found again, and only there", async () => {
  using server = await useSshd();
  await using proxy = await proxyTo(server.port);
  await using container = await containerTarget();
  await Bun.$`ln -sf ${container.env["PATH"]?.split(":")[0]}/podman ${server.remoteBin}/podman`.quiet();
  const base = await SshTransport.open({ destination: `127.0.0.1:${proxy.port}`, interactive: false });
  await using transport = await ContainerTransport.open({ name: container.name, base });
  expect(transport.label).toBe(`container ${container.name} on ${base.label}`);
  const child = transport.spawn(["sh", "-c", "sleep 1236; sleep 1236"]);
  await child.pid;
  proxy.cut();
  expect(await child.exited).toBe(255);
  expect((await transport.run("echo back")).stdout.toString()).toBe("back\n");
  await until(
    async () => !(await container.engine("exec", container.name, "ps")).includes("sleep 1236"),
    "what ran before is gone",
  );
  rmSync(join(server.remoteBin, "podman"));
});

test("the end of a container in the middle of a command is not the exit code of that command", async () => {
  await using container = await containerTarget();
  await using target = await inPath(container.env["PATH"], () =>
    openTarget(targetOptions({ place: placeOf({ container: container.name }), tmux: "never" })),
  );
  expect((await target.shell.run("kill -9 $$")).outcome).toEqual({ kind: "shell-ended", code: 137 });
  const { promise: started, resolve } = Promise.withResolvers<void>();
  const running = target.shell.run("echo started; sleep 1238", { onOutput: () => resolve() });
  await started;
  await container.engine("rm", "-f", "-t", "0", container.name);
  expect((await running).outcome).toEqual({ kind: "lost", why: expect.stringContaining("removed") });
});

describe("engines that do not help", () => {
  let bin: string;
  beforeAll(() => {
    bin = realpathSync(mkdtempSync(join(tmpdir(), "buddy-bin-")));
    for (const name of ["sh", "head", "cat", "true", "sleep", "timeout"])
      symlinkSync(Bun.which(name) ?? "", join(bin, name));
  });
  afterAll(() => rmSync(bin, { recursive: true }));

  /** Looks for a container where PATH has only that directory, with these engines in it. */
  async function find(engines: Readonly<Record<string, string>>, asked?: readonly string[]): Promise<unknown> {
    for (const [name, body] of Object.entries(engines))
      writeFileSync(join(bin, name), `#!${join(bin, "sh")}\n${body}\n`, { mode: 0o755 });
    try {
      await using base = new LocalTransport({});
      const limited = new Proxy(base, {
        get: (target, key) =>
          key === "run"
            ? (text: string, options: object) => target.run(text.replace(/^PATH=.*$/m, `PATH=${bin}`), options)
            : Reflect.get(target, key, target),
      });
      return await findContainer(limited, "web", undefined, asked).catch((error: unknown) => error);
    } finally {
      for (const name of Object.keys(engines)) rmSync(join(bin, name));
    }
  }

  test("none is there", async () => {
    const error = (await find({})) as BuddyError;
    expect(error).toEqual(buddyError("target", "docker", "podman"));
    expect(error.hint).toContain("apt install podman");
  });

  test("one that does not answer, or not to us", async () => {
    const down = (why: string) =>
      `case $1 in --version) echo "Docker version 1" ;; *) echo "${why}" >&2; exit 1 ;; esac`;
    const docker = down("Cannot connect to the Docker daemon");
    const error = (await find({ docker })) as BuddyError;
    expect(error).toEqual(buddyError("target", "docker", "Cannot connect to the Docker daemon"));
    const denied = down("permission denied while trying to connect");
    expect(((await find({ docker: denied })) as BuddyError).hint).toContain("docker group");
    const podman =
      'case $1 in ps) ;; --version) echo podman ;; *) echo "Error: no such container web" >&2; exit 125 ;; esac';
    expect(((await find({ docker, podman })) as BuddyError).hint).toStartWith(
      'podman answers, but has no container "web".',
    );
    // A container that podman had was removed: docker, which is down, kept buddy from saying so.
    const removed = (await find({ docker, podman }, [join(bin, "podman")])) as BuddyError;
    expect([removed.constructor.name, removed.hint]).toEqual(["ContainerMissing", "No container is running."]);
  });

  test("one whose service hangs is named, not the machine", async () => {
    const hangs = "case $1 in --version) echo Docker ;; *) sleep 600 ;; esac";
    const podman =
      'case $1 in ps) ;; --version) echo podman ;; *) echo "Error: no such container web" >&2; exit 125 ;; esac';
    expect(await find({ docker: hangs, podman })).toEqual(buddyError("target", "docker", "20 s"));
  }, 60_000);

  test("one that is found and cannot be executed", async () => {
    writeFileSync(join(bin, "docker"), "\u007fELF of another machine\0", { mode: 0o755 });
    const error = (await find({})) as BuddyError;
    rmSync(join(bin, "docker"));
    expect(error).toEqual(buddyError("target", join(bin, "docker")));
  });

  test("nothing is running, or it keeps restarting", async () => {
    const none =
      'case $1 in ps) ;; --version) echo Docker ;; *) echo "Error: No such container: web" >&2; exit 1 ;; esac';
    expect(((await find({ docker: none })) as BuddyError).hint).toBe("No container is running.");
    const restarting = 'case $1 in --version) echo Docker ;; *) echo "abc restarting" ;; esac';
    expect(((await find({ docker: restarting })) as BuddyError).hint).toContain("docker logs web");
  });
});
