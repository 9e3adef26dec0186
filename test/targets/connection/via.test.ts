/** Places behind any command with piped stdio: who and where they are, what passes words on and what joins them. */
import { expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openTransport } from "../../../src/targets/connection/open-transport.ts";
import { MachineChanged, PermanentRefusal } from "../../../src/targets/errors.ts";
import { openTarget } from "../../../src/targets/open.ts";
import { type Hop, labelOfPath } from "../../../src/targets/place.ts";
import type { Pane, Target, TargetOptions, Transport } from "../../../src/targets/target.ts";
import { endTmux } from "../../support/end-tmux.ts";
import { needs } from "../../support/needs.ts";
import { openTestTarget } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";
import { openPlace } from "../../support/transports.ts";
import { VIA_NEEDS, viaPlace } from "../../support/via.ts";
import { attachCommand, tmuxSocket } from "../../../src/targets/attach-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const dir = temporaryDirectory();

function options(path: readonly Hop[], more: Partial<TargetOptions> = {}): TargetOptions {
  return {
    place: { name: "x", names: ["x"], path },
    tmux: "never",
    agentName: "",
    tmuxSocket: `buddy-test-via-${process.pid}`,
    maxSessions: 1,
    maxPanes: 1,
    backgroundTimeoutMs: 60_000,
    ...more,
  };
}

function script(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function said(transport: Transport, text: string): Promise<string> {
  return (await transport.run(text)).stdout.toString().trim();
}

function endIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return "";
  }
}

const via = (...argv: string[]): Hop => ({ kind: "via", argv });

test("any command that starts a program is a place, and places nest", async () => {
  const own = Number(await Bun.$`nice`.text());
  const path = [via("env", "LEVEL=1"), via("nice", "-n", "3"), via("env", "INNER=a b")];
  await using transport = await openTransport(options(path, { cwd: "/" }));
  expect(transport).toMatchObject({ kind: "via", label: "env 'INNER=a b' on nice -n 3 on env LEVEL=1" });
  expect(labelOfPath(path)).toBe(transport.label);
  expect(await said(transport, 'echo "$LEVEL $INNER $(nice) $(pwd)"')).toBe(`1 a b ${own + 3} /`);
});

test("a command that joins its words for a shell, as ssh does, is entered too, however many of them there are", async () => {
  const joins = script("joins", 'exec sh -c "$*"');
  await using transport = await openTransport(options([via(joins, joins, "env", "DEEP=yes")]));
  expect(await said(transport, 'printf "%s\\n" "$DEEP" "two  words"')).toBe("yes\ntwo  words");
  const child = transport.spawn(["sh", "-c", 'cat; echo "$1"', "sh", "it's $HOME"]);
  child.stdin.write("in\n");
  child.stdin.end();
  expect(await new Response(child.stdout).text()).toBe("in\nit's $HOME\n");
  expect(await child.exited).toBe(0);
});

test.each([
  [["buddy-no-such-program", "x"], /buddy-no-such-program: not found/],
  [["/etc/passwd"], /: \/etc\/passwd: permission denied$/],
  [["/opt/buddy-no-such.sh"], /: \/opt\/buddy-no-such\.sh: not found$/],
  [["false"], /no answer/],
  [["sh", "-c", 'echo "Error from server (NotFound)" >&2; exit 1'], /Error from server \(NotFound\)/],
])("%j cannot be entered: the error has what it said and how to check", async (argv, why) => {
  // By itself, and behind another one, where a shell starts it.
  for (const path of [[via(...argv)], [via("env"), via(...argv)]]) {
    const error = await openTransport(options(path)).then(
      () => undefined,
      (thrown: { code: string; message: string; hint: string }) => thrown,
    );
    expect(error?.code).toBe("target");
    expect(error?.message).toMatch(new RegExp(why, "i"));
    expect(error?.hint).toContain(argv[0] as string);
  }
});

test("a directory that is not there is an error, wherever the path ends", async () => {
  await expect(openTransport(options([via("env")], { cwd: "/no/such/directory" }))).rejects.toThrow(
    "/no/such/directory",
  );
});

test("a client that ends is started again, and what ran is not run twice", async () => {
  const pids = join(dir, "pids");
  const client = script("client", `echo $$ >>${pids}; exec "$@"`);
  await using transport = await openTransport(options([via(client)]));
  await said(transport, "true");
  for (const pid of readFileSync(pids, "utf8").trim().split("\n")) endIfAlive(Number(pid));
  expect(await said(transport, "echo again")).toBe("again");
});

/** A uname whose host name is what the file says. */
const hostFrom = (file: string) =>
  `case $1 in -n) exec cat ${file} ;; -snr) echo "Linux $(cat ${file}) 6.1" ;; *) exec /bin/uname "$@" ;; esac`;

const linux = await needs("linux");
linux.test(
  "clients that stay silent are not waited for when the place can be entered once more",
  async () => {
    const mark = `BUDDY_SILENT_${process.pid}=1`;
    const stopped: number[] = [];
    try {
      await using target = await openTarget(options([via("env", mark)]));
      const begun = Promise.withResolvers<void>();
      const running = target.shell.run("echo begun; sleep 1000000", { onOutput: () => begun.resolve() });
      await begun.promise;
      for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
        if (!environmentOf(name).includes(mark)) continue;
        process.kill(Number(name), "SIGSTOP");
        stopped.push(Number(name));
      }
      expect((await running).outcome).toMatchObject({ kind: "lost" });
      expect((await target.shell.run("echo again")).output.head).toBe("again\n");
      expect(await said(target.transport, "echo too")).toBe("too");
    } finally {
      for (const pid of stopped) endIfAlive(pid);
    }
  },
  60_000,
);

test("a pod that was replaced is not worked in", async () => {
  const host = join(dir, "host");
  writeFileSync(host, "pod-1");
  // uname says what the file says; there is no machine-id, as in most pods.
  const bin = join(dir, "bin");
  await Bun.$`mkdir -p ${bin}`;
  script("bin/uname", hostFrom(host));
  const pids = join(dir, "pod-pids");
  const pod = script("pod", `echo $$ >>${pids}; PATH=${bin}:$PATH exec "$@"`);
  await using transport = await openTransport(options([via(pod)]));
  expect(transport.facts.host).toBe("pod-1");
  writeFileSync(host, "pod-2");
  for (const pid of readFileSync(pids, "utf8").trim().split("\n")) endIfAlive(Number(pid));
  await expect(transport.run("true")).rejects.toBeInstanceOf(MachineChanged);
});

test("a deployment of several pods: a client that reaches another one than the first runs nothing there", async () => {
  const [host, ran] = [join(dir, "first"), join(dir, "ran")];
  writeFileSync(host, "pod-1");
  script("bin/uname", hostFrom(host));
  await using transport = await openTransport(options([via("env", `PATH=${join(dir, "bin")}:${process.env["PATH"]}`)]));
  expect(await said(transport, "echo here")).toBe("here");
  writeFileSync(host, "pod-2");
  const child = transport.spawn(["touch", ran]);
  expect(await child.exited).toBe(72);
  expect(await Bun.file(ran).exists()).toBe(false);
});

test("the attach command leads through every step that has a form for a terminal, and is left out otherwise", () => {
  const open = { kind: "via", argv: ["k", "-i"], attach: ["k", "-it", "a b"] } as const;
  const ssh = { kind: "ssh", destination: "web1" } as const;
  const at = { kind: "via", surroundings: "0123" } as unknown as Transport;
  const tmux = `tmux -L buddy-test-via-${process.pid}-0123 attach -t s`;
  expect(attachCommand(options([open]), "s", at)).toBe(`k -it 'a b' ${tmux}`);
  expect(attachCommand(options([ssh, open]), "s", at)).toBe(`ssh -t web1 'k -it '\\''a b'\\'' ${tmux}'`);
  expect(attachCommand(options([ssh, via("k")]), "s", at)).toBeUndefined();
});

async function closeWithServer(target: Target, options: TargetOptions): Promise<void> {
  await target[Symbol.asyncDispose]();
  endTmux(tmuxSocket(options, target.transport));
}

const inNamespaces = await needs(...VIA_NEEDS.nsenter, "tmux");

inNamespaces.test("a tmux server of the machine outside is not taken for one inside", async () => {
  await using outside = await openTestTarget("local");
  await using inner = await viaPlace("nsenter");
  const same = { tmuxSocket: outside.options.tmuxSocket, tmux: "required" } as const;
  const wanted = options([inner.hop], same);
  const target = await openTarget(wanted);
  expect(target.transport.kind).toBe("via");
  expect(target.identity.host).toBe(inner.host as string);
  const { output } = await target.shell.run("uname -n");
  expect(output.head.trim()).toBe(inner.host as string);
  expect(target.identity.attach).toContain(`nsenter -t `);
  await closeWithServer(target, wanted);
});

const inPanes = await needs("tmux");

inPanes.test(
  "two commands into the same namespaces do not share a tmux server, which has one environment",
  async () => {
    const opened = async (value: string) => {
      const hop: Hop = { kind: "via", argv: ["env", `WHICH=${value}`], attach: ["env"] };
      const wanted = options([hop], { tmux: "required", agentName: "same" });
      return { wanted, target: await openTarget(wanted) };
    };
    for (const [value, { target, wanted }] of [
      ["one", await opened("one")],
      ["two", await opened("two")],
    ] as const) {
      const { output } = await target.shell.run('echo "$WHICH"');
      await closeWithServer(target, wanted);
      expect(output.head).toBe(`${value}\n`);
    }
  },
);

const inPods = await needs(...VIA_NEEDS.kubectl, "sshd");

inPanes.test.each(["removed", "not executable any more"])(
  "a program that is %s was tried again for 54 s: the reason comes at once",
  async (how) => {
    const pids = join(dir, "vanishing-pids");
    const make = () => script("vanishing", `echo $$ >>${pids}; exec "$@"`);
    const program = make();
    const notices: string[] = [];
    const opened = options([via(program)], {
      tmux: "required",
      tmuxSocket: `buddy-test-gone-${process.pid}`,
      onNotice: ({ text }) => notices.push(text),
    });
    const target = await openTarget(opened);
    const { shell } = target;
    const running = shell.run("echo he''re; sleep 300", { waitMs: 120_000 });
    await until(async () => (await (shell as Pane).capture()).text.includes("here"), "it runs");
    if (how === "removed") rmSync(program);
    else chmodSync(program, 0o644);
    const began = performance.now();
    for (const pid of readFileSync(pids, "utf8").trim().split("\n")) endIfAlive(Number(pid));
    expect((await running).outcome).toMatchObject({
      kind: "lost",
      why: expect.stringContaining("no longer be started"),
    });
    await expect(shell.run("echo next")).rejects.toBeInstanceOf(PermanentRefusal);
    expect(notices.at(-1)).toContain("no longer be started");
    // Far from the 54 s, on a busy machine, too.
    expect(performance.now() - began).toBeLessThan(40_000);
    await closeWithServer(target, opened);
  },
);

inPods.test("a pod behind a host: the identity of the innermost, the whole path in the label", async () => {
  await using pod = await openTestTarget("ssh kubectl", { tmux: "never" }, "busybox");
  const { identity } = pod.target;
  expect(identity.label).toMatch(/^\S+kubectl exec -i -n prod \S+ -- on ssh \S+@lab$/);
  expect(identity).toMatchObject({ user: "root", shellName: "sh" });
  expect(identity.host).not.toBe((await Bun.$`uname -n`.text()).trim());
});

inPods.test("ssh, a container on it, and two commands further in", async () => {
  await using outer = await openPlace("container on ssh");
  const path = [...outer.options.place.path, via("env", "DEEP=1"), via("env", "MORE=2")];
  await using transport = await openTransport(options(path));
  expect(transport.label).toBe(`env MORE=2 on env DEEP=1 on ${outer.transport.label}`);
  expect(transport.facts.host).toBe(outer.transport.facts.host);
  expect(await said(transport, 'echo "$DEEP$MORE"')).toBe("12");
});
