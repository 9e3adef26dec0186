import { expect, test } from "bun:test";
import { openSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, sandbox } from "../support/buddy.ts";
import { startModel } from "../support/model.ts";
import { until } from "../support/until.ts";

test("a reader that does not read keeps no signal from ending the run", async () => {
  await using model = startModel([{ text: "a line of the answer\n".repeat(50_000) }]);
  using box = sandbox();
  const pipe = join(box.dir, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  const reader = Bun.spawn(["sh", "-c", 'exec sleep 1000 < "$1"', "sh", pipe]);
  const output = openSync(pipe, "w");
  try {
    const child = Bun.spawn(
      [await buddyBinary(), "exec", "-q", "--no-tmux", "--base-url", model.url, "-m", "m1", "hi"],
      {
        cwd: box.cwd,
        env: { ...box.env, BUDDY_API_KEY: "k-0123456789" },
        stdin: "ignore",
        stdout: output,
        stderr: "pipe",
      },
    );
    await until(() => model.requests[0]?.answered, "the answer has arrived");
    child.kill("SIGTERM");
    expect(await child.exited).toBe(143);
    expect(await child.stderr.text()).toContain("ended by SIGTERM");
  } finally {
    reader.kill("SIGKILL");
    await reader.exited;
  }
});
