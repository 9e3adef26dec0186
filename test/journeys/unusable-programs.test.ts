/** Programs that are there and cannot be executed, and limits under which the runtime could not work. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, type Sandbox, sandbox } from "../support/buddy.ts";
import { needs } from "../support/needs.ts";

setDefaultTimeout(60_000);

/** What can be wrong with a program, and what has to be said of it. */
const WRONG = {
  mode: [(path: string) => writeFileSync(path, "#!/bin/sh\n", { mode: 0o644 }), "no permission"],
  format: [
    (path: string) => writeFileSync(path, "\u007fELF nothing", { mode: 0o755 }),
    "not a program for this machine",
  ],
  interpreter: [
    (path: string) => writeFileSync(path, "#!/no/such\n", { mode: 0o755 }),
    "interpreter /no/such is missing",
  ],
  link: [(path: string) => symlinkSync("/no/such", path), "broken link to /no/such"],
} as const;

/** PATH with these programs instead of the real ones. */
function withBroken(box: Sandbox, names: readonly string[], how: keyof typeof WRONG): { PATH: string } {
  const bin = join(box.dir, "bin");
  mkdirSync(bin);
  for (const name of names) WRONG[how][0](join(bin, name));
  const tools = ["sh", "bash", "id", "rm", "sleep", "grep", "cat", "head", "mkdir", "ls", "stty", "env"];
  const real = join(box.dir, "real");
  mkdirSync(real);
  for (const tool of tools) Bun.spawnSync(["ln", "-s", Bun.which(tool) ?? `/bin/${tool}`, join(real, tool)]);
  return { PATH: `${bin}:${real}` };
}

describe.each(Object.keys(WRONG) as (keyof typeof WRONG)[])("programs of the wrong %s", (how) => {
  const why = `cannot be executed: .*${WRONG[how][1]}`;

  test("doctor names each of them, and does not crash", async () => {
    using box = sandbox();
    const { stdout, stderr } = await box.run(["doctor"], { env: withBroken(box, ["tmux", "ssh", "podman"], how) });
    expect(stderr).not.toContain("bug");
    for (const name of ["tmux", "ssh", "podman"]) {
      expect(stdout).toMatch(new RegExp(`bin/${name} ${why}`));
      expect(stdout).toMatch(new RegExp(`check it: ls -l .*/bin/${name}`));
    }
  });

  test("without tmux that works, commands run in a direct shell, and buddy says so", async () => {
    using box = sandbox();
    const env = withBroken(box, ["tmux"], how);
    const { code, stdout, stderr } = await box.run(["exec", "-m", "demo", "run: echo it works"], { env });
    expect(code).toBe(0);
    expect(stdout).toContain("it works");
    expect(stderr).toMatch(new RegExp(`bin/tmux ${why}.*direct shell`));
  });

  test("--ssh says that ssh cannot be executed", async () => {
    using box = sandbox();
    const env = withBroken(box, ["ssh"], how);
    const { code, stderr } = await box.run(["exec", "-m", "demo", "--ssh", "web1", "run: true"], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`bin/ssh ${why}`));
  });

  test("--container says that the engine cannot be executed", async () => {
    using box = sandbox();
    const env = withBroken(box, ["docker"], how);
    const { code, stderr } = await box.run(["exec", "-m", "demo", "--container", "api", "run: true"], { env });
    expect(code).toBe(1);
    // A docker that works in another usual directory is taken instead of one that may not be executed.
    const other = ["/usr/local/bin", "/opt/homebrew/bin", "/snap/bin"].some((bin) => existsSync(`${bin}/docker`));
    const passedOver = other && (how === "mode" || how === "link");
    expect(stderr).toMatch(passedOver ? /docker/ : /docker .*cannot be executed: .*bin\/docker/);
    expect(stderr).not.toContain("neither docker nor podman");
  });
});

test("too few open files are named before anything is tried", async () => {
  using box = sandbox();
  const command = `ulimit -n 20; exec "$0" exec -m demo hello </dev/null`;
  const run = Bun.spawnSync(["sh", "-c", command, await buddyBinary()], { cwd: box.cwd, env: box.env });
  expect(run.exitCode).toBe(2);
  expect(run.stderr.toString()).toContain("ulimit -n");
});

// As a user who runs nothing: whoever runs these tests has more processes than that, and the runtime would not even start.
const root = await needs("root");
root.test("too few processes ended in a crash of the runtime: they are named before anything is tried", async () => {
  using box = sandbox();
  const command = `ulimit -u 20; exec setpriv --reuid=54321 --clear-groups "$0" exec -m demo hello </dev/null`;
  const run = Bun.spawnSync(["bash", "-c", command, await buddyBinary()], { cwd: box.cwd, env: box.env });
  expect(run.exitCode).toBe(2);
  expect(run.stderr.toString()).toContain("ulimit -u");
});

test("a limit of the file size does not kill buddy: it says what cannot be stored, and answers", async () => {
  using box = sandbox();
  const command = `ulimit -f 1; exec "$0" exec --no-tmux -m demo "run: seq 1 20000" </dev/null`;
  const run = Bun.spawnSync(["bash", "-c", command, await buddyBinary()], { cwd: box.cwd, env: box.env });
  expect(run.signalCode).toBeUndefined();
  expect(run.stdout.toString()).toContain("20000");
  expect(run.stderr.toString()).toContain("ulimit -f");
  expect(run.stderr.toString()).not.toMatch(/the disk is full|EFBIG/);
});
