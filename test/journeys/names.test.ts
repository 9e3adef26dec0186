/** Machines by name with the compiled binary: a run on one, its continuation, names from a pipe, and /on. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execRig, shell } from "../support/exec.ts";
import { ReplBinary, shellCall } from "../support/repl-binary.ts";

setDefaultTimeout(60_000);

const TARGETS = `
[targets.one]
via = ["env", "WHERE=one"]
cd = "/"
tmux = false
[targets.two]
via = ["env", "WHERE=two"]
tmux = false
[targets.silent]
via = ["sh", "-c", "sleep 1000"]
tmux = false
`;
const WHERE = 'echo "at $WHERE"; pwd';

test("a run by name works there, says so in its events, and is continued there", async () => {
  await using rig = execRig([shell(WHERE), { text: "a" }, shell(WHERE), { text: "b" }], { config: TARGETS });
  const { code, events } = await rig.events(["--on", "one", "where?"]);
  expect(code).toBe(0);
  expect(rig.lastResult()).toContain("at one\n/\n");
  const finished = events.find(({ type }) => type === "tool_finished");
  expect(finished).toMatchObject({ target: "env WHERE=one" });
  expect(events.findLast(({ type }) => type === "session")).toMatchObject({
    places: [{ name: "one", path: [{ kind: "via", argv: ["env", "WHERE=one"] }] }],
  });
  expect((await rig.exec(["--resume", "last", "and now?"])).code).toBe(0);
  expect(rig.lastResult()).toContain("at one\n/");
});

test("a session whose command is no longer configured does not run it", async () => {
  await using rig = execRig([{ text: "a" }], { config: TARGETS });
  await rig.exec(["--on", "one", "hello"]);
  const file = "home/.config/buddy/buddy.toml";
  const before = readFileSync(join(rig.box.dir, file), "utf8");
  rig.box.write(file, before.replace("WHERE=one", "WHERE=other"), 0o600);
  const { code, stderr } = await rig.exec(["--resume", "last", "again"]);
  expect(code).toBe(2);
  expect(stderr).toContain("env WHERE=one");
});

test("names from a pipe beside a prompt; without one standard input is the prompt", async () => {
  await using rig = execRig([shell(WHERE), { text: "a" }], { config: TARGETS });
  expect((await rig.exec(["--on", "-", "where?"], { stdin: "# mine\ntwo\n" })).code).toBe(0);
  expect(rig.lastResult()).toContain("at two\n");
  expect((await rig.exec(["--on", "-"], { stdin: "two\n" })).code).toBe(2);
});

test("a name that nothing has runs nothing", async () => {
  await using rig = execRig([{ text: "never" }], { config: TARGETS });
  const { code, stderr } = await rig.exec(["--on", "onee", "hello"]);
  expect(code).toBe(2);
  expect(stderr).toContain("one");
  expect(rig.requests).toHaveLength(0);
});

test("/on changes the machine, and the prompt shows it, also on 40 columns", async () => {
  await using repl = new ReplBinary([shellCall(WHERE), { text: "done" }]);
  const pty = await repl.start({ config: TARGETS, args: ["--on", "one"], cols: 40, rows: 24 });
  await pty.until(/\(one\)>/);
  pty.type("/on tow\r");
  await pty.until(/two/);
  pty.type("/on two\r");
  await pty.until(/\(two\)>/);
  pty.type("where?\r");
  await pty.until(/at two/);
});

test("/on leaves a machine that is still being opened", async () => {
  await using repl = new ReplBinary([shellCall(WHERE), { text: "done" }]);
  const pty = await repl.start({ config: TARGETS, args: ["--on", "silent"] });
  await pty.until(/\(silent\)>/);
  pty.type("/on two\r");
  await pty.until(/\(two\)>/);
  pty.type("where?\r");
  await pty.until(/at two/);
});
