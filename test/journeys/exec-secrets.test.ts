/**
 * A model that repeats the key it was called with: it reaches neither the pipe, nor the events, nor the screen, nor the
 * session. And what an earlier run has printed.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { call, execRig, shell } from "../support/exec.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

const KEY = "operator-key-4711-abcdef";
const ANSWER = `The key is ${KEY}. Again: ${KEY}`;
const env = { BUDDY_API_KEY: KEY };

test("on stdout, in events and in the session", async () => {
  await using rig = execRig([{ text: ANSWER }, { text: ANSWER }], { env });
  const plain = await rig.exec(["--no-tmux", "hi"]);
  expect(plain.stdout).toBe("The key is [redacted]. Again: [redacted]\n");
  const { events } = await rig.events(["--no-tmux", "hi"]);
  const streamed = events.map((event) => (event.type === "text" ? String(event["delta"]) : "")).join("");
  expect(streamed).toBe("The key is [redacted]. Again: [redacted]");
  expect(JSON.stringify(events)).not.toContain(KEY);
  const sessions = join(rig.box.cwd, ".buddyx/sessions");
  for (const name of readdirSync(sessions).filter((file) => file.endsWith(".jsonl")))
    expect(readFileSync(join(sessions, name), "utf8")).not.toContain(KEY);
});

test("on a terminal", async () => {
  await using rig = execRig([{ text: ANSWER }], { env });
  await using pty = await rig.terminal(["--no-tmux", "hi"]);
  const screen = await pty.until("Again: [redacted]");
  expect(screen).not.toContain("4711");
  await pty.exited;
});

test("a background shell of an earlier run is masked by what its command prints, and listed with names", async () => {
  let started = { shell_id: "", output_file: "" };
  const look = () => call("shell_output", { shell_id: started.shell_id });
  const use = shell("pass show db; : ‹secret-1: secret›", { mode: "background" });
  await using rig = execRig([shell("pass show db"), use, { text: "1" }, look, call("list_shells"), { text: "2" }]);
  rig.box.write("bin/pass", "#!/bin/sh\necho correcthorse\n", 0o755);
  const withPass = { env: { PATH: `${rig.box.dir}/bin:${rig.box.env["PATH"]}` } };
  await rig.exec(["--no-tmux", "--approve", "all", "hi"], withPass);
  started = rig.results()[1] as typeof started;
  await until(() => readFileSync(started.output_file, "utf8").includes("completed]"), "the shell has ended");
  expect((await rig.exec(["--no-tmux", "look"], withPass)).code).toBe(0);
  const [output, listed] = rig.results();
  expect(output).toMatchObject({ status: "completed", stdout: "‹secret-1: secret›\n" });
  expect(listed).toMatchObject({ shells: [{ command: "pass show db; : ‹secret-1: secret›" }] });
});
