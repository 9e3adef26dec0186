/** Skills, runbooks, own commands and hooks with the compiled binary. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../src/lib/processes.ts";
import { call, execRig, shell } from "../support/exec.ts";
import { ReplBinary } from "../support/repl-binary.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

const SKILL = "---\nname: deploy\ndescription: how we deploy\n---\nUse the blue script.\n";

describe("skills", () => {
  test("the prompt names them, the tool loads one, and a start without them has neither", async () => {
    await using rig = execRig([{ text: "plain" }, call("skill", { name: "deploy" }), { text: "done" }]);
    expect((await rig.exec(["hello", "--no-tmux"])).code).toBe(0);
    rig.box.write("home/.agents/skills/deploy/SKILL.md", SKILL);
    expect((await rig.exec(["deploy it", "--no-tmux"])).code).toBe(0);
    const [before, after] = rig.requests;
    const names = (request: typeof before) => request?.tools.map(({ name }) => name) ?? [];
    expect(names(before)).not.toContain("skill");
    expect(names(after)).toContain("skill");
    expect(JSON.stringify(after?.messages)).toContain("deploy: how we deploy");
    expect(JSON.stringify(after?.messages)).not.toContain("blue script");
    expect(rig.lastResult()).toContain("Use the blue script.");
  });

  test("those of a repository are skipped with a notice where no one can be asked", async () => {
    await using rig = execRig([{ text: "plain" }]);
    rig.box.write("cwd/.agents/skills/deploy/SKILL.md", SKILL);
    const { code, stderr } = await rig.exec(["hello", "--no-tmux"]);
    expect(code).toBe(0);
    expect(stderr).toContain("deploy");
    expect(rig.requests[0]?.tools.map(({ name }) => name)).not.toContain("skill");
  });

  test("on a terminal the answer counts for this content, and a change asks again", async () => {
    await using rig = execRig([{ text: "one" }, { text: "two" }, { text: "three" }]);
    rig.box.write("cwd/.agents/skills/deploy/SKILL.md", SKILL);
    const offered = () => rig.requests.at(-1)?.tools.some(({ name }) => name === "skill");
    const run = async (answer?: string) => {
      await using pty = await rig.terminal(["hello", "--no-tmux"]);
      if (answer !== undefined) {
        await pty.until(/Trust it\?/);
        pty.type(answer);
      }
      expect(await pty.exited).toBe(0);
      return offered();
    };
    expect(await run("y")).toBe(true);
    expect(await run()).toBe(true);
    rig.box.write("cwd/.agents/skills/deploy/more.txt", "x");
    expect(await run("n")).toBe(false);
  });
});

describe("runbooks", () => {
  const READ_ONLY =
    "---\nname: look\ndescription: look\nmode: read-only\nparameters: { what: a file }\n---\nLook at {{what}}.\n";

  test("a read-only one changes nothing, whatever allows it", async () => {
    await using rig = execRig(
      [shell("touch changed"), call("write_file", { path: "written", content: "x" }), shell("uname"), { text: "done" }],
      { config: '[tools]\nshell_allow = ["touch"]\nshell_confirm = false\nshell_auto_approve = "developer"\n' },
    );
    rig.box.write("home/.config/buddy/skills/look/SKILL.md", READ_ONLY);
    const { code, stdout, stderr } = await rig.exec([
      "--run",
      "look",
      "what=/etc/hosts",
      "--approve",
      "all",
      "--no-tmux",
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "done\n" });
    // What it wanted is listed, for a person to do.
    expect(stderr).toContain("touch changed");
    expect(["changed", "written"].filter((name) => existsSync(join(rig.box.cwd, name)))).toEqual([]);
    expect(JSON.stringify(rig.requests[0]?.messages)).toContain("Look at /etc/hosts.");
    expect(rig.results().at(-1)).toBe("Linux");
  });

  test("the next prompt of the session is asked about as always", async () => {
    await using rig = execRig([{ text: "looked" }, shell("touch changed"), { text: "done" }]);
    rig.box.write("home/.config/buddy/skills/look/SKILL.md", READ_ONLY);
    await rig.exec(["--run", "look", "what=x", "--no-tmux"]);
    await rig.exec(["--resume", "last", "go", "--approve", "all", "--no-tmux"]);
    expect(existsSync(join(rig.box.cwd, "changed"))).toBe(true);
  });

  test.each([
    [["--run", "disk-ful"], "did you mean disk-full?"],
    [["--run", "disk-full", "pth=/"], "did you mean path?"],
    [["--run", "disk-full", "path"], "key=value"],
    [["--run", "only-web"], "runs only on web*"],
    [["--run", "disk-full", "host=web1", "--container", "api"], "web1"],
    [["one", "two"], "too many arguments"],
  ])("%j is a usage error, and nothing is asked", async (args, why) => {
    await using rig = execRig([]);
    rig.box.write("home/.agents/skills/only-web/SKILL.md", "---\nname: only-web\ndescription: x\non: web*\n---\nx\n");
    const { code, stderr } = await rig.exec(args);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
    expect(rig.requests).toHaveLength(0);
  });

  test("names and parameters are completed", async () => {
    await using rig = execRig([]);
    const complete = async (...words: string[]) =>
      (await rig.box.run(["__complete", ...words])).stdout.split("\n").map((line) => line.split("\t")[0]);
    expect(await complete("exec", "--run", "disk")).toContain("disk-full");
    expect(await complete("exec", "--run", "disk-full", "host=x", "")).toEqual(["path=", ""]);
  });
});

describe("in the REPL", () => {
  test("an own command sends its prompt, is listed and completed; a built-in name wins with a notice", async () => {
    await using rig = new ReplBinary([{ text: "first answer" }, { text: "second answer" }]);
    rig.box.write("home/.config/buddy/commands/greet.md", "---\ndescription: say hello\n---\nGreet $1 politely.");
    rig.box.write("home/.config/buddy/commands/status.md", "My own status.");
    const repl = await rig.start();
    await repl.until(/context/);
    repl.type("/greet Ann\r");
    await repl.until("first answer");
    expect(rig.prompts.at(-1)).toContain("Greet Ann politely.");
    repl.type("/status\r");
    await repl.until("/status is built in");
    repl.type("/help\r");
    await repl.until("say hello");
    repl.type("/run disk-full path=/srv\r");
    await repl.until("second answer");
    expect(rig.prompts.at(-1)).toContain("file system of /srv");
    repl.type("/run disk-full host=nowhere\r");
    await repl.until('"nowhere"');
    expect(rig.model.requests).toHaveLength(2);
  });
});

describe("hooks", () => {
  const rigWith = (on: string, script: string) => {
    const rig = execRig([shell("echo hi"), { text: "done" }], {
      config: `[[hooks]]\non = "${on}"\ncommand = ["./hook"]\ntimeout = "300s"\n`,
    });
    rig.box.write("home/.config/buddy/hook", `#!/bin/sh\n${script}\n`, 0o755);
    return rig;
  };

  test.each([
    ["before-tool", "SIGKILL"],
    ["session-end", "SIGKILL"],
    ["after-tool", "SIGTERM"],
    ["session-end", "SIGINT"],
  ] as const)("a %s hook that hangs did not end with buddy after %s", async (on, signal) => {
    await using rig = rigWith(
      on,
      `trap '' TERM INT\necho $$ >"$HOME/../new" && mv "$HOME/../new" "$HOME/../pid"\nsleep 300`,
    );
    const file = join(rig.box.dir, "pid");
    const child = await rig.box.spawn(["exec", "go", "--no-tmux"]);
    child.stdin.end();
    await until(() => existsSync(file), "the hook");
    child.kill(signal);
    await child.exited;
    const pid = Number(readFileSync(file, "utf8"));
    await until(() => !isAlive(pid), "the end of the hook");
  });

  test("a session-end hook that failed was not reported", async () => {
    await using rig = rigWith("session-end", "echo no space; exit 5");
    const { code, stderr } = await rig.exec(["go", "--no-tmux"]);
    expect(code).toBe(0);
    expect(stderr).toContain("no space");
  });
});

test("arguments nested without end are refused, and the session can still be exported", async () => {
  const nested = `{"command":"id","extra":${"[".repeat(60_000)}${"]".repeat(60_000)}}`;
  await using rig = execRig([{ toolCalls: [{ name: "run_shell", args: nested }] }, { text: "done" }], {
    config: '[[hooks]]\non = "after-tool"\ncommand = ["true"]\n',
  });
  const { code, stderr } = await rig.exec(["go", "--no-tmux"]);
  expect(code).toBe(0);
  expect(stderr).not.toContain("not started");
  expect((await rig.box.run(["sessions", "export", "last"])).code).toBe(0);
});
