/** Programs that are there and cannot be executed, and limits under which the runtime could not work. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, type Sandbox, sandbox } from "../support/buddy.ts";

setDefaultTimeout(60_000);

/** PATH with these programs instead of the real ones: not executable, or of a format that no kernel knows. */
function withBroken(box: Sandbox, names: readonly string[], how: "mode" | "format"): { PATH: string } {
  const bin = join(box.dir, "bin");
  mkdirSync(bin);
  for (const name of names) {
    writeFileSync(join(bin, name), how === "mode" ? "#!/bin/sh\n" : "\u007fELF nothing");
    chmodSync(join(bin, name), how === "mode" ? 0o644 : 0o755);
  }
  const tools = ["sh", "bash", "id", "rm", "sleep", "grep", "cat", "head", "mkdir", "ls", "stty", "env"];
  const real = join(box.dir, "real");
  mkdirSync(real);
  for (const tool of tools) Bun.spawnSync(["ln", "-s", Bun.which(tool) ?? `/bin/${tool}`, join(real, tool)]);
  return { PATH: `${bin}:${real}` };
}

describe.each(["mode", "format"] as const)("programs of the wrong %s", (how) => {
  test("doctor names each of them, and does not crash", async () => {
    using box = sandbox();
    const { stdout, stderr } = await box.run(["doctor"], { env: withBroken(box, ["tmux", "ssh", "podman"], how) });
    expect(stderr).not.toContain("bug");
    expect(stdout).toMatch(/tmux.*execut/);
    expect(stdout).toMatch(/ssh.*execut/);
    expect(stdout).toMatch(/podman.*execut/);
  });

  test("without tmux that works, commands run in a direct shell, which is said", async () => {
    using box = sandbox();
    const env = withBroken(box, ["tmux"], how);
    const { code, stdout, stderr } = await box.run(["exec", "-m", "demo", "run: echo it works"], { env });
    expect(code).toBe(0);
    expect(stdout).toContain("it works");
    expect(stderr).toContain("direct shell");
  });

  test("--ssh says that ssh cannot be executed", async () => {
    using box = sandbox();
    const env = withBroken(box, ["ssh"], how);
    const { code, stderr } = await box.run(["exec", "-m", "demo", "--ssh", "web1", "run: true"], { env });
    expect(code).toBe(1);
    expect(stderr).toContain("executed");
  });

  test("--container says that the engine cannot be executed", async () => {
    using box = sandbox();
    const env = withBroken(box, ["docker"], how);
    const { code, stderr } = await box.run(["exec", "-m", "demo", "--container", "api", "run: true"], { env });
    expect(code).toBe(1);
    // A docker that works in another usual directory is taken instead of one that may not be executed.
    const other = ["/usr/local/bin", "/opt/homebrew/bin", "/snap/bin"].some((bin) => existsSync(`${bin}/docker`));
    expect(stderr).toMatch(how === "mode" && other ? /docker/ : /docker .*cannot be executed/);
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

test("too few processes ended in a crash of the runtime: they are named before anything is tried", async () => {
  using box = sandbox();
  // The kernel does not count those of root; a user who runs nothing has them all.
  const user = process.getuid?.() === 0 ? "setpriv --reuid=54321 --clear-groups" : "";
  const command = `ulimit -u 20; exec ${user} "$0" exec -m demo hello </dev/null`;
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
});
