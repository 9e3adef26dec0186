/** Several buddies on one tmux server: each has a session of its own, and the server survives all of them. */
import { expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { openTarget } from "../../../src/targets/open.ts";
import type { RunResult } from "../../../src/targets/target.ts";
import { type OpenedTarget, openTestTarget } from "../../support/tmux.ts";
import { processesWith, uniqueSeconds } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { needs } from "../../support/needs.ts";

const { afterEach, test } = await needs("tmux");

setDefaultTimeout(120_000);

const text = (result: RunResult) => result.output.head + result.output.tail;
const started: Bun.Subprocess[] = [];

afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
});

interface Report {
  readonly wrong: readonly unknown[];
  readonly notices: readonly string[];
  readonly sessions: readonly string[];
}

function worker(place: Pick<OpenedTarget, "options">, name: string, rounds: number, commands: number, stay?: "stay") {
  const { outputs: _, onNotice: __, ...options } = place.options;
  const script = join(import.meta.dir, "../../support/open-worker.ts");
  const child = Bun.spawn(
    [
      process.execPath,
      script,
      name,
      String(rounds),
      String(commands),
      JSON.stringify(options),
      ...(stay === undefined ? [] : [stay]),
    ],
    { stdout: "pipe", stderr: "inherit" },
  );
  started.push(child);
  return child;
}

async function report(child: { readonly stdout: ReadableStream<Uint8Array> }): Promise<Report> {
  return JSON.parse(await new Response(child.stdout).text()) as Report;
}

const serverOf = async (place: OpenedTarget) => (await place.tmux("display-message", "-p", "#{pid}")).trim();

test("the second gets its own session, says so, and neither takes the other for the operator", async () => {
  await using first = await openTestTarget("local", { shell: "bash" });
  const notices: string[] = [];
  await using second = await openTarget({ ...first.options, onNotice: (notice) => notices.push(notice.kind) });
  const base = first.target.identity.tmuxSession ?? "";
  expect(second.identity.tmuxSession).toBe(`${base}_2`);
  expect(second.identity.attach).toContain(`${base}_2`);
  expect(notices).toEqual(["info"]);
  const results = await Promise.all([first.target.shell.run("A=1; echo $A"), second.shell.run("echo ${A-none}")]);
  expect(results.map(text)).toEqual(["1\n", "none\n"]);
  expect(first.notices.filter(({ kind }) => kind !== "info")).toEqual([]);
  expect(notices).toEqual(["info"]);
});

test("a session that another version made is left alone: its shells may not understand this one", async () => {
  await using place = await openTestTarget("local", { shell: "bash" });
  const base = place.target.identity.tmuxSession ?? "";
  await place.tmux("set-option", "-t", base, "@buddy_stamp", "0123abcd");
  const again = await place.again();
  expect(again.identity.tmuxSession).toBe(`${base}_2`);
  expect(text(await again.shell.run("echo works", { unasked: { inNamespace: true } }))).toBe("works\n");
  await again[Symbol.asyncDispose]();
  // The one that it made is found again.
  expect((await place.again()).identity.tmuxSession).toBe(`${base}_2`);
});

test("the account has another shell since: the one in the pane is used, and the first answer is not lost", async () => {
  await using place = await openTestTarget("local", { shell: "sh" });
  await place.target.shell.run("A=kept");
  await place.target[Symbol.asyncDispose]();
  await using again = await openTarget({ ...place.options, shell: "bash" });
  expect(text(await again.shell.run("echo first", { unasked: { inNamespace: true } }))).toBe("first\n");
  expect(text(await again.shell.run("echo $A"))).toBe("kept\n");
});

test("the session of a buddy that left is used again, with what is in it", async () => {
  await using place = await openTestTarget("local", { shell: "bash" });
  await place.target.shell.run("A=kept");
  const base = place.target.identity.tmuxSession;
  await using again = await place.again();
  expect(again.identity.tmuxSession).toBe(base ?? "");
  expect(text(await again.shell.run("echo $A"))).toBe("kept\n");
});

test("the session of a buddy that was killed is free at once", async () => {
  await using place = await openTestTarget("local", { shell: "bash" });
  const base = place.target.identity.tmuxSession;
  await place.target[Symbol.asyncDispose]();
  const child = worker(place, "killed", 1, 1, "stay");
  const reader = child.stdout.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toContain("open");
  child.kill("SIGKILL");
  await child.exited;
  await using again = await openTarget(place.options);
  expect(again.identity.tmuxSession).toBe(base ?? "");
});

test("five that start in the same moment: all get their own session, and all outputs are right", async () => {
  // The first in its session keeps the server's number known.
  await using place = await openTestTarget("local", { shell: "bash" });
  const server = await serverOf(place);
  const bystander = place.target.shell.run("sleep 3; echo survived");
  const reports = await Promise.all(["a", "b", "c", "d", "e"].map((name) => report(worker(place, name, 2, 5))));
  for (const { wrong, sessions } of reports) {
    expect(wrong).toEqual([]);
    expect(sessions).not.toContain(place.target.identity.tmuxSession ?? "");
  }
  for (const { notices } of reports) expect(notices.filter((notice) => !notice.startsWith("info"))).toEqual([]);
  expect(text(await bystander)).toBe("survived\n");
  expect(await serverOf(place)).toBe(server);
});

test("a cold start of four: one server, four sessions", async () => {
  await using place = await openTestTarget("local", { shell: "bash" });
  await place.tmux("kill-server");
  await place.target[Symbol.asyncDispose]();
  const reports = await Promise.all(["a", "b", "c", "d"].map((name) => report(worker(place, name, 1, 3))));
  expect(reports.flatMap(({ wrong }) => wrong)).toEqual([]);
  expect(new Set(reports.flatMap(({ sessions }) => sessions)).size).toBeGreaterThan(1);
});

test("a session that the operator renamed is still found by its number", async () => {
  await using place = await openTestTarget("local", { shell: "bash" });
  const base = place.target.identity.tmuxSession ?? "";
  await place.tmux("rename-session", "-t", base, "renamed");
  expect(text(await place.target.shell.run("echo here"))).toBe("here\n");
  expect((await place.target.panes?.createPane("more"))?.created).toBe(true);
  await until(async () => (await place.target.panes?.list())?.some((one) => one.pane === "more"), "it is listed");
});

test("a session that is not in use ends on its own, one with work in the background does not", async () => {
  await using place = await openTestTarget("local", { shell: "bash", agentName: "watcher" });
  await using idle = await openTarget({ ...place.options, agentName: "idle", tmuxIdleMs: 1000 });
  await using busy = await openTarget({ ...place.options, agentName: "busy", tmuxIdleMs: 1000 });
  await busy.shell.run("sleep 100 &");
  // Ended, and reaped by no one: its parent has left the terminal.
  const seconds = uniqueSeconds();
  await idle.shell.run(`( sh -c '(exit) & exec setsid sleep ${seconds}' & )`);
  const sessions = async () => (await place.tmux("list-sessions", "-F", "#{session_name}")).trim().split("\n");
  await busy[Symbol.asyncDispose]();
  await idle[Symbol.asyncDispose]();
  await until(async () => !(await sessions()).includes("buddy-idle"), "it ended", { timeoutMs: 30_000 });
  expect(await sessions()).toEqual(["buddy-busy", "buddy-watcher"]);
  for (const pid of processesWith(`sleep ${seconds}`)) process.kill(pid);
});
