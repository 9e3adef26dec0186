/** Processes of this machine. */
import { expect, test } from "bun:test";
import { isAlive } from "../../src/lib/processes.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/until.ts";

const linux = await needs("linux");

test("a process that runs is alive, one that was waited for is not", async () => {
  const child = Bun.spawn(["sleep", "1000"]);
  expect(isAlive(child.pid)).toBe(true);
  child.kill("SIGKILL");
  await child.exited;
  expect(isAlive(child.pid)).toBe(false);
});

linux.test("a process that ended and that its parent does not wait for is not alive", async () => {
  // The shell becomes `sleep`, which waits for no child; what it started ends only then.
  const child = "until grep -q sleep /proc/$PPID/comm; do :; done";
  const parent = Bun.spawn(["sh", "-c", `sh -c '${child}' & echo $!; exec sleep 1000`], { stdout: "pipe" });
  try {
    const { value } = await parent.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    await until(() => !isAlive(pid), "the end of the child");
    expect(process.kill(pid, 0)).toBe(true);
  } finally {
    parent.kill("SIGKILL");
    await parent.exited;
  }
});
