/**
 * A model that repeats the key it was called with: it reaches neither the pipe, nor the events, nor the screen, nor the
 * session.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execRig } from "../support/exec.ts";

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
