/** Twelve machines at once, on the compiled binary: one result, one question, and no machine that holds up another. */
import { beforeAll, expect, setDefaultTimeout } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary } from "../support/buddy.ts";
import { call, execRig, shell } from "../support/exec.ts";
import { machines, type Machines } from "../support/machines.ts";
import { needs } from "../support/needs.ts";

const { test } = await needs("sshd");
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

test("buddy run groups what machines answer, and its exit code is the worst of them", async () => {
  await using rig = execRig([], { config: CONFIG });
  const run = async (...args: string[]) => {
    const child = Bun.spawn(["setsid", "-w", await buddyBinary(), "run", "--no-tmux", ...args], {
      cwd: rig.box.cwd,
      env: { ...(rig.box.env as Record<string, string>), ...env() },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { stdout, stderr, code };
  };
  const same = await run("--on", "web", "--diff", "cat", "~/app.conf");
  expect(same.code).toBe(0);
  expect(same.stdout.match(/setting_0 = 0/g)).toHaveLength(1);
  expect(same.stdout).toContain("+setting_20 = 99");

  const worst = await run("--on", "few", "--approve", "all", 'test "$MACHINE" != web02 || exit 7');
  expect(worst.code).toBe(7);
  expect(worst.stderr).toContain("web02");

  const unreached = await run("--on", "few,dead", "uname");
  expect(unreached.code).toBe(255);
  expect(unreached.stdout).toContain("web[01-03] (3): Linux");

  const unapproved = await run("--on", "few", "touch", "~/never");
  expect(unapproved.code).toBe(3);
  expect(existsSync(join(lab.home("web01"), "never"))).toBe(false);

  const alone = await run("--ssh", "web04", "--", "printf", "%s\\n", "a  b", "$HOME");
  expect(alone).toMatchObject({ code: 0, stdout: "a  b\n$HOME\n" });
});

function callOf(events: readonly { type: string }[], at: number): unknown {
  return (events.filter(({ type }) => type === "tool_started")[at] as unknown as { call: string }).call;
}

test("one question for three machines: a canary first, then the others", async () => {
  await using rig = execRig([shell("touch ~/reloaded", { risk: "medium", mutation: true }), { text: "all reloaded" }], {
    config: CONFIG,
  });
  await using terminal = await rig.terminal(["--on", "few", "--no-tmux", "reload"], { env: env() });
  await terminal.until(/@web\[01-03\] \(3\)\$ touch ~\/reloaded -- approve\?/);
  terminal.type("c");
  await terminal.until(/@web\[02-03\] \(2\)\$ touch ~\/reloaded -- approve\?/);
  expect(terminal.screen()).toContain("canary web01: exit code 0");
  const done = () => NAMES.filter((name) => existsSync(join(lab.home(name), "reloaded")));
  expect(done()).toEqual(["web01"]);
  terminal.type("y");
  expect(await terminal.exited).toBe(0);
  expect(done()).toEqual(["web01", "web02", "web03"]);
});

test("rules hold for each machine: a read-only one and a guarded one are left out by name, the others change", async () => {
  const rules = '[rules."web02"]\nmode = "read-only"\n[rules."web03"]\nmode = "guarded"\n';
  await using rig = execRig(
    [shell("sudo -n touch ~/ruled", { risk: "high", mutation: true, privesc: true }), { text: "done" }],
    {
      config: `${CONFIG}[targets.four]\nssh = "web[01-04]"\n${rules}`,
    },
  );
  const { events } = await rig.events(["--on", "four", "--no-tmux", "-q", "--approve", "all", "go"], { env: env() });
  const outcomes = Object.fromEntries(
    events.flatMap((event) => (event.type === "machine_finished" ? [[event.machine, event.outcome]] : [])),
  );
  expect(outcomes).toEqual({ web01: "exited", web02: "denied", web03: "denied", web04: "exited" });
  expect(["web02", "web03"].filter((name) => existsSync(join(lab.home(name), "ruled")))).toEqual([]);
  expect(rig.lastResult()).toContain("read-only");
});
