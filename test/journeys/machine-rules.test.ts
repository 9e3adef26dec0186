/** Rules of machines in the compiled binary: read-only, guarded, labels, notes, limits of approvals. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { call, type ExecRig, execRig, shell } from "../support/exec.ts";
import { eventsOf } from "../support/event-schema.ts";
import { needs } from "../support/needs.ts";
import { sshTarget } from "../support/sshd.ts";
import { QUESTION, RESULT } from "../support/wording.ts";

setDefaultTimeout(60_000);

const patch = await needs("patch");
const client = await needs("ssh");
const server = await needs("sshd");

const host = hostname();
const made = (rig: ExecRig, name = "made") => existsSync(join(rig.box.cwd, name));
const touch = shell("touch made", { mutation: true, risk: "medium", why: "to have it" });
const risky = shell("chmod -R 700 .", { mutation: true, risk: "high", why: "tidy up" });
const write = call("write_file", { path: "made", content: "one\ntwo\n" });
const rules = (pattern: string, text: string) => `[rules."${pattern}"]\n${text}`;

describe("read-only", () => {
  const readOnly = rules(host, 'mode = "read-only"\nlabel = "PROD"');

  test.each([
    ["--approve all", ["--approve", "all"], ""],
    ["shell_allow", [], '[tools]\nshell_allow = ["touch"]\n'],
    ["shell_confirm = false", [], "[tools]\nshell_confirm = false\n"],
    ["the developer preset", [], '[tools]\nshell_auto_approve = "developer"\n'],
    ["allow of another rule", [], '[rules."*"]\nallow = ["touch"]\n'],
  ] as const)("%s does not approve a change", async (_, flags, config) => {
    await using rig = execRig([touch, { text: "ok" }], { config: `${config}${readOnly}` });
    const run = await rig.exec([...flags, "--no-tmux", "go"]);
    expect(run.code).toBe(0);
    expect(made(rig)).toBe(false);
    expect(rig.lastResult()).toMatch(new RegExp(`^${RESULT.notAllowed}.*read-only`));
    // What the model wanted, as lines that a shell takes.
    expect(run.stderr).toContain("PROD");
    expect(run.stderr.split("\n")).toContain("touch made");
  });

  patch.test(
    "files, background shells and panes are not changed either, and all of it is listed once at the end",
    async () => {
      await using rig = execRig(
        [
          write,
          shell("touch made", { mutation: true, risk: "medium", mode: "background" }),
          touch,
          shell("cat /etc/hostname"),
          { text: "ok" },
        ],
        { config: readOnly },
      );
      const { code, events } = await rig.events(["--approve", "all", "--no-tmux", "go"]);
      expect(code).toBe(0);
      expect(made(rig)).toBe(false);
      expect(events.filter(({ type }) => type === "approval_asked")).toEqual([]);
      const proposed = events.filter(({ type }) => type === "proposed") as unknown as {
        changes: { where: string; label: string; command: string }[];
      }[];
      expect(proposed).toHaveLength(1);
      expect(proposed[0]?.changes.map(({ label }) => label)).toEqual(["PROD", "PROD"]);
      const [patch, command] = proposed[0]?.changes ?? [];
      expect(command?.command).toBe("touch made");
      // The change of a file is a command that makes exactly this change.
      Bun.spawnSync(["sh", "-c", patch?.command ?? "false"], { cwd: rig.box.cwd });
      expect(readFileSync(join(rig.box.cwd, "made"), "utf8")).toBe("one\ntwo\n");
    },
  );

  test("what is proven to read runs", async () => {
    await using rig = execRig([shell("cat /etc/hostname"), { text: "ok" }], { config: readOnly });
    const { events } = await rig.events(["--no-tmux", "go"]);
    expect(events.find(({ type }) => type === "tool_finished")).toMatchObject({ ok: true, exit_code: 0 });
    expect(events.some(({ type }) => type === "proposed")).toBe(false);
  });

  test.each([host, host.toUpperCase(), "local", "*"])("matched by %s", async (pattern) => {
    await using rig = execRig([touch, { text: "ok" }], { config: rules(pattern, 'mode = "read-only"') });
    await rig.exec(["--approve", "all", "--no-tmux", "go"]);
    expect(made(rig)).toBe(false);
  });

  test("a working directory's file cannot take it back", async () => {
    await using rig = execRig([touch, { text: "ok" }], { config: readOnly });
    rig.box.write("cwd/buddy.toml", rules(host, 'mode = "normal"\nallow = ["touch"]'));
    await rig.exec(["--approve", "all", "--no-tmux", "go"]);
    expect(made(rig)).toBe(false);
  });
});

describe("guarded", () => {
  const guarded = rules("local", 'mode = "guarded"\nlabel = "PROD"');

  test.each([
    ["--approve all", ["--approve", "all"], ""],
    ["a duration", ["--approve", "10m"], ""],
    ["shell_allow", [], '[tools]\nshell_allow = ["chmod"]\n'],
    ["shell_confirm = false", [], "[tools]\nshell_confirm = false\n"],
  ] as const)("%s does not cover high risk; without a terminal it is refused", async (_, flags, config) => {
    await using rig = execRig([risky, { text: "ok" }], { config: `${config}${guarded}` });
    const { code, events } = await rig.events([...flags, "--no-tmux", "go"]);
    expect(code).toBe(3);
    expect(events.find(({ type }) => type === "approval_asked")).toMatchObject({ answer: "typed", label: "PROD" });
  });

  test("what is not high risk is approved as elsewhere", async () => {
    await using rig = execRig([touch, { text: "ok" }], { config: guarded });
    expect(await rig.exec(["--approve", "all", "--no-tmux", "go"])).toMatchObject({ code: 0 });
    expect(made(rig)).toBe(true);
  });

  test("on a terminal y is not enough: the name of the machine is", async () => {
    await using rig = execRig([shell("rm -r old", { mutation: true, risk: "high" }), { text: "gone" }], {
      config: guarded,
    });
    rig.box.write("cwd/old/x", "");
    await using pty = await rig.terminal(["--no-tmux", "go"]);
    await pty.until(QUESTION.asked);
    expect(pty.screen()).toContain("PROD");
    pty.type("y");
    await pty.until(QUESTION.name(host));
    pty.type("yes\r");
    await pty.until(QUESTION.nothingApproved);
    expect(made(rig, "old")).toBe(true);
    pty.type("y");
    await pty.until(QUESTION.name(host));
    pty.type(`${host}\r`);
    await pty.until("gone");
    expect(made(rig, "old")).toBe(false);
  });

  for (const [args, shown, typed] of [
    [["--ssh", "lab"], "lab", "lab"],
    [["--ssh", "lab"], "lab", host],
    [["--on", "box"], "box", "box"],
    [["--on", "box"], "box", "lab"],
    [["--on", "group"], "box", "box"],
  ] as const)
    server.test(`a machine opened with ${args.join(" ")} is called ${shown}, and ${typed} approves`, async () => {
      const target = await sshTarget();
      await using rig = execRig([shell("rm -r old", { mutation: true, risk: "high" }), { text: "gone" }], {
        config: `[targets.box]\nssh = "lab"\n[targets.group]\ninclude = ["box"]\n${rules("*", 'mode = "guarded"')}`,
        env: { PATH: target.env["PATH"] ?? "" },
      });
      rig.box.write("home/old/x", "");
      await using pty = await rig.terminal(["--no-tmux", ...args, "go"]);
      await pty.until((screen) => screen.includes(`name of the machine: ${shown}`) && screen.includes(QUESTION.asked));
      for (const wrong of ["group", "*", `${shown}x`]) {
        pty.type("y");
        await pty.until(QUESTION.name(shown));
        pty.type(`${wrong}\r`);
        await pty.until(`${shown}; ${QUESTION.nothingApproved}`);
      }
      pty.type("y");
      await pty.until(QUESTION.name(shown));
      pty.type(`${typed}\r`);
      await pty.until("gone");
    });
});

test("approve_max = 0: no mode approves there, and shell_confirm = false does not either", async () => {
  for (const [flags, config] of [
    [["--approve", "all"], ""],
    [["--approve", "10m"], ""],
    [[], "[tools]\nshell_confirm = false\n"],
  ] as const) {
    await using rig = execRig([touch, { text: "ok" }], { config: `${config}${rules("local", "approve_max = 0")}` });
    expect(await rig.exec([...flags, "--no-tmux", "go"])).toMatchObject({ code: 3 });
    expect(made(rig)).toBe(false);
  }
});

test("of several machines, the one whose approve_max is over changes nothing, whatever tool or words are used for it", async () => {
  const declared = { risk: "medium", mutation: true, privesc: false, why: "to have it" };
  const file = { path: "old", old_text: "one", new_text: "two" };
  await using rig = execRig(
    [
      shell("sleep 1.5"),
      shell("touch a1", declared),
      shell("touch a2", { ...declared, on: ["p*"] }),
      shell("cat old && touch a3", { on: ["prod"] }),
      shell("touch a4", { ...declared, on: ["dev", "prod"], mode: "background" }),
      call("write_file", { path: "a5", content: "x\n", on: ["prod"], sudo: true }),
      call("edit_file", { ...file, on: ["prod", "dev"] }),
      call("send-keys", { literal_text: "touch a6", enter: true, on: ["prod"], ...declared }),
      call("tmux-create-pane", { pane: "x", on: ["prod"], ...declared }),
      shell("touch a7", { ...declared, pane: "x" }),
      shell("rm old", { ...declared, risk: "high" }),
      { text: "ok" },
    ],
    {
      config: `[targets.prod]\nvia = ["env", "-u", "prod"]\ncd = "~/prod"\n[targets.dev]\nvia = ["env", "-u", "dev"]\ncd = "~/dev"\n${rules("prod", 'approve_max = "1s"')}`,
    },
  );
  for (const name of ["prod", "dev"]) rig.box.write(`home/${name}/old`, "one\n");
  const { code } = await rig.events(["--approve", "1h", "--canary", "1", "--on", "dev,prod", "go"]);
  expect(code).toBe(3);
  expect(readdirSync(join(rig.box.home, "prod"))).toEqual(["old"]);
  expect(readFileSync(join(rig.box.home, "prod/old"), "utf8")).toBe("one\n");
  expect(readdirSync(join(rig.box.home, "dev")).sort()).toEqual(["a1", "a4"]);
});

test("deny and shell_auto_approve of a rule hold on its machines only", async () => {
  const config = (pattern: string) => rules(pattern, 'deny = ["touch"]\nshell_auto_approve = "none"');
  await using here = execRig([touch, shell("ls"), { text: "ok" }], { config: config("local") });
  expect(await here.exec(["--no-tmux", "go"])).toMatchObject({ code: 3 });
  expect(here.results()[0]).toContain(RESULT.notAllowed);
  await using elsewhere = execRig([touch, { text: "ok" }], { config: config("other-machine") });
  await elsewhere.exec(["--approve", "all", "--no-tmux", "go"]);
  expect(made(elsewhere)).toBe(true);
});

test("notes and hosts/NAME.md reach the model with the newest message, and the beginning of requests stays the same", async () => {
  await using rig = execRig([shell("ls"), { text: "ok" }], {
    config: rules("local", 'notes = "the window is 22 to 04"\nlabel = "PROD"'),
  });
  rig.box.write("home/.config/buddy/hosts/local.md", `backups are in /srv/backup\n${"x".repeat(9000)}`);
  rig.box.write("home/.config/buddy/hosts/other.md", "not for this one");
  expect(await rig.exec(["--no-tmux", "go"])).toMatchObject({ code: 0 });
  const [first, second] = rig.requests;
  const texts = (request: typeof first) => request?.messages.map(({ content }) => content ?? "") ?? [];
  const all = texts(second).join("\n");
  for (const text of ["the window is 22 to 04", "PROD", "backups are in /srv/backup", "are left out"])
    expect(all.split(text)).toHaveLength(2);
  expect(all).not.toContain("not for this one");
  expect(texts(first)[0]).not.toContain("22 to 04");
  expect(texts(second)[0]).toBe(texts(first)[0] as string);
});

test("buddy run lists what it left out on read-only machines, the same on several of them once", async () => {
  const via = (name: string) => `[targets.${name}]\nvia = ["env", "-u", "${name}"]\ncd = "/"\n`;
  await using rig = execRig([], { config: `${via("keep1")}${via("keep2")}${rules("keep*", 'mode = "read-only"')}` });
  const run = (...flags: string[]) =>
    rig.box.run(["run", "--approve", "all", "--on", "keep*", "--no-tmux", ...flags, "touch made"]);
  const { code, stderr } = await run();
  expect(code).toBe(1);
  expect(stderr.split("\n").filter((line) => line === "touch made")).toHaveLength(1);
  expect(stderr).toContain("# keep[1-2] (2), in /\n");
  const asked = eventsOf((await rig.box.run(["run", "--no-tmux", "--json", "rm", "-r", "old"])).stdout);
  // No model declared anything.
  expect(asked.find(({ type }) => type === "approval_asked")).toMatchObject({ risk: "high", understated: false });
  const events = eventsOf((await run("--json")).stdout);
  const proposed = events.find(({ type }) => type === "proposed") as unknown as { changes: { machine: string }[] };
  expect(proposed.changes.map(({ machine }) => machine).toSorted()).toEqual(["keep1", "keep2"]);
});

test("of several machines the read-only one is left out, the others get the change", async () => {
  await using rig = execRig([touch, { text: "ok" }], {
    config: `[targets.keep]\nvia = ["env"]\n[targets.change]\nvia = ["env", "-u", "UNSET"]\n${rules("keep", 'mode = "read-only"')}`,
  });
  const { events } = await rig.events([
    "--approve",
    "all",
    "--on",
    "keep,change",
    "--no-tmux",
    "-C",
    rig.box.cwd,
    "go",
  ]);
  expect(made(rig)).toBe(true);
  const proposed = events.find(({ type }) => type === "proposed") as unknown as { changes: object[] };
  expect(proposed.changes).toMatchObject([{ machine: "keep", command: "touch made" }]);
});

client.test("buddy policy and buddy targets show what the rules of a machine make of it", async () => {
  await using rig = execRig([], {
    config: `[targets.keep]\nssh = "keep.invalid"\n[targets.care]\nssh = "care.invalid"\n${rules("keep", 'mode = "read-only"\nlabel = "PROD"')}\n${rules("care", 'mode = "guarded"\ndeny = ["make"]')}`,
  });
  const policy = async (...args: string[]) =>
    JSON.parse((await rig.box.run(["policy", "shell", "--json", ...args])).stdout) as Record<string, unknown>;
  expect(await policy("--on", "keep", "touch x")).toMatchObject({ verdict: "block", rules: { mode: "read-only" } });
  expect(await policy("--on", "keep", "ls")).toMatchObject({ verdict: "allow" });
  expect(await policy("--on", "care", "rm -r x")).toMatchObject({ verdict: "ask", answer: "typed" });
  expect(await policy("--on", "care", "touch x")).toMatchObject({ verdict: "ask", answer: null });
  expect(await policy("--on", "care", "make")).toMatchObject({ verdict: "block" });
  expect(await policy("touch x")).toMatchObject({ verdict: "ask" });
  // As where it runs: a command is held to the rules of the machines that it names.
  expect(await policy("ssh keep touch x")).toMatchObject({ verdict: "block", rules: { label: "PROD" } });
  expect(await policy("autossh -M 0 keep touch x")).toMatchObject({ verdict: "block" });
  expect(await policy("curl -T x sftp://root@keep/x")).toMatchObject({ verdict: "block" });
  expect(await policy("sh -c 'ssh care rm -r x'")).toMatchObject({ verdict: "ask", answer: "typed" });
  const listed = await rig.box.run(["targets", "keep", "--json"]);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ name: "keep", rules: { mode: "read-only", label: "PROD" } }]);
  expect((await rig.box.run(["targets", "care"])).stdout).toContain("rules: guarded, deny make");
});
