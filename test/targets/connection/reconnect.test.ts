/** A bad line to a host: drops are noticed, the pane is found again, and nothing runs twice. */
import { expect } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openTarget } from "../../../src/targets/open.ts";
import type { Pane, RunResult } from "../../../src/targets/target.ts";
import { proxyTo, type Proxy } from "../../support/tcp-proxy.ts";
import { sshd } from "../../support/sshd.ts";
import { type OpenedTarget, openTestTarget } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";
import { needs } from "../../support/needs.ts";
import { placeOf } from "../../../src/targets/place.ts";

const { afterAll, beforeAll, test } = await needs("tmux", "sshd");

let proxy: Proxy;
let place: OpenedTarget;
const text = (result: RunResult) => result.output.head + result.output.tail;

beforeAll(async () => {
  proxy = await proxyTo((await sshd()).port);
  place = await openTestTarget("ssh", {
    place: placeOf({ ssh: `127.0.0.1:${proxy.port}` }),
    shell: "bash",
    heartbeatMs: 300,
  });
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

const counting = (file: string) =>
  `echo x >>"${file}"; for i in $(seq 20); do echo tick $i; sleep 0.1; done; echo runs $(wc -l <"${file}"); rm "${file}"; sh -c 'exit 6'`;
const expected = `${Array.from({ length: 20 }, (_, i) => `tick ${i + 1}\n`).join("")}runs 1\n`;

test("a reset connection: the running command is found again, with all it printed", async () => {
  let streamed = "";
  const running = place.target.shell.run(counting("$HOME/reset"), { onOutput: (chunk) => (streamed += chunk.text) });
  await until(() => streamed.includes("tick 5"), "it runs");
  proxy.cut();
  const result = await running;
  expect(result.outcome).toEqual({ kind: "exited", code: 6 });
  expect(text(result)).toBe(expected);
  expect(result.notes).not.toEqual([]);
  expect(place.notices.map((notice) => notice.kind)).toEqual(expect.arrayContaining(["reconnecting", "reconnected"]));
  expect(text(await place.target.shell.run("echo next"))).toBe("next\n");
});

test("a black hole is noticed by the heartbeat", async () => {
  place.notices.length = 0;
  let streamed = "";
  const running = place.target.shell.run(counting("$HOME/hole"), { onOutput: (chunk) => (streamed += chunk.text) });
  await until(() => streamed.includes("tick 3"), "it runs");
  proxy.swallow(true);
  await until(() => place.notices.some((notice) => notice.kind === "reconnecting"), "the silence is noticed");
  proxy.swallow(false);
  proxy.cut();
  const result = await running;
  expect(result.outcome).toEqual({ kind: "exited", code: 6 });
  expect(text(result)).toBe(expected);
});

test("a command that ended while no one listened", async () => {
  const ended = join((await sshd()).dir, "ended");
  let streamed = "";
  const running = place.target.shell.run(`echo begun; sleep 0.5; echo ended; touch ${ended}; sh -c 'exit 3'`, {
    onOutput: (chunk) => (streamed += chunk.text),
  });
  await until(() => streamed.includes("begun"), "it runs");
  proxy.refuse(true);
  proxy.cut();
  await until(() => place.notices.some((notice) => notice.kind === "reconnecting"), "the drop is noticed");
  await until(() => existsSync(ended), "the command has ended");
  proxy.refuse(false);
  const result = await running;
  expect(result.outcome).toEqual({ kind: "exited", code: 3 });
  expect(text(result)).toBe("begun\nended\n");
});

test("no client of the lost connections stays attached", async () => {
  await until(async () => (await place.tmux("list-clients")).trim().split("\n").length === 1, "one client is left");
  expect(text(await place.target.shell.run("echo fine"))).toBe("fine\n");
});

test("whatever is asked while the connection is down waits for it: one client, every line once", async () => {
  const panes = place.target.panes!;
  await panes.createPane("beside");
  await using again = await openTarget({ ...place.options, tmuxSession: "buddy-beside" });
  const dir = (await sshd()).dir;
  let streamed = "";
  const running = place.target.shell.run(
    `for i in $(seq 400); do echo row $i; if [ $i = 300 ]; then until [ -e ${dir}/on ]; do sleep 0.05; done; fi; done`,
    { onOutput: (chunk) => (streamed += chunk.text), keep: 100_000 },
  );
  await until(() => streamed.includes("row 300"), "it prints");
  place.notices.length = 0;
  proxy.refuse(true);
  proxy.cut();
  const drops = () => place.notices.filter(({ kind }) => kind === "reconnecting");
  await until(() => drops().length === 2, "both notice the drop");
  const asked = [
    panes.list(),
    panes.list(),
    panes.pane({ pane: "beside" }).then((pane) => pane.run("echo beside")),
    panes.pane({ pane: "beside" }).then((pane) => pane.capture()),
    panes.createPane("third"),
    (place.target.shell as Pane).capture(),
    place.target.shell.where(),
    place.target.background.list(),
    again.panes!.list(),
  ];
  proxy.refuse(false);
  for (const one of await Promise.allSettled(asked)) expect(one).toMatchObject({ status: "fulfilled" });
  writeFileSync(join(dir, "on"), "");
  const result = await running;
  rmSync(join(dir, "on"));
  expect(text(result)).toBe(Array.from({ length: 400 }, (_, i) => `row ${i + 1}\n`).join(""));
  expect(text(await place.target.shell.run("echo next"))).toBe("next\n");
  await until(async () => (await place.tmux("list-clients")).trim().split("\n").length === 2, "one client each");
  await panes.killPane("beside");
  await panes.killPane("third");
});

test("cancelled while the connection is down: nothing waits for it, and the interrupt goes there afterwards", async () => {
  place.notices.length = 0;
  let streamed = "";
  const stop = new AbortController();
  const running = place.target.shell.run("echo begun; sleep 1000", {
    signal: stop.signal,
    onOutput: (chunk) => (streamed += chunk.text),
  });
  await until(() => streamed.includes("begun"), "it runs");
  proxy.refuse(true);
  proxy.cut();
  await until(() => place.notices.some((notice) => notice.kind === "reconnecting"), "the drop is noticed");
  stop.abort();
  const result = await running;
  expect(result.outcome).toEqual({ kind: "stopped", by: "user", unseen: true });
  expect(result.notes).not.toEqual([]);
  expect(place.notices.some((notice) => notice.kind === "reconnected")).toBe(false);
  proxy.refuse(false);
  await until(
    async () => (await place.target.shell.run("echo free", { waitMs: 5000 })).outcome.kind === "exited",
    "the pane is free",
  );
});

test("a silent command is found again without anything else on its screen", async () => {
  const running = place.target.shell.run("sleep 0.7; echo only this");
  await until(async () => (await place.tmux("capture-pane", "-p")).includes("only this"), "it was sent");
  proxy.cut();
  const result = await running;
  expect(result.outcome).toEqual({ kind: "exited", code: 0 });
  expect(text(result)).toBe("only this\n");
});

test("a login that is refused after a drop is reported, though no command waits; then the operator reconnects", async () => {
  const authorized = join((await sshd()).dir, "authorized_keys");
  const keys = readFileSync(authorized, "utf8");
  const before = place.notices.length;
  writeFileSync(authorized, "");
  proxy.cut();
  const end = await until(() => place.notices.slice(before).find(({ kind }) => kind === "warning"), "the end is said");
  writeFileSync(authorized, keys);
  expect(end.text).toContain("refused the login");
  await place.target.transport.reconnect();
  expect(text(await place.target.shell.run("echo back"))).toBe("back\n");
});
