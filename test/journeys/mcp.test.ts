/** MCP servers with the compiled binary: asked about, trusted, masked, ended. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "../../src/lib/processes.ts";
import type { ScriptedRequest } from "../support/scripted-model/read-request.ts";
import { call, execRig, type RigOptions } from "../support/exec.ts";
import { Here } from "../support/in-process.ts";
import { startWebServer } from "../support/mcp-web-server.ts";
import { ReplBinary } from "../support/repl-binary.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

const SERVER = join(import.meta.dir, "../support/mcp-server.ts");

function table(mode: string, more = "", file = ""): string {
  return `[mcp.lab]\ncommand = ${JSON.stringify([process.execPath, SERVER, mode, ...(file === "" ? [] : [file])])}\n${more}`;
}

function rig(turns: Parameters<typeof execRig>[0], mode = "plain", more = "", options: RigOptions = {}) {
  return execRig(turns, { ...options, config: table(mode, more) });
}

function temporaryFile(): Disposable & { path: string } {
  const directory = mkdtempSync(join(tmpdir(), "buddy-mcp-"));
  return { path: join(directory, "file"), [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
}

describe("a tool of a server", () => {
  test("asks like anything that may change something, whatever it says of itself", async () => {
    await using one = rig([call("lab__look", { text: "hi" }), { text: "done" }]);
    const { code, stderr } = await one.exec(["go", "--no-tmux"]);
    expect(code).toBe(3);
    expect(stderr).toContain("lab: look");
    expect(one.lastResult()).not.toContain("echo: hi");
  });

  test.each([
    ["local", "read-only", 0],
    ["*", "read-only", 0],
    ["local", "guarded", 3],
  ] as const)("is held to the rules of this machine: %s %s", async (pattern, mode, code) => {
    const config = `[rules."${pattern}"]\nmode = "${mode}"\n[tools]\nshell_confirm = false\n`;
    await using one = rig([call("lab__echo", { text: "hi" }), { text: "done" }], "destroying", config);
    expect((await one.exec(["go", "--no-tmux", "--approve", "all"])).code).toBe(code);
    expect(one.lastResult()).not.toContain("echo: hi");
  });

  test("runs unasked when the operator trusts the server, if it only reads; others still ask", async () => {
    await using one = rig(
      [call("lab__look", { text: "hi" }), call("lab__echo", { text: "ho" }), { text: "done" }],
      "plain",
      "trust_read_only = true",
    );
    expect((await one.exec(["go", "--no-tmux"])).code).toBe(3);
    const [look, echo] = one.results();
    expect(look).toContain("echo: hi");
    expect(echo).not.toContain("echo: ho");
  });

  test("that fails with a long text keeps to its budget", async () => {
    await using one = rig([call("lab__echo"), { text: "done" }], "long-error");
    await one.exec(["go", "--no-tmux", "--approve", "all"]);
    expect(one.lastResult()).toContain("broken");
    expect(one.lastResult().length).toBeLessThan(100_000);
  });

  test.each(["completions", "responses", "anthropic"] as const)("works with the protocol %s", async (api) => {
    await using one = rig([call("lab__echo", { text: "hi" }), { text: "done" }], "plain", "", { api });
    expect((await one.exec(["go", "--no-tmux", "--approve", "all"])).code).toBe(0);
    expect(one.lastResult()).toContain("echo: hi");
    expect(one.requests[0]?.tools.map(({ name }) => name)).toContain("lab__echo");
  });

  test("that was always allowed asks again when the server describes it in another way; that it reads is not believed", async () => {
    const looks = ["one", "again", "two"].map((text) => call("lab__look", { text }));
    using listed = temporaryFile();
    const playbook = {
      async reply({ tools }: ScriptedRequest) {
        if (looks.length !== 1 || tools.some(({ name }) => name.startsWith("lab__new")))
          return looks.shift() ?? { text: "done" };
        // The last one when the new list is there.
        await until(() => existsSync(listed.path), "the list to be asked for again");
        return { ...call("time"), fault: "slow-headers" as const, delayMs: 50 };
      },
    };
    const config = table("changing", "", listed.path);
    await using here = new Here(playbook, { config, answer: () => ({ kind: "always" }) });
    await here.turn({ "no-tmux": true });
    expect(here.asked.map(({ action, risk }) => [action, risk])).toEqual([
      ['lab: look {"text":"one"}', "medium"],
      ['lab: look {"text":"two"}', "medium"],
    ]);
  });

  test("is only described in a dry run, and refused in a read-only runbook", async () => {
    await using one = rig([call("lab__echo", {}), { text: "done" }, call("lab__echo", {}), { text: "done" }]);
    await one.exec(["go", "--no-tmux", "--dry-run", "--approve", "all"]);
    expect(one.lastResult()).toContain("[dry run]");
    await one.exec(["--run", "disk-full", "--no-tmux", "--approve", "all"]);
    expect(one.lastResult()).not.toContain("echo:");
  });

  test("gets the value of a secret only after an approval, and the model never does", async () => {
    const secret = "AKIAIOSFODNN7QZXCVBN";
    await using one = rig([
      call("lab__echo", { text: "‹secret-1: AWS key›", nested: { deep: ["‹secret-1: AWS key›"] } }),
      { text: "done" },
    ]);
    expect((await one.exec([`use ${secret}`, "--no-tmux", "--approve", "all"])).code).toBe(0);
    expect(one.lastResult()).toContain("echo: ‹secret-1");
    expect(JSON.stringify(one.requests)).not.toContain(secret);
    await using refused = rig(
      [call("lab__look", { text: "‹secret-1: AWS key›" }), { text: "done" }],
      "plain",
      "trust_read_only = true",
    );
    expect((await refused.exec([`use ${secret}`, "--no-tmux"])).code).toBe(3);
  });

  test("the second run does not wait for the server, and sends the same tools", async () => {
    await using one = rig([{ text: "one" }, { text: "two" }]);
    await one.exec(["go", "--no-tmux"]);
    const { stderr } = await one.exec(["go", "--no-tmux"]);
    expect(stderr).not.toContain("waiting for the tools");
    const [first, second] = one.requests.map(({ tools }) => JSON.stringify(tools));
    expect(first).toContain("lab__echo");
    expect(second).toBe(first!);
    const [system] = one.requests[0]?.messages ?? [];
    expect(system?.content).toContain("MCP servers (lab)");
  });
});

test("a program with a relative path is beside the configuration, not in the working directory", async () => {
  await using one = execRig([{ text: "done" }], { config: '[mcp.lab]\ncommand = ["./lab-server"]\n' });
  one.box.write("cwd/lab-server", `#!/bin/sh\ntouch ${one.box.dir}/wrong\n`, 0o755);
  one.box.write("home/.config/buddy/lab-server", `#!/bin/sh\nexec ${process.execPath} ${SERVER}\n`, 0o755);
  expect((await one.exec(["go", "--no-tmux"])).code).toBe(0);
  expect(existsSync(join(one.box.dir, "wrong"))).toBe(false);
  expect(one.requests[0]?.tools.map(({ name }) => name)).toContain("lab__echo");
});

describe("servers end with buddy", () => {
  test.each(["SIGKILL", "SIGTERM"] as const)("also when it ends by %s", async (signal) => {
    await using one = execRig([call("lab__echo", {}), { text: "never" }]);
    const file = join(one.box.dir, "pids");
    const config = readFileSync(join(one.box.home, ".config/buddy/buddy.toml"), "utf8");
    one.box.write("home/.config/buddy/buddy.toml", `${config}\n${table("no-answer", "", file)}`, 0o600);
    const child = await one.box.spawn(["exec", "go", "--no-tmux", "--approve", "all"]);
    await until(() => existsSync(file) && readFileSync(file, "utf8").includes(" "), "the server's pids");
    const pids = readFileSync(file, "utf8").split(" ").map(Number);
    child.kill(signal);
    await child.exited;
    await until(() => pids.every((pid) => !isAlive(pid)), "the end of the server and of what it started");
  });
});

describe("buddy mcp", () => {
  test("adds, lists, checks and removes, and leaves every other byte of the file as it is", async () => {
    await using one = execRig([]);
    const path = join(one.box.home, ".config/buddy/buddy.toml");
    const before = `${readFileSync(path, "utf8")}# a comment at the end\n`;
    one.box.write("home/.config/buddy/buddy.toml", before, 0o600);
    const run = (...args: string[]) => one.box.run(["mcp", ...args]);
    expect((await run("add", "lab", "--env", "A=b c", "--", process.execPath, SERVER, "plain")).code).toBe(0);
    expect((await run("add", "lab", "--url", "http://x")).code).toBe(2);
    const listed = JSON.parse((await run("list", "--json")).stdout) as { name: string; tools: number | null }[];
    expect(listed).toMatchObject([{ name: "lab", tools: null }]);
    const checked = await run("check", "--json");
    expect(checked.code).toBe(0);
    expect(JSON.parse(checked.stdout)).toMatchObject([{ ok: true, resources: ["demo://one"], prompts: ["ask"] }]);
    expect((await run("remove", "lab")).code).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(before);
    expect((await run("remove", "lab")).code).toBe(2);
  });

  test("check says which server does not work, and ends with 1", async () => {
    await using one = execRig([], { config: `${table("plain")}\n[mcp.broken]\ncommand = ["no-such-program"]\n` });
    const { code, stdout } = await one.box.run(["mcp", "check"]);
    expect(code).toBe(1);
    expect(stdout).toContain("lab: ok");
    expect(stdout).toMatch(/broken: .*no-such-program/);
    expect(stdout).not.toContain("\u001b");
  });
});

test("buddy mcp login opens a page, takes what the browser brings back, and the server works from then on", async () => {
  using web = startWebServer({ signIn: true });
  await using one = execRig([], { config: `[mcp.web]\nurl = "${web.url}"\n` });
  const before = await one.box.run(["mcp", "check", "web"]);
  expect(before.code).toBe(1);
  expect(before.stdout).toContain("buddy mcp login web");
  await using pty = await one.terminal([], { shell: '"$BUDDY" mcp login web' });
  const page = (screen: string) => /http:\/\/\S+/.exec(screen.replaceAll("\n", ""))?.[0] ?? "";
  const screen = await pty.until((text) => page(text).endsWith("mcp"));
  await fetch(page(screen));
  expect(await pty.exited).toBe(0);
  expect((await one.box.run(["mcp", "check", "web"])).code).toBe(0);
  expect((await one.box.run(["mcp", "logout", "web"])).code).toBe(0);
  expect((await one.box.run(["mcp", "check", "web"])).code).toBe(1);
});

test("buddy mcp login opens the page itself where there is a browser", async () => {
  using web = startWebServer({ signIn: true });
  await using one = execRig([], { config: `[mcp.web]\nurl = "${web.url}"\n` });
  one.box.write("bin/xdg-open", `#!/bin/sh\nexec curl -sSL -o /dev/null -- "$1"\n`, 0o755);
  const env = { DISPLAY: ":7", PATH: `${join(one.box.dir, "bin")}:${process.env["PATH"]}` };
  await using pty = await one.terminal([], { shell: '"$BUDDY" mcp login web', env });
  expect(await pty.exited).toBe(0);
  expect((await one.box.run(["mcp", "check", "web"])).code).toBe(0);
});

test("in the REPL /mcp shows the servers, and a question names server, tool and arguments", async () => {
  await using rigged = new ReplBinary([call("lab__echo", { text: "hello there" }), { text: "all done" }]);
  const repl = await rigged.start({ config: table("plain") });
  await repl.until(/context/);
  repl.type("/mcp\r");
  await repl.until("lab__look");
  repl.type("go\r");
  await repl.until(/lab: echo \{"text":"hello there"\} -- approve\?/);
  repl.type("y");
  await repl.until("all done");
  repl.type("/quit\r");
  expect(await repl.exited).toBe(0);
});
