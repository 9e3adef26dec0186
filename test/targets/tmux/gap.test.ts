/**
 * A line that breaks again and again while a command prints: every line once and in order, or it is said that some are
 * missing.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pane, RunResult } from "../../../src/targets/target.ts";
import { proxyTo, type Proxy } from "../../support/tcp-proxy.ts";
import { Seeded } from "../../support/seeded.ts";
import { sshd } from "../../support/sshd.ts";
import { type OpenedTarget, openTestTarget } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";
import { needs } from "../../support/needs.ts";
import { placeOf } from "../../../src/targets/place.ts";
import { MISSING } from "../../../src/targets/tmux/recover.ts";

const { afterAll, beforeAll, test } = await needs("tmux", "sshd");

setDefaultTimeout(120_000);

let proxy: Proxy;
let place: OpenedTarget;
const random = new Seeded(Number(process.env["BUDDY_SEED"] ?? 4));
const text = (result: RunResult) => result.output.head + result.output.tail;
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");

beforeAll(async () => {
  proxy = await proxyTo((await sshd()).port);
  place = await openTestTarget("ssh", {
    place: placeOf({ ssh: `127.0.0.1:${proxy.port}` }),
    shell: "bash",
    heartbeatMs: 1000,
  });
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

const back = () => place.notices.filter((notice) => notice.kind === "reconnected").length;

/** When the line breaks: some lines later, at once when it stands again, or while it is being made. */
type Moment = "later" | "at once" | "on the way";

async function withDrops(command: string, lines: number, cuts: readonly Moment[]): Promise<RunResult> {
  let streamed = "";
  let over = false;
  const running = place.target.shell
    .run(command, { onOutput: (chunk) => (streamed += chunk.text), keep: 1_000_000 })
    .finally(() => (over = true));
  const shown = () => streamed.split("\n").length - 1;
  await until(() => shown() > 0, "it prints");
  for (const [index, when] of cuts.entries()) {
    const before = back();
    const connections = proxy.accepted;
    const wanted = shown() + 1 + random.below(lines / 20);
    if (when === "later") await until(() => shown() >= wanted || over, "some lines more", { timeoutMs: 60_000 });
    if (over) break;
    proxy.cut();
    if (cuts[index + 1] === "on the way") {
      let looks = random.below(60);
      await until(() => (proxy.accepted > connections && looks-- <= 0) || over, "it connects", { timeoutMs: 60_000 });
    } else await until(() => back() > before || over, "the connection is back", { timeoutMs: 60_000 });
  }
  return await running;
}

test.each([
  ["two drops", ["later", "later"]],
  ["two drops, the second while the first is being mended", ["later", "at once"]],
  ["three drops, two of them on the way back", ["later", "on the way", "on the way"]],
  ["five drops", ["later", "at once", "later", "at once", "at once"]],
] as const)("lines printed steadily, %s", async (_, cuts) => {
  const result = await withDrops("for i in $(seq 250); do echo line $i; sleep 0.02; done; sh -c 'exit 6'", 250, cuts);
  expect(text(result)).toBe(numbered(250));
  expect(result.outcome).toEqual({ kind: "exited", code: 6 });
});

test.each([
  ["two drops", ["later", "later"]],
  ["five drops", ["later", "at once", "later", "at once", "later"]],
] as const)("lines printed in bursts, %s", async (_, cuts) => {
  const bursts = "for b in $(seq 0 19); do for i in $(seq 300); do echo line $((b * 300 + i)); done; sleep 0.3; done";
  const result = await withDrops(bursts, 6000, cuts);
  expect(text(result)).toBe(numbered(6000));
  expect(result.outcome).toEqual({ kind: "exited", code: 0 });
});

test("lines that are all the same are counted", async () => {
  const result = await withDrops("for i in $(seq 200); do echo same; sleep 0.02; done", 200, ["later", "at once"]);
  expect(text(result)).toBe("same\n".repeat(200));
});

test("blank lines and tabs", async () => {
  const result = await withDrops("for i in $(seq 150); do printf 'a\\tline %d\\n\\n\\n' $i; sleep 0.03; done", 200, [
    "later",
    "at once",
  ]);
  const wanted = Array.from({ length: 150 }, (_, i) => `a       line ${i + 1}\n\n\n`).join("");
  expect(text(result).replaceAll("a\t", "a       ")).toBe(wanted);
});

test("more than the scrollback holds was missed: buddy says so, and nothing comes twice", async () => {
  const { dir } = await sshd();
  const [go, ended] = [join(dir, "go"), join(dir, "gone-on")];
  let streamed = "";
  const running = place.target.shell.run(
    `echo begun; until [ -e ${go} ]; do sleep 0.05; done; seq 1 40000; touch ${ended}`,
    { onOutput: (chunk) => (streamed += chunk.text), keep: 1_000_000 },
  );
  await until(() => streamed.includes("begun"), "it runs");
  proxy.refuse(true);
  proxy.cut();
  writeFileSync(go, "");
  await until(() => existsSync(ended), "it has ended unheard", { timeoutMs: 60_000 });
  proxy.refuse(false);
  const result = await running;
  expect(result.outcome).toEqual({ kind: "exited", code: 0 });
  const [before, after = ""] = text(result).split(MISSING);
  expect(before).toBe("begun\n");
  const numbers = after.trimEnd().split("\n").map(Number);
  const first = numbers[0] ?? 0;
  expect(first).toBeGreaterThan(1);
  expect(numbers).toEqual(Array.from({ length: 40_001 - first }, (_, i) => first + i));
  expect(result.notes).not.toEqual([]);
});

test("tmux leaves output out, again and again", async () => {
  await using local = await openTestTarget("local", { shell: "bash" });
  const shared = local.target.shell as Pane;
  const clients = await local.tmux("list-clients", "-F", "#{client_control_mode} #{client_name}");
  const client = clients.split("\n").find((line) => line.startsWith("1 "));
  const command = { over: false };
  const running = shared
    .run("for i in $(seq 2000); do echo line $i; done; for i in $(seq 2001 2150); do echo line $i; sleep 0.01; done", {
      keep: 1_000_000,
    })
    .finally(() => (command.over = true));
  let pauses = 0;
  while (!command.over && pauses < 40) {
    await local.tmux("refresh-client", "-t", client?.slice(2) ?? "", "-A", `${shared.id}:pause`);
    pauses++;
  }
  const result = await running;
  expect(pauses).toBeGreaterThan(1);
  expect(text(result)).toBe(numbered(2150));
  expect(result.outcome).toEqual({ kind: "exited", code: 0 });
});

test("a buddy that comes while a command prints has each line once", async () => {
  await using local = await openTestTarget("local", { shell: "bash" });
  const first = local.target.shell as Pane;
  const dir = mkdtempSync(join(tmpdir(), "buddy-gap-"));
  // However long the second one takes: it comes before the end.
  const held = `until [ -e ${dir}/here ]; do sleep 0.01; done`;
  void first.run(`for i in $(seq 150); do echo line $i; if [ $i = 140 ]; then ${held}; fi; sleep 0.01; done`, {
    noWait: true,
  });
  await until(async () => (await first.capture()).text.includes("line 20"), "it prints");
  await using second = await local.again();
  writeFileSync(join(dir, "here"), "");
  const result = await second.shell.wait({ keep: 1_000_000 });
  rmSync(dir, { recursive: true });
  expect(text(result)).toBe(numbered(150));
  expect(result.outcome).toEqual({ kind: "exited", code: 0 });
});
