/** `buddy targets --sessions`: lists what is on a real tmux server, and ends only what is not in use. */
import { expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTarget } from "../../../src/targets/open.ts";
import { openTestTarget } from "../../support/tmux.ts";
import { needs } from "../../support/needs.ts";
import { until } from "../../support/until.ts";

const { test } = await needs("tmux");

setDefaultTimeout(60_000);

const main = join(import.meta.dir, "../../../src/main.ts");

async function buddy(socket: string, ...args: string[]) {
  return run(`[tmux]\nsocket = "${socket}"\n`, args);
}

async function run(settings: string, args: readonly string[], stdin = "") {
  const directory = mkdtempSync(join(tmpdir(), "buddy-targets-"));
  const config = join(directory, "buddy.toml");
  writeFileSync(config, settings);
  const child = Bun.spawn([process.execPath, main, "--config", config, ...args], {
    cwd: directory,
    stdin: new Blob([stdin]),
    env: { ...process.env, HOME: directory },
    stdout: "pipe",
    stderr: "pipe",
    // Without a controlling terminal nobody can be asked.
    detached: true,
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  rmSync(directory, { recursive: true });
  return { stdout, stderr, code };
}

test("lists sessions with their use, ends those that are not in use, and only those", async () => {
  await using place = await openTestTarget("local", { shell: "bash", agentName: "used" });
  const socket = place.options.tmuxSocket;
  const busy = await openTarget({ ...place.options, agentName: "busy" });
  await busy.shell.run("sleep 100 &");
  await busy[Symbol.asyncDispose]();
  const left = await openTarget({ ...place.options, agentName: "left" });
  await left[Symbol.asyncDispose]();
  await place.tmux("new-session", "-d", "-s", "theirs", "sh");

  const list = async () => {
    const { stdout } = await buddy(socket, "targets", "--sessions", "--json");
    return (JSON.parse(stdout) as { name: string; in_use: string | null }[]).map(({ name, in_use }) => [name, in_use]);
  };
  // What the shell's own start-up files run counts as a program, too, until it has ended.
  await until(async () => (await list())[1]?.[1] === null, "the shell that was left is idle");
  expect(await list()).toEqual([
    ["buddy-busy", "program"],
    ["buddy-left", null],
    ["buddy-used", "buddy"],
  ]);

  const unasked = await buddy(socket, "targets", "--sessions", "--end");
  expect(unasked.code).toBe(3);

  const ended = await buddy(socket, "targets", "--sessions", "--end", "--yes");
  expect([ended.code, ended.stderr]).toEqual([0, "ended: buddy-left\n"]);
  const names = (await place.tmux("list-sessions", "-F", "#{session_name}")).trim().split("\n");
  expect(names).toEqual(["buddy-busy", "buddy-used", "theirs"]);
});

test("without a server there are none", async () => {
  const none = await buddy(`buddy-test-${process.pid}-none`, "targets", "--sessions");
  expect([none.code, none.stdout]).toEqual([0, "no sessions of buddy on local\n"]);
});

const TARGETS = `
[targets.web]
ssh = "deploy@web[01-12]"
[targets.box]
via = ["env", "X=1"]
cd = "/"
[targets.gone]
via = ["false"]
[targets.prod]
include = ["web", "box"]
`;

test("lists the names and what they lead to", async () => {
  const { code, stdout } = await run(TARGETS, ["targets"]);
  expect(code).toBe(0);
  expect(stdout.split("\n").map((line) => line.replace(/ +/, " "))).toEqual(
    expect.arrayContaining(["web 12 machines: web[01-12]", "box env X=1, in /", "prod 13 machines: web[01-12], box"]),
  );
  const { targets } = JSON.parse((await run(TARGETS, ["targets", "--json"])).stdout) as {
    targets: { name: string; kind: string; machines: unknown[] }[];
  };
  expect(targets.map(({ name, kind, machines }) => [name, kind, machines.length])).toEqual([
    ["web", "group", 12],
    ["box", "machine", 1],
    ["gone", "machine", 1],
    ["prod", "group", 13],
  ]);
});

test("the list says which rules hold, and where", async () => {
  const rules = '[rules."web0[1-2],box"]\nmode = "guarded"\n[rules.web]\nlabel = "WWW"\n';
  const { stdout } = await run(`${TARGETS}${rules}`, ["targets"]);
  expect(stdout.split("\n").map((line) => line.replace(/ +/, " "))).toEqual(
    expect.arrayContaining([
      "web 12 machines: web[01-12]; rules: WWW, guarded (web[01-02]); WWW (web[03-12])",
      "box env X=1, in /; rules: guarded",
      "gone false",
    ]),
  );
  const { targets } = JSON.parse((await run(`${TARGETS}${rules}`, ["targets", "--json"])).stdout) as {
    targets: Record<string, unknown>[];
  };
  expect(targets[1]).toMatchObject({ name: "box", rule_words: "guarded" });
});

test("a rule that holds only because the inventory cannot be read is listed with that reason", async () => {
  const rules = '[rules.racks]\nmode = "read-only"\n[fleet]\ninventory = "/no/such/inventory"\n';
  const { stdout } = await run(`${TARGETS}${rules}`, ["targets", "web01"]);
  expect(stdout).toMatch(/^web01 .*rules: read-only\n\nnote: .*\/no\/such\/inventory.*racks/);
});

test("lists the machines of a group with where ssh leads; names from standard input, too", async () => {
  const [first] = JSON.parse((await run(TARGETS, ["targets", "prod", "--json"])).stdout) as [Record<string, unknown>];
  expect(first).toMatchObject({
    name: "web01",
    place: "ssh deploy@web01",
    ssh: { user: "deploy", host: "web01", port: 22 },
    names: expect.arrayContaining(["web", "prod", "deploy@web01"]),
  });
  const { stdout, code } = await run(TARGETS, ["targets", "-"], "box\n10.0.0.1\n");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^box .*\n10\.0\.0\.1 .*\n\n2 machines\n$/)]);
});

test("--check says who and where, how, and what is wrong; the exit code says whether something is", async () => {
  const { code, stdout } = await run(TARGETS, ["targets", "box,gone", "--check", "--json"]);
  expect(code).toBe(1);
  const { ok, machines } = JSON.parse(stdout) as { ok: boolean; machines: Record<string, unknown>[] };
  expect(ok).toBe(false);
  expect(machines[0]).toMatchObject({
    name: "box",
    ok: true,
    user: (await Bun.$`id -un`.text()).trim(),
    host: (await Bun.$`uname -n`.text()).trim(),
    tmux: expect.stringMatching(/^\d/),
    sudo: expect.stringMatching(/^(root|none|free|password)$/),
    latency_ms: expect.any(Number),
    auto: expect.stringContaining("in a clean bash"),
    problems: [],
  });
  expect(machines[1]).toMatchObject({
    name: "gone",
    ok: false,
    problems: [expect.stringContaining("cannot enter false")],
  });
  expect((await run(TARGETS, ["targets", "box", "--check"])).code).toBe(0);
});

test("one machine that hangs does not hold up what is known of the others", async () => {
  const directory = mkdtempSync(join(tmpdir(), "buddy-targets-"));
  const config = join(directory, "buddy.toml");
  writeFileSync(config, `${TARGETS}[targets.hangs]\nvia = ["sh", "-c", "exec sleep 3217"]\n`);
  const child = Bun.spawn([process.execPath, main, "--config", config, "targets", "hangs,box", "--check"], {
    stdout: "pipe",
    stderr: "ignore",
  });
  let seen = "";
  for await (const chunk of child.stdout) {
    seen += Buffer.from(chunk).toString();
    if (seen.includes("ok box")) break;
  }
  expect(seen).not.toContain("hangs");
  child.kill("SIGTERM");
  await child.exited;
  rmSync(directory, { recursive: true });
});

test.each([
  [["targets", "pord"], /prod/],
  [["targets", "web", "--on", "box"], /twice/],
  [["targets", "--end"], /--sessions/],
  [["targets", "prod", "--sessions"], /13 machines/],
  [["exec", "--on", "prod", "--ssh", "x", "hi"], /--on and --ssh/],
  [["targets", "@nowhere"], /nowhere/],
])("%j is refused with what to do", async (args, why) => {
  const { code, stderr } = await run(TARGETS, args);
  expect(code).toBe(2);
  expect(stderr).toMatch(why);
});

test.each([
  ["[targets.local]\nssh = 'x'\n", /targets\.local/],
  ["[targets.x]\n", /targets\.x needs one of/],
  ["[targets.x]\ninclude = ['y']\nssh = 'z'\n", /targets\.x is a group/],
  ["[targets.x]\nvia = 'kubectl exec'\n", /targets\.x\.via must be/],
  ["[targets.x]\nvia = ['k']\nattach_via = [['a'], ['b']]\n", /attach_via/],
  ["[targets.'a b']\nssh = 'x'\n", /name must be/],
  [
    "[fleet]\ninventory = 'nowhere.ini'\n[targets.x]\nssh = 'y'\n",
    /inventory .*nowhere\.ini cannot be read: it does not exist/,
  ],
])("a configuration with %p says which table is wrong", async (settings, why) => {
  const { code, stderr } = await run(settings, ["targets", "nothing"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(why);
});
