/** Twelve machines at once, on the compiled binary: one result, one question, and no machine that holds up another. */
import { expect, setDefaultTimeout } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary } from "../support/buddy.ts";
import { call, execRig, shell } from "../support/exec.ts";
import { machines, type Machines } from "../support/machines.ts";
import { needs } from "../support/needs.ts";
import { Pty } from "../support/pty.ts";
import { proxyTo } from "../support/tcp-proxy.ts";

const { beforeAll, test } = await needs("sshd");
const paned = await needs("sshd", "tmux");
setDefaultTimeout(120_000);

const NAMES = Array.from({ length: 12 }, (_, at) => `web${String(at + 1).padStart(2, "0")}`);
const SETTINGS = Array.from({ length: 40 }, (_, at) => `setting_${at} = ${at}`).join("\n");
const CONFIG = `[targets.web]\nssh = "web[01-12]"\n[targets.few]\nssh = "web[01-03]"\n[targets.dead]\nssh = "dead"\n[targets.all]\ninclude = ["web", "dead"]\n`;

let lab: Machines;

beforeAll(async () => {
  await buddyBinary();
  lab = await machines(NAMES);
  lab.server.configure("Host dead\n  HostName 127.0.0.1\n  Port 1");
  for (const name of NAMES) writeFileSync(join(lab.home(name), "app.conf"), `${SETTINGS}\n`);
  writeFileSync(join(lab.home("web07"), "app.conf"), `${SETTINGS.replace("setting_20 = 20", "setting_20 = 99")}\n`);
});

const env = () => ({ PATH: lab.env.PATH });
const flags = ["--on", "all", "--no-tmux", "-q"];

test("a run on thirteen machines: grouped results, on, a canary, and the one that is down is named", async () => {
  await using rig = execRig(
    [
      shell("cat ~/app.conf"),
      shell("cat ~/name", { on: ["web0[1-2]"] }),
      call("read_file", { path: "~/app.conf", on: ["web*"] }),
      call("write_file", { path: "~/new.conf", content: "x = 1\n", on: ["web[01-03]"] }),
      shell("test $MACHINE != web01 && touch ~/changed", { risk: "medium", mutation: true }),
      shell("uptime", { on: ["nosuch"] }),
      { text: "done" },
    ],
    { config: CONFIG },
  );
  const { code, events, stderr } = await rig.events([...flags, "--approve", "all", "--canary", "1", "look"], {
    env: env(),
  });
  const results = rig.results().map(String);

  const [settings = "", names = "", file = "", written = "", changed = "", unknown = ""] = results;
  expect(settings.match(/setting_0 = 0/g)).toHaveLength(1);
  expect(settings).toContain("web[01-06,08-12] (11 machines)");
  expect(settings).toContain("+setting_20 = 99");
  expect(settings).toMatch(/1 unreachable \(dead\)/);

  expect(names).toContain("web01: web01\nweb02: web02");
  expect(file.match(/setting_0 = 0/g)).toHaveLength(1);
  expect(file).toContain("web[01-06,08-12]");
  expect(written).toContain("3 machines: 3 ok");
  expect(NAMES.filter((name) => existsSync(join(lab.home(name), "new.conf")))).toEqual(["web01", "web02", "web03"]);
  expect(readFileSync(join(lab.home("web02"), "new.conf"), "utf8")).toBe("x = 1\n");

  // The canary is the first of them, and it fails there.
  expect(changed).toContain("11 not run");
  expect(NAMES.filter((name) => existsSync(join(lab.home(name), "changed")))).toEqual([]);
  expect(unknown).toContain("nosuch");

  const finished = events.filter((event) => event.type === "machine_finished" && event.call === callOf(events, 0));
  expect(finished).toHaveLength(13);
  expect(events.filter(({ type }) => type === "tool_started")[0]).toMatchObject({ machines: [...NAMES, "dead"] });
  expect(stderr).toContain("dead");
  expect(code).toBe(1);
});

async function runOnMachines(rig: ReturnType<typeof execRig>, args: readonly string[], where = ["--no-tmux"]) {
  const child = Bun.spawn(["setsid", "-w", await buddyBinary(), "run", ...where, ...args], {
    cwd: rig.box.cwd,
    env: { ...(rig.box.env as Record<string, string>), ...env() },
    stdin: new Blob(["dead\n"]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, code };
}

test("words of buddy about a machine that was lost, or ran out of time, were in the output of buddy run", async () => {
  await using rig = execRig([], { config: CONFIG });
  const leave = 'echo begun; test "$MACHINE" != web02 || kill -9 $PPID; echo more';
  const lost = await runOnMachines(rig, ["--on", "few", "--approve", "all", leave]);
  expect(lost.code).toBe(255);
  // What it printed may go with the connection.
  const others = "web[01,03] (2):\nbegun\nmore\n\n";
  expect([others, `${others}web02 (lost): begun\n`]).toContain(lost.stdout);
  expect(lost.stderr).toMatch(/^web02 \(lost\): .*web02/m);

  const slow = 'echo begun; test "$MACHINE" != web02 || sleep 60';
  const late = await runOnMachines(rig, ["--on", "few", "--timeout", "8s", slow]);
  expect(late.code).toBe(124);
  // What it printed until then is there.
  expect(late.stdout).toBe("web[01,03] (2): begun\nweb02 (timeout): begun\n");
  expect(late.stderr).toMatch(/^web02 \(timeout\): /m);
  // And the record has its end once.
  const record = readFileSync(join(rig.box.home, ".local/state/buddy/audit.jsonl"), "utf8").trimEnd().split("\n");
  const entries = record.map((line) => JSON.parse(line) as Record<"kind" | "action" | "target" | "outcome", string>);
  const ends = entries.filter(({ kind, action }) => kind === "effect" && action === slow);
  expect(ends.flatMap(({ target, outcome }) => (target.endsWith("web02") ? outcome : []))).toEqual(["stopped"]);
  expect(ends).toHaveLength(3);
});

test("buddy run groups what machines answer, and its exit code is the worst of them", async () => {
  await using rig = execRig([], { config: CONFIG });
  const run = (...args: string[]) => runOnMachines(rig, args);
  const same = await run("--on", "web", "--diff", "cat", "~/app.conf");
  expect(same.code).toBe(0);
  expect(same.stdout.match(/setting_0 = 0/g)).toHaveLength(1);
  expect(same.stdout).toContain("+setting_20 = 99");

  const worst = await run("--on", "few", "--approve", "all", 'test "$MACHINE" != web02 || exit 7');
  expect(worst.code).toBe(7);
  expect(worst.stderr).toContain("web02");

  // The shell of the command ends with it.
  const left = 'echo "$MACHINE" | wc -c; exit $(( ${MACHINE#web0} - 1 ))';
  const ended = await run("--on", "few", "--approve", "all", "--canary", "1", "--max-fail", "3", left);
  expect(ended).toMatchObject({ code: 2, stdout: "web01: 6\nweb02 (exit 1): 6\nweb03 (exit 2): 6\n" });
  expect(ended.stderr.split("\n").filter((line) => /shell|ended/.test(line))).toEqual([]);

  const canary = await run("--on", "few", "--approve", "all", "--canary", "1", 'test "$MACHINE" != web01 || exit 7');
  expect(canary).toMatchObject({ code: 7, stderr: expect.stringContaining("web[02-03]") });

  const unreached = await run("--on", "-,few", "uname");
  expect(unreached.code).toBe(255);
  expect(unreached.stdout).toContain("web[01-03] (3): Linux");
  expect(unreached.stderr.match(/Connection refused/g)).toHaveLength(1);

  const only = await run("--on", "dead", "uname");
  expect({ code: only.code, lines: only.stderr.trim().split("\n").length }).toEqual({ code: 255, lines: 1 });

  const refused = await run("--on", "web01", "touch", "x");
  expect(refused).toMatchObject({ code: 3, stdout: "" });
  expect(refused.stderr.match(/approval required/g)).toHaveLength(1);

  const unapproved = await run("--on", "few", "touch", "~/never");
  expect(unapproved.code).toBe(3);
  expect(existsSync(join(lab.home("web01"), "never"))).toBe(false);

  const alone = await run("--ssh", "web04", "--", "printf", "%s\\n", "a  b", "$HOME");
  expect(alone).toMatchObject({ code: 0, stdout: "a  b\n$HOME\n" });
});

function callOf(events: readonly { type: string }[], at: number): unknown {
  return (events.filter(({ type }) => type === "tool_started")[at] as unknown as { call: string }).call;
}

test("a machine that never answers is not reached: buddy exec ends with 1, as for one that refuses", async () => {
  using hole = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } });
  lab.server.configure(`Host hole\n  HostName 127.0.0.1\n  Port ${hole.port}`);
  await using rig = execRig([shell("cat ~/name"), { text: "done" }], {
    config: `${CONFIG}[targets.hole]\nssh = "hole"\n`,
  });
  const { code, stderr } = await rig.exec(["--on", "few,hole", "--no-tmux", "-q", "go"], { env: env() });
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("hole") });
});

test("one question for three machines: a canary first, then the others", async () => {
  await using rig = execRig([shell("touch ~/reloaded", { risk: "medium", mutation: true }), { text: "all reloaded" }], {
    config: CONFIG,
  });
  await using terminal = await rig.terminal(["--on", "few", "--no-tmux", "reload"], { env: env() });
  await terminal.until(/@web\[01-03\] \(3\)\$ touch ~\/reloaded -- approve\?/);
  terminal.type("c");
  await terminal.until(/@web\[02-03\] \(2\)\$ touch ~\/reloaded -- approve\?/);
  expect(terminal.screen()).toContain("canary web01: ");
  const done = () => NAMES.filter((name) => existsSync(join(lab.home(name), "reloaded")));
  expect(done()).toEqual(["web01"]);
  terminal.type("y");
  expect(await terminal.exited).toBe(0);
  expect(done()).toEqual(["web01", "web02", "web03"]);
});

paned.test(
  "a password that one of several machines asks for is asked for by its name, and goes there only",
  async () => {
    const ask = 'test $MACHINE = web02 || exec echo free; read -rsp "Password: " word; echo "got ${#word}"';
    await using rig = execRig([shell(`bash -c '${ask}'`, { risk: "medium", mutation: true }), { text: "done" }], {
      config: CONFIG,
    });
    await using terminal = await rig.terminal(["--on", "few", "--tmux", "--approve", "all", "go"], { env: env() });
    await terminal.until(/password .*\S+@web02/);
    terminal.type("hunter2\r");
    expect(await terminal.exited).toBe(0);
    expect(rig.lastResult()).toContain("got 7");
    expect(rig.lastResult()).toContain("web[01,03] (2 machines): free");
    expect(JSON.stringify(rig.requests)).not.toContain("hunter2");
  },
);

paned.test(
  "a run that is refused, with no terminal to ask on, opens no pane, and an approved one opens them",
  async () => {
    await using rig = execRig([], { config: CONFIG });
    const servers = () => ["web11", "web12"].filter((name) => readdirSync(join(lab.server.sockets, name)).length > 0);
    const refused = await runOnMachines(rig, ["--on", "web1[1-2]", "touch ~/refused"], []);
    expect(refused.code).toBe(3);
    expect(servers()).toEqual([]);
    const approved = await runOnMachines(rig, ["--on", "web1[1-2]", "--approve", "all", "touch ~/approved"], []);
    expect(approved.code).toBe(0);
    expect(servers()).toEqual(["web11", "web12"]);
  },
);

paned.test("buddy run did not ask for the password that a command of several machines wants", async () => {
  await using rig = execRig([], { config: CONFIG });
  const ask = 'read -rsp "Password: " word; echo "got ${#word} on $MACHINE"';
  const argv = [await buddyBinary(), "run", "--on", "web0[1-2]", "--tmux", "--approve", "all", `bash -c '${ask}'`];
  await using pty = new Pty(argv, { cols: 100, rows: 40, cwd: rig.box.cwd, env: { ...rig.box.env, ...env() } });
  // In any order.
  const first = /password .*\S+@(web0[12])/.exec(await pty.until(/password .*\S+@web0/))?.[1];
  pty.type("hunter2\r");
  const other = first === "web01" ? "web02" : "web01";
  await pty.until((screen) => screen.includes(`@${other} `));
  pty.type("swordfish\r");
  expect(await pty.exited).toBe(0);
  expect(pty.screen()).toContain(`got 7 on ${first}`);
  expect(pty.screen()).toContain(`got 9 on ${other}`);
});

paned.test("in panes, machines had the names and label of the first one in the record and for the model", async () => {
  await using rig = execRig(
    [shell("touch ~/recorded", { risk: "medium", mutation: true }), shell("cat ~/name"), { text: "done" }],
    { config: `${CONFIG}[rules.web03]\nlabel = "STAGE"\n` },
  );
  expect((await rig.exec(["--on", "few", "--tmux", "-q", "--approve", "all", "go"], { env: env() })).code).toBe(0);
  const record = readFileSync(join(rig.box.home, ".local/state/buddy/audit.jsonl"), "utf8").trimEnd().split("\n");
  const entries = record.map((line) => JSON.parse(line) as { names: string[]; label?: string; target: string });
  const known = entries.map(({ names, label, target }) => `${target.slice(-5)} ${names[0]} ${label ?? ""}`.trim());
  expect(new Set(known)).toEqual(new Set(["web01 web01", "web02 web02", "web03 web03 STAGE"]));
  const told = rig.requests.flatMap(({ messages }) => messages.map(({ content }) => content)).join("\n");
  const labelled = [...told.matchAll(/(\S+):(?:\n|\\n){2}- It is labelled STAGE/g)].map(([, name]) => name);
  expect(new Set(labelled)).toEqual(new Set(["web03"]));
});

test("what happened on many machines reaches the model once, with the names of all of them", async () => {
  await using rig = execRig([shell("exit 3", { risk: "medium", mutation: true }), { text: "done" }], {
    config: CONFIG,
  });
  await rig.exec(["--on", "web", "--no-tmux", "-q", "--approve", "all", "go"], { env: env() });
  expect([...rig.lastResult().matchAll(/^\[(web\S*): /gm)].map(([, names]) => names)).toEqual(["web[01-12]"]);
});

test("twelve machines of different content: one hangs, one drops, one is replaced, one is read-only, one guarded", async () => {
  // The machine behind web11 says that it is another one as soon as its home directory has `replaced`.
  const uname = join(lab.server.remoteBin, "uname");
  writeFileSync(uname, `#!/bin/sh\nif [ -e ~/replaced ]; then echo Linux other 6.1; else exec /bin/uname "$@"; fi\n`);
  chmodSync(uname, 0o755);
  await using dropping = await proxyTo(lab.server.port);
  await using replaced = await proxyTo(lab.server.port);
  lab.server.configure(`Host web10\n  Port ${dropping.port}\nHost web11\n  Port ${replaced.port}`);
  const rules = '[rules."web02"]\nmode = "read-only"\n[rules."web03"]\nmode = "guarded"\n';
  const calls = [
    () => shell("cat ~/name"),
    () => {
      dropping.refuse(true);
      writeFileSync(join(lab.home("web11"), "replaced"), "");
      for (const proxy of [dropping, replaced]) proxy.cut();
      const text = "test $MACHINE != web05 || sleep 600; touch ~/all && cat ~/app.conf";
      return shell(text, { risk: "high", mutation: true });
    },
    () => {
      dropping.refuse(false);
      return shell("cat ~/name", { on: ["web10"] });
    },
    () => ({ text: "done" }),
  ];
  await using rig = execRig(calls, { config: CONFIG + rules });
  const { events } = await rig.events(["--on", "web", "--no-tmux", "-q", "--approve", "all", "go"], {
    env: env(),
    timeoutMs: 100_000,
  });
  rmSync(uname);
  const [names = "", changed = "", back = ""] = rig.results().map(String);
  for (const name of NAMES) expect(names).toContain(`${name}: ${name}`);
  const outcomes = Object.fromEntries(
    events.flatMap((event) =>
      event.type === "machine_finished" && event.call === callOf(events, 1) ? [[event.machine, event.outcome]] : [],
    ),
  );
  const exited = ["web01", "web04", "web06", "web07", "web08", "web09", "web12"];
  expect(outcomes).toEqual({
    ...Object.fromEntries(exited.map((name) => [name, "exited"])),
    web02: "denied",
    web03: "denied",
    web05: "still-running",
    web10: "unreachable",
    web11: "lost",
  });
  expect(changed).toContain("web[01,04,06,08-09,12] (6 machines)");
  expect(changed).toContain("+setting_20 = 99");
  expect(changed).toContain("read-only");
  expect(changed).toMatch(/web11 \(lost\):\s/);
  expect(back).toContain("web10");
  expect(NAMES.filter((name) => existsSync(join(lab.home(name), "all")))).toEqual(exited);
});
