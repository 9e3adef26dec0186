/**
 * Shells that the operator starts in the shared pane, adopted for real: su, sudo -i, ssh to another machine, other
 * shells.
 */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { quote } from "../../src/lib/quote.ts";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTarget } from "../../src/targets/open.ts";
import { placeOf } from "../../src/targets/place.ts";
import type { Pane, Target, TargetNotice } from "../../src/targets/target.ts";
import { runShellTool } from "../../src/tools/run-shell.ts";
import type { ToolContext } from "../../src/tools/tool.ts";
import { available, needs } from "../support/needs.ts";
import { type Container, containerTarget } from "../support/container.ts";
import { buddyError } from "../support/errors.ts";
import { type SudoMachine, sudoMachine, useMachine } from "../support/sudo-machine.ts";
import { type OpenedTarget, openTestTarget } from "../support/tmux.ts";
import { until } from "../support/until.ts";
import { targetOptions } from "../support/target-options.ts";

const { describe, test } = await needs("linux", "root", "sshd", "ip", "sudo", "tmux");
const shells = await available("bash", "zsh", "fish", "dash", "busybox");

setDefaultTimeout(60_000);

/** The prompt stands below the line that was typed: the one above it is that of the shell outside. */
const isBelow = (screen: string, line: string, prompt: RegExp): boolean => {
  const [, ...below] = screen.slice(screen.lastIndexOf(line)).trimEnd().split("\n");
  return screen.includes(line) && prompt.test(below.at(-1) ?? "");
};

describe("a shell inside the pane", () => {
  let machine: SudoMachine;
  let path: Disposable;
  let target: Target;
  let pane: Pane;
  const notices: TargetNotice[] = [];

  beforeAll(async () => {
    machine = await sudoMachine("outer");
    path = useMachine(machine);
    target = await openTarget(
      targetOptions({
        place: placeOf({ ssh: "admin@outer" }),
        tmux: "required",
        tmuxSocket: "buddy-adopt",
        maxPanes: 2,
        secondLock: "off",
        onNotice: (notice) => notices.push(notice),
      }),
    );
    pane = target.shell as Pane;
  });
  afterAll(async () => {
    await target[Symbol.asyncDispose]();
    path[Symbol.dispose]();
    await machine[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    if (target.isAdopted === true) await leave();
  });

  /** As the operator does it. */
  const enter = async (line: string, prompt: RegExp): Promise<void> => {
    await pane.keys({ literalText: line, enter: true });
    const screen = async () => (await pane.capture({ joinWrappedLines: true })).text;
    await until(async () => isBelow(await screen(), line, prompt), `${line} shows its prompt`);
  };
  const leave = async (): Promise<void> => {
    await pane.keys({ literalText: "exit", enter: true });
    await until(() => target.isAdopted !== true, "the shell is left");
  };

  test("sudo -i: root's commands, exact ends, root's identity; then back, and said", async () => {
    await enter("sudo -i", /root@outer:~# ?$/);
    const identity = await target.adopt!();
    expect(identity).toMatchObject({ user: "root", host: "outer", shellName: "bash" });
    expect(target.identity.machine).not.toBe("");
    expect(target.transport.facts).toMatchObject({ user: "root", uid: 0, home: "/root" });
    const ran = await target.shell.run("id -un; echo 'it''s' \"$HOME\"; false");
    expect(ran.outcome).toEqual({ kind: "exited", code: 1 });
    expect(ran.output.head).toBe("root\nits /root\n");
    await target.shell.run("cd /etc");
    expect(target.shell.cwd).toBe("/etc");
    expect((await target.shell.run("for i in 1 2; do\n\techo $i!\ndone")).output.head).toBe("1!\n2!\n");
    await expect(target.files.read("/etc/hosts")).rejects.toThrow(buddyError("target", "admin@outer", "root@outer"));
    await expect(target.background.start("true")).rejects.toThrow("root@outer");
    const decided = target.now!();
    notices.length = 0;
    await leave();
    expect(notices.at(-1)?.text).toContain("has ended: commands run as admin@outer again");
    expect(target.identity.user).toBe("admin");
    expect((await target.shell.run("id -un")).output.head).toBe("admin\n");
    // What was decided for root does not run as admin.
    expect((await decided.shell.run("id -un")).outcome.kind).toBe("lost");
  });

  test.each(shells)("%s", async (name) => {
    const program = name === "busybox" ? "busybox ash" : name;
    const home = "HOME=/mnt/sh XDG_RUNTIME_DIR=/mnt/sh";
    machine.run("mkdir -p /mnt/sh; chmod 777 /mnt/sh; touch /mnt/sh/.zshrc");
    await enter(`sudo -u deploy env ${home} ${program}`, /^(?!.*\[buddy).*[%#$>]$/);
    expect(await target.adopt!()).toMatchObject({ user: "deploy" });
    const ran = await target.shell.run("echo one; ls /nowhere-at-all; true && id -un");
    expect(ran.outcome).toEqual({ kind: "exited", code: 0 });
    expect(ran.output.head.split("\n").filter((line) => !line.includes("nowhere"))).toEqual(["one", "deploy", ""]);
    expect((await target.shell.run("sh -c 'exit 7'")).outcome).toEqual({ kind: "exited", code: 7 });
    const unasked = await target.shell.run("echo unasked", { unasked: { inNamespace: false } });
    expect(unasked.output.head).toBe("unasked\n");
    // Exact, or not known; never another directory.
    const odd = "/mnt/sh/b\u001b]x\u0007\n$(echo hi)%41\udce9";
    await target.shell.run(`mkdir -p ${quote(odd)}`);
    expect((await target.shell.run(`cd ${quote(odd)}`)).outcome).toEqual({ kind: "exited", code: 0 });
    expect((await target.shell.where()).cwd).toBe(/bash|zsh|fish/.test(name) ? odd : "");
    await target.shell.run("cd /usr");
    expect((await target.shell.where()).cwd).toBe("/usr");
  });

  test("a command in the background runs in the directory of the adopted shell", async () => {
    await enter("bash --norc", /^(?!.*\[buddy).*[$]$/);
    await target.adopt!();
    await target.shell.run("cd /usr");
    const tool = runShellTool({ timeoutMs: 10_000, slowTimeoutMs: 10_000 });
    const declared = { risk: "low", mutation: false, privesc: false, why: "the test wants it" } as const;
    const context: ToolContext = {
      signal: new AbortController().signal,
      target: () => Promise.resolve(target),
      emit: () => undefined,
      budget: 1000,
      mask: (text) => text,
    };
    const { outputs } = await tool.run({ command: "pwd", mode: "background", ...declared }, context);
    let said = "";
    await until(async () => (said += (await target.background.output(outputs?.[0] ?? "")).stdout) !== "", "it says so");
    expect(said).toBe("/usr\n");
  });

  test("nothing is typed at the pane's own prompt, or into a program that is not a shell", async () => {
    await expect(target.adopt!()).rejects.toThrow(buddyError("usage"));
    await target.shell.run("sleep 60", { noWait: true });
    await until(async () => (await pane.where()).program === "sleep", "sleep runs");
    await expect(target.adopt!()).rejects.toThrow(buddyError("usage", "sleep"));
    await pane.keys({ keys: ["C-c"] });
    expect((await target.shell.wait()).outcome.kind).toBe("exited");
  });
});

const elsewhere = await needs("linux", "root", "sshd", "ip", "sudo", "tmux", "podman");

elsewhere.describe("another machine inside the pane", () => {
  const id = "0123456789abcdef0123456789abcdef";
  let bin: string;
  let machine: SudoMachine;
  let container: Container;
  let path: Disposable;
  let opened: OpenedTarget;
  let pane: string;

  beforeAll(async () => {
    bin = mkdtempSync(join(tmpdir(), "buddy-adopt-"));
    machine = await sudoMachine("far");
    machine.run(`echo ${id} >/etc/machine-id`);
    // As much as possible like this machine: only its files are others.
    const alike = ["--uts=host", "-v", "/etc/machine-id:/etc/machine-id:ro"];
    container = await containerTarget({ image: "tmux", run: alike });
    writeFileSync(join(bin, "kubectl"), `#!/bin/sh\npodman exec -it ${container.name} sh\n`);
    chmodSync(join(bin, "kubectl"), 0o755);
    const podman = container.env["PATH"]?.split(":")[0];
    path = useMachine({ ...machine, env: { ...machine.env, PATH: `${bin}:${podman}:${machine.env.PATH}` } });
    opened = await openTestTarget("local");
    pane = (opened.target.shell as Pane).id;
  });
  afterAll(async () => {
    await opened[Symbol.asyncDispose]();
    path[Symbol.dispose]();
    await Promise.all([machine[Symbol.asyncDispose](), container[Symbol.asyncDispose]()]);
    rmSync(bin, { recursive: true, force: true });
  });

  /** As the operator does it, beside buddy. */
  const tmux = (...args: string[]) => Bun.$`tmux -L ${opened.options.tmuxSocket} ${args}`.text();
  const type = (line: string) => tmux("send-keys", "-t", pane, line, "Enter");
  const enter = async (line: string, prompt: RegExp): Promise<void> => {
    await type(line);
    const screen = () => tmux("capture-pane", "-p", "-J", "-t", pane);
    await until(async () => isBelow(await screen(), line, prompt), `${line} shows its prompt`);
  };
  const refuses = async (): Promise<void> => {
    const { files, background, panes, identity } = opened.target;
    await expect(files.read("/etc/hosts")).rejects.toThrow(buddyError("target", `${identity.user}@${identity.host}`));
    await expect(files.write("/tmp/x", "x")).rejects.toThrow(buddyError("target", `${identity.user}@${identity.host}`));
    await expect(background.start("true")).rejects.toThrow(buddyError("target", `${identity.user}@${identity.host}`));
    await expect(panes!.createPane("other")).rejects.toThrow(buddyError("target", `${identity.user}@${identity.host}`));
    await expect(panes!.pane({ pane: "other" })).rejects.toThrow(
      buddyError("target", `${identity.user}@${identity.host}`),
    );
  };
  const back = () => until(() => opened.target.isAdopted === false, "buddy is back");

  elsewhere.test("ssh, then sudo -i in it; out again one by one; a connection that breaks", async () => {
    const { target } = opened;
    const here = target.identity;
    await enter("ssh admin@far", /admin@far:~\$ ?$/);
    expect(await target.adopt!()).toMatchObject({ user: "admin", host: "far", machine: id });
    expect(target.transport.base?.facts.host).toBe(here.host);
    expect((await target.shell.run("uname -n; false")).outcome).toEqual({ kind: "exited", code: 1 });
    expect((await target.shell.run("cat /etc/machine-id", { unasked: { inNamespace: false } })).output.head).toBe(
      `${id}\n`,
    );
    await refuses();
    await enter("sudo -i", /root@far:~# ?$/);
    expect((await target.shell.run("id -un")).outcome).toMatchObject({ kind: "running", why: "busy" });
    expect(await target.adopt!()).toMatchObject({ user: "root", host: "far" });
    // What was remembered for admin does not count for root.
    expect(target.identity.machine).not.toBe(id);
    expect((await target.shell.run("id -un")).output.head).toBe("root\n");
    await type("exit");
    await until(() => target.identity.user === "admin", "admin's shell is back");
    expect((await target.shell.run("id -un")).output.head).toBe("admin\n");
    machine.run("pkill -KILL -u admin; :");
    await back();
    expect(target.identity).toEqual(here);
    expect((await target.shell.run("uname -n")).output.head).toBe(`${here.host}\n`);
  });

  elsewhere.test.each(["podman exec -it NAME bash", "kubectl exec -it pod -- sh"])("%s", async (line) => {
    const { target } = opened;
    const { host } = target.identity;
    const { machine: local } = target.transport.facts;
    await enter(line.replace("NAME", container.name), /[#$] ?$/);
    const identity = await target.adopt!();
    // The same host name, machine-id and user as outside: still another place.
    expect(identity).toMatchObject({ user: "root", host });
    expect(identity.machine).not.toBe(local);
    expect((await target.shell.run("test -e /usr/bin/podman || echo inside")).output.head).toBe("inside\n");
    await refuses();
    await type("exit");
    await back();
  });
});
