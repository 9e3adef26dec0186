/**
 * Root with a password, as an operator meets it: the compiled binary, the real sudo, and a search for the password
 * afterwards.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { call, execRig, type ExecRig, shell } from "../support/exec.ts";
import { needs } from "../support/needs.ts";
import { ReplBinary } from "../support/repl-binary.ts";
import { type SudoMachine, sudoMachine } from "../support/sudo-machine.ts";
import { until } from "../support/until.ts";
import { QUESTION, REPL } from "../support/wording.ts";

const { describe, test } = await needs("linux", "root", "sshd", "ip", "sudo", "tmux");

setDefaultTimeout(60_000);

/** Everything below a directory, and the requests to the model. */
function everything(directory: string, requests: readonly { readonly body: unknown }[]): string {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
  return [...files, ...requests.map(({ body }) => JSON.stringify(body))].join("\n");
}

describe("sudo that asks for a password", () => {
  let machine: SudoMachine;
  beforeAll(async () => {
    machine = await sudoMachine("vault");
  });
  afterAll(() => machine[Symbol.asyncDispose]());

  const rigOn = (turns: Parameters<typeof execRig>[0]): ExecRig =>
    execRig(turns, { env: { PATH: machine.env.PATH }, config: '[safety]\nread_only_namespace = "off"' });
  const edit = (path: string, content: string) => call("write_file", { path, content, sudo: true });

  test("in the REPL the line for it shows dots, goes to the pane, and is nowhere else", async () => {
    await using repl = new ReplBinary([shell("sudo id -un", { privesc: true, risk: "high" }), { text: "done: root" }]);
    const pty = await repl.start({
      args: ["--ssh", "deploy@vault"],
      config: '[tmux]\nsocket = "buddy-sudo"\n[safety]\nread_only_namespace = "off"',
      env: { PATH: machine.env.PATH },
      cols: 100,
    });
    await pty.until(REPL.ready);
    pty.type("who is root\r");
    await pty.until(QUESTION.asked);
    pty.key("y");
    await pty.until("goes to the pane of deploy@vault only");
    pty.type(machine.password);
    await pty.until("•".repeat(machine.password.length));
    pty.key("enter");
    await pty.until("done: root");
    expect(pty.screen()).not.toContain(machine.password);
    const [, result] = repl.model.requests
      .at(-1)!
      .messages.filter(({ role }) => role === "tool" || role === "assistant");
    expect(result!.content).toContain("root");
    expect(everything(repl.box.dir, repl.model.requests)).not.toContain(machine.password);
    expect(machine.run("grep -l . /home/deploy/.bash_history 2>/dev/null | xargs -r cat")).not.toContain(
      machine.password,
    );
  });

  test("a program that prints the password it was given did not keep it from the model and the session", async () => {
    const greedy = `bash -c 'read -rsp "password: " x; echo; echo "it is $x"'`;
    await using repl = new ReplBinary([shell(greedy, { risk: "high" }), { text: "printed" }]);
    const pty = await repl.start({
      args: ["--ssh", "deploy@vault"],
      config: '[tmux]\nsocket = "buddy-greedy"\n[safety]\nread_only_namespace = "off"',
      env: { PATH: machine.env.PATH },
      cols: 100,
    });
    await pty.until("lists commands");
    pty.type("go\r");
    await pty.until("-- approve?");
    pty.key("y");
    await pty.until("goes to the pane of deploy@vault only");
    pty.type(`${machine.password}\r`);
    await pty.until("printed");
    expect(pty.screen()).toContain("it is");
    expect(pty.screen()).not.toContain(machine.password);
    expect(everything(repl.box.dir, repl.model.requests)).not.toContain(machine.password);
  });

  test("Ctrl-C did not stop a task that waited for the password for a revert", async () => {
    await using repl = new ReplBinary([shell("userdel nosuch", { mutation: true, risk: "high" }), { text: "never" }]);
    const pty = await repl.start({
      args: ["--ssh", "deploy@vault"],
      config: '[tmux]\nsocket = "buddy-sudo-stop"\n[safety]\nread_only_namespace = "off"',
      env: { PATH: machine.env.PATH },
      cols: 100,
    });
    await pty.until(REPL.ready);
    pty.type("remove it\r");
    await pty.until(QUESTION.asked);
    pty.key("y");
    await pty.until("goes to the pane of deploy@vault only");
    // Leaves it to the pane, where no one answers.
    pty.key("escape");
    await pty.until((screen) => !screen.includes("goes to the pane"));
    pty.key("ctrl-c");
    await pty.until(REPL.ended(1, "cancelled"));
  });

  test("exec on a terminal: the difference, the question, the password, the file", async () => {
    await using rig = rigOn([edit("/etc/motd", "welcome to vault\n"), { text: "written" }]);
    const pty = await rig.terminal(["--ssh", "deploy@vault", "--no-tmux", "set the motd"]);
    await pty.until(QUESTION.asked);
    expect(pty.screen()).toContain("+welcome to vault");
    expect(pty.screen()).toContain("as root (sudo)");
    pty.key("y");
    await pty.until("goes to sudo on deploy@vault only");
    pty.type(`${machine.password}\r`);
    expect(await pty.exited).toBe(0);
    expect(pty.screen()).not.toContain(machine.password);
    expect(machine.run("cat /etc/motd")).toBe("welcome to vault\n");
    expect(everything(rig.box.dir, rig.requests)).not.toContain(machine.password);
  });

  test("what decides who gets in needs the name of the machine, whatever is approved", async () => {
    const rule = edit("/etc/sudoers.d/team", "guest ALL=(ALL) NOPASSWD: /bin/ls\n");
    await using all = rigOn([rule, { text: "no" }]);
    expect((await all.exec(["--ssh", "admin@vault", "--no-tmux", "--approve", "all", "go"])).code).toBe(3);
    await using rig = rigOn([rule, { text: "written" }]);
    const pty = await rig.terminal(["--ssh", "admin@vault", "--no-tmux", "go"]);
    await pty.until(/the name of the machine: vault[^]*-- approve\?/);
    pty.key("y");
    await pty.until(QUESTION.name("vault"));
    pty.type("vault\r");
    // It can lock somebody out, so it would come back by itself.
    await pty.until("-- keep?");
    pty.key("k");
    expect(await pty.exited).toBe(0);
    expect(machine.run("cat /etc/sudoers.d/team")).toContain("/bin/ls");
  });

  test("--approve all writes other system files without a password, and says why where one is needed", async () => {
    await using free = rigOn([edit("/etc/issue.net", "hello\n"), { text: "written" }]);
    expect((await free.exec(["--ssh", "admin@vault", "--no-tmux", "--approve", "all", "go"])).code).toBe(0);
    expect(machine.run("cat /etc/issue.net")).toBe("hello\n");
    await using locked = rigOn([edit("/etc/issue.net", "other\n"), { text: "not written" }]);
    await locked.exec(["--ssh", "deploy@vault", "--no-tmux", "--approve", "all", "go"]);
    expect(locked.lastResult()).toMatch(/sudo.*password/);
    expect(machine.run("cat /etc/issue.net")).toBe("hello\n");
  });

  test("without sudo: true a system file is refused, and the model learns how to ask", async () => {
    await using rig = rigOn([call("write_file", { path: "/etc/issue.net", content: "x" }), { text: "no" }]);
    await rig.exec(["--ssh", "admin@vault", "--no-tmux", "--approve", "all", "go"]);
    expect(rig.lastResult()).toContain("sudo: true");
  });

  test("reading as root asks, and a failed edit does not show the file", async () => {
    machine.run("umask 077; echo top-secret-line >/etc/vault.conf");
    const failing = call("edit_file", {
      path: "/etc/vault.conf",
      old_text: "top-secret-lime",
      new_text: "x",
      sudo: true,
    });
    await using rig = rigOn([call("read_file", { path: "/etc/vault.conf", sudo: true }), failing, { text: "no" }]);
    expect((await rig.exec(["--ssh", "admin@vault", "--no-tmux", "go"])).code).toBe(3);
    expect(JSON.stringify(rig.results())).not.toContain("top-secret-line");
    await using allowed = rigOn([call("read_file", { path: "/etc/vault.conf", sudo: true }), { text: "read" }]);
    await allowed.exec(["--ssh", "admin@vault", "--no-tmux", "--approve", "all", "go"]);
    expect(allowed.lastResult()).toContain("top-secret-line");
  });

  test("/adopt: the shell that the operator opened in the pane, shown in the prompt and in the question", async () => {
    const touch = shell("touch /etc/made-by-root", { mutation: true, risk: "medium" });
    await using repl = new ReplBinary([shell("id -un"), touch, { text: "done as root" }]);
    const pty = await repl.start({
      // Approved for admin, not for root.
      args: ["--ssh", "admin@vault", "--approve", "all"],
      config: '[tmux]\nsocket = "buddy-adopt"\n[safety]\nread_only_namespace = "off"',
      env: { PATH: machine.env.PATH },
      cols: 100,
    });
    await pty.until(REPL.ready);
    const tmux = "runuser -u admin -- env -u TMUX_TMPDIR tmux -L buddy-adopt";
    await until(
      () => machine.run(`${tmux} capture-pane -p 2>/dev/null || :`).includes("[buddy 1: 0]"),
      "the pane is up",
    );
    machine.run(`${tmux} send-keys 'sudo -i' Enter`);
    await until(() => machine.run(`${tmux} capture-pane -p`).trimEnd().endsWith("root@vault:~#"), "root's prompt");
    pty.type("/adopt\r");
    await pty.until("(root@vault in the pane)>");
    pty.type("make it\r");
    await pty.until(QUESTION.asked);
    expect(pty.screen()).toContain("root@vault$ touch /etc/made-by-root");
    pty.key("y");
    await pty.until("done as root");
    expect(machine.run("stat -c %U /etc/made-by-root")).toBe("root\n");
    const results = repl.model.requests.at(-1)!.messages.filter(({ role }) => role === "tool");
    expect(results[0]!.content).toContain("root");
    machine.run(`${tmux} send-keys exit Enter`);
    await pty.until("commands run as admin@vault again");
  });
});
