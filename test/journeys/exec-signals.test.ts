import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary } from "../support/buddy.ts";
import { execRig, shell } from "../support/exec.ts";
import { processesWith, uniqueSeconds } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { available } from "../support/needs.ts";

setDefaultTimeout(60_000);

const SIGNALS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;

describe.each(["--no-tmux", ...(await available("tmux")).map(() => "--tmux")])("a running command, %s", (mode) => {
  test.each(SIGNALS)("%s ends it on the target and exits %d", async (signal, code) => {
    const seconds = uniqueSeconds();
    await using rig = execRig([shell(`sleep ${seconds}`, { wait: "10m" }), { text: "never" }]);
    const child = await rig.box.spawn(["exec", mode, "--approve", "all", "go"]);
    child.stdin.end();
    await until(() => processesWith(`sleep ${seconds}`).length > 0, "the command to run");
    child.kill(signal);
    expect(await child.exited).toBe(code);
    expect(await child.stdout.text()).toBe("");
    await until(() => processesWith(`sleep ${seconds}`).length === 0, "the command to end");
    expect(rig.requests).toHaveLength(1);
  });
});

test.each(SIGNALS)("%s while the model thinks exits %d and closes the request", async (signal, code) => {
  await using rig = execRig([{ fault: "silence" }]);
  const child = await rig.box.spawn(["exec", "--no-tmux", "go"]);
  child.stdin.end();
  await until(() => rig.requests.length === 1, "the request");
  child.kill(signal);
  expect(await child.exited).toBe(code);
  await until(() => rig.requests[0]!.abandoned, "the request to be closed");
});

test("the cancelled call is in the saved session with its result, and the session can be continued", async () => {
  const seconds = uniqueSeconds();
  await using rig = execRig([shell(`sleep ${seconds}`), { text: "I see that it was cancelled." }]);
  const child = await rig.box.spawn(["exec", "--no-tmux", "--approve", "all", "go"]);
  child.stdin.end();
  await until(() => processesWith(`sleep ${seconds}`).length > 0, "the command to run");
  child.kill("SIGINT");
  expect(await child.exited).toBe(130);
  const run = await rig.exec(["--no-tmux", "--resume", "last", "what happened?"]);
  expect(run).toMatchObject({ code: 0, stdout: "I see that it was cancelled.\n" });
  expect(rig.results()).toEqual(["operation cancelled by user"]);
});

test("kill -9 at the first line of --json: whatever was printed is in the log", async () => {
  for (let round = 0; round < 5; round++) {
    await using rig = execRig([{ fault: "silence" }]);
    const child = await rig.box.spawn(["exec", "--no-tmux", "--json", "go"]);
    child.stdin.end();
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    child.kill("SIGKILL");
    await child.exited;
    const printed = new TextDecoder().decode(value).trimEnd().split("\n");
    const { session } = JSON.parse(printed[0]!) as { session: string };
    const log = readFileSync(join(rig.box.cwd, ".buddyx/sessions", `${session}.jsonl`), "utf8");
    const kept = log.trimEnd().split("\n").map(typeAndTime);
    expect(kept).toEqual(expect.arrayContaining(printed.map(typeAndTime)));
  }
});

function typeAndTime(line: string): string {
  const { type, ts } = JSON.parse(line) as { type: string; ts: string };
  return `${ts} ${type}`;
}

test("Ctrl-C in the terminal: 130, and the terminal is as it was", async () => {
  const seconds = uniqueSeconds();
  await using rig = execRig([shell(`sleep ${seconds}`), { text: "never" }]);
  await using pty = await rig.terminal([], {
    shell:
      'trap : INT; before=$(stty -g); "$BUDDY" exec --no-tmux --approve all go; echo "rc $?"; [ "$before" = "$(stty -g)" ] && echo same',
  });
  await until(() => processesWith(`sleep ${seconds}`).length > 0, "the command to run");
  pty.type("\u0003");
  const screen = await pty.until("same");
  expect(screen).toContain("rc 130");
  await until(() => processesWith(`sleep ${seconds}`).length === 0, "the command to end");
});

test("a background job is not stopped by asking: it is refused", async () => {
  await using rig = execRig([shell("touch made", { mutation: true }), { text: "no" }]);
  await using pty = await rig.terminal([], {
    shell: 'set -m; "$BUDDY" exec -q --no-tmux go </dev/null & wait $!; echo "rc $?"',
  });
  await pty.until("rc 3");
  expect(existsSync(join(rig.box.cwd, "made"))).toBe(false);
});

afterAll(() => expect(processesWith(`sleep ${uniqueSeconds().slice(0, -3)}`)).toEqual([]));

test("nohup: a hang-up that was ignored at the start stays ignored", async () => {
  const [gate, pause] = ["gate", `sleep 0.0${uniqueSeconds()}`];
  await using rig = execRig([shell(`while [ ! -e ${gate} ]; do ${pause}; done; echo through`), { text: "answered" }]);
  const binary = await buddyBinary();
  const child = Bun.spawn(["sh", "-c", `trap '' HUP; exec "$0" exec --no-tmux --approve all go </dev/null`, binary], {
    cwd: rig.box.cwd,
    env: rig.box.env,
    stdout: "pipe",
    stderr: "ignore",
  });
  await until(() => processesWith(pause).length > 0, "the command to run");
  child.kill("SIGHUP");
  writeFileSync(join(rig.box.cwd, gate), "");
  expect(await child.stdout.text()).toBe("answered\n");
  expect(await child.exited).toBe(0);
});
