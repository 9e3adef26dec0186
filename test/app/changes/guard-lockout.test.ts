/**
 * Changes that can lock the operator out, on a machine with a network of its own: they come back unless they are kept.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import type { Turn } from "../../support/scripted-model/playbook.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/policy/approvals.ts";
import { drain } from "../../support/agent.ts";
import { readRecord } from "../../../src/audit/record-files.ts";
import { RevertTimer, type ScriptOnTarget } from "../../../src/changes/revert-timer.ts";
import { call, DECLARED, shell } from "../../support/calls.ts";
import { Here } from "../../support/in-process.ts";
import { type Machine, startMachine } from "../../support/lab.ts";
import { needs } from "../../support/needs.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(90_000);

const { afterAll, beforeAll, beforeEach, describe, test } = await needs("linux", "root", "sshd", "ip", "nft", "tmux");

let machine: Machine;
beforeAll(async () => {
  // Of its own: what is put back there must not touch the files of this machine.
  const prepare =
    "mount -t tmpfs tmpfs /mnt; cp -a /etc /mnt/etc; mount --bind /mnt/etc /etc; mount -t tmpfs tmpfs /run; mkdir /run/sshd; mount -t tmpfs tmpfs /root; mkdir /root/.ssh; mount -t tmpfs tmpfs /usr/local/bin";
  machine = await startMachine({ name: "guarded", prepare });
});
afterAll(() => machine?.[Symbol.asyncDispose]());
beforeEach(() => void machine.run("nft flush ruleset; nft add table inet before; rm -rf /run/buddy-revert-*"));

const HIGH = { ...DECLARED, risk: "high", wait: 60 };
const DROP =
  "nft 'add table inet cut; add chain inet cut in { type filter hook input priority 0; policy drop; }'; echo done";

interface Ran {
  readonly asked: readonly ApprovalRequest[];
  readonly results: readonly string[];
  /** How each call ended, in its event and in the audit log. */
  readonly outcomes: readonly string[];
}

/** `keep`: what the operator answers when asked whether the change stays. */
async function runOn(
  turns: readonly Turn[],
  keep?: ApprovalAnswer | (() => ApprovalAnswer),
  seconds = 60,
  pane = false,
): Promise<Ran> {
  const answer = (request: ApprovalRequest): ApprovalAnswer =>
    request.keep === undefined
      ? { kind: "yes", ...(request.typed === undefined ? {} : { typed: request.typed }) }
      : ((typeof keep === "function" ? keep() : keep) ?? { kind: "no-terminal" });
  await using here = new Here([...turns, { text: "done" }], {
    answer,
    config: `[safety]\nlockout_revert = "${seconds}s"`,
  });
  process.env.PATH = machine.env.PATH;
  const run = await here.compose({ ssh: "guarded", ...(pane ? {} : { "no-tmux": true }) });
  const events = await drain(run.agent.runTurn("do it", new AbortController().signal));
  const ended = events.flatMap((event) => (event.type === "tool_finished" ? [event.outcome] : []));
  await run.recorder.close();
  const recorded = [...readRecord(join(here.home, ".local/state/buddy"))].flatMap((entry) =>
    entry.kind === "effect" ? [entry.outcome] : [],
  );
  return { asked: here.asked, results: here.results().map(String), outcomes: [...ended, ...recorded] };
}

const ruleset = () => machine.run("nft list ruleset");
const left = () => machine.run("ls /run | grep buddy-revert; :");

const REVERTED = "was reverted";

test("rules that cut the connection come back by themselves", async () => {
  const before = ruleset();
  const { asked, results } = await runOn([shell(DROP, HIGH), shell("echo back", HIGH)], undefined, 2);
  expect(ruleset()).toBe(before);
  expect(results[0]).toContain(REVERTED);
  expect(results[1]).toContain("back");
  expect(asked.some(({ keep }) => keep !== undefined)).toBe(false);
  expect(asked[0]?.policy).toContain("unless you keep it");
  await until(() => left() === "", "nothing is left of it");
});

test("rules that only keep new connections out are reverted at once", async () => {
  const before = ruleset();
  const rule =
    "nft 'add table inet cut; add chain inet cut in { type filter hook input priority 0; }; add rule inet cut in tcp flags syn reject with tcp reset'";
  const { asked, results } = await runOn([shell(rule, HIGH)]);
  expect(ruleset()).toBe(before);
  expect(results[0]).toContain("a new connection failed");
  expect(asked.some(({ keep }) => keep !== undefined)).toBe(false);
});

test("a change that the operator keeps stays, and nothing is left of the revert", async () => {
  const { asked, results, outcomes } = await runOn([shell("nft add table inet kept", HIGH)], { kind: "yes" });
  expect(asked.at(-1)?.keep?.until).toBeGreaterThan(Date.now());
  expect(results[0]).toContain("kept");
  expect(outcomes).toEqual(["exited", "exited"]);
  expect(ruleset()).toContain("table inet kept");
  await until(() => left() === "", "nothing is left of it");
});

test("a change that the operator does not keep is reverted at once", async () => {
  const before = ruleset();
  const { results } = await runOn([shell("nft flush ruleset", HIGH)], { kind: "no" });
  expect(ruleset()).toBe(before);
  expect(results[0]).toContain(REVERTED);
});

test("no answer in time: it is reverted", async () => {
  const before = ruleset();
  await using here = new Here([shell("nft add table inet late", HIGH), { text: "done" }], {
    config: '[safety]\nlockout_revert = "3s"',
  });
  process.env.PATH = machine.env.PATH;
  const run = await here.compose({ ssh: "guarded", "no-tmux": true }, { asker: hanging() });
  await drain(run.agent.runTurn("do it", new AbortController().signal));
  expect(ruleset()).toBe(before);
});

describe("each comes back when it is not kept", () => {
  const CHANGES: readonly (readonly [what: string, command: string | Turn, look: string])[] = [
    ["a new sudoers file", "echo 'x ALL=(ALL) ALL' > /etc/sudoers.d/buddy-test", "ls /etc/sudoers.d"],
    [
      "sshd's configuration",
      "sed -i 's/^#*Port.*/Port 2222/; $ a MaxAuthTries 1' /etc/ssh/sshd_config",
      "cat /etc/ssh/sshd_config",
    ],
    ["an account", "usermod -s /usr/sbin/nologin nobody; passwd -l daemon", "cat /etc/passwd /etc/shadow"],
    [
      "an address and a route",
      "ip addr add 10.99.0.1/24 dev lo; ip route add 10.98.0.0/24 dev lo",
      "ip -o addr show lo | cut -d' ' -f1-7; ip route",
    ],
    ["an interface that goes down", "ip link set lo down", "ip -o link show lo | cut -d'>' -f1; ip -o -4 addr show lo"],
    ["the user's own keys", "echo key >> ~/.ssh/authorized_keys", "cat ~/.ssh/authorized_keys"],
    ["rules of iptables", "iptables -A INPUT -p tcp --dport 9 -j DROP", "iptables -S"],
    [
      "a file of the firewall that write_file wrote",
      call("write_file", { path: "/etc/nftables.conf", content: "table inet new {}\n", sudo: true }),
      "cat /etc/nftables.conf",
    ],
    [
      "a new file of the network",
      call("write_file", { path: "/etc/netplan/99-new.yaml", content: "network: {}\n", sudo: true }),
      "ls /etc/netplan",
    ],
    [
      "sshd's configuration, edited as a file",
      call("edit_file", {
        path: "/etc/ssh/sshd_config",
        old_text: "PermitRootLogin yes",
        new_text: "PermitRootLogin no",
        sudo: true,
      }),
      "cat /etc/ssh/sshd_config",
    ],
  ];
  let before: readonly string[];
  let after: readonly string[];
  let results: readonly string[];
  const looks = () => CHANGES.map(([, , look]) => machine.run(look));

  // One run for all of them.
  beforeAll(async () => {
    machine.run(`mkdir -p /etc/sudoers.d /etc/ssh /etc/netplan; echo mine >~/.ssh/authorized_keys
echo 'table inet old {}' >/etc/nftables.conf; echo 'PermitRootLogin yes' >>/etc/ssh/sshd_config`);
    before = looks();
    const turns = CHANGES.map(([, command]) => (typeof command === "string" ? shell(command, HIGH) : command));
    ({ results } = await runOn(turns, { kind: "no" }));
    after = looks();
  });

  test.each(CHANGES.map(([what], index) => [what, index] as const))("%s", (_what, index) => {
    expect(results[index]).toContain(REVERTED);
    expect(after[index]).toBe(before[index]!);
  });
});

test("a file that is kept stays, and one that cannot lock anybody out is not asked about twice", async () => {
  const { asked, results } = await runOn(
    [
      call("write_file", { path: "/etc/nftables.conf", content: "table inet kept {}\n", sudo: true }),
      call("write_file", { path: "/etc/motd", content: "hello\n", sudo: true }),
    ],
    { kind: "yes" },
  );
  expect(asked.map(({ keep }) => keep !== undefined)).toEqual([false, true, false]);
  expect(asked[0]?.policy).toContain("unless you keep it");
  expect(asked[0]?.answer).toBe("in-person");
  expect(results[0]).toContain("kept");
  expect(machine.run("cat /etc/nftables.conf")).toContain("inet kept");
});

test("a file that a check refuses leaves no revert behind, which would revert what is kept later", async () => {
  const write = (content: string) => call("write_file", { path: "/etc/nftables.conf", content, sudo: true });
  const { asked, results } = await runOn([write("table inet {{\n"), write("table inet right {}\n")], { kind: "yes" });
  expect(results[0]).toContain("/etc/nftables.conf");
  expect(asked.filter(({ keep }) => keep !== undefined)).toHaveLength(1);
  await until(() => left() === "", "nothing is armed any more");
  expect(machine.run("cat /etc/nftables.conf")).toContain("inet right");
});

/** Programs that are not on this machine, which write down how they are called. */
const STOOD_IN = "systemctl netplan nmcli networkctl";
const STAND_INS = `mkdir -p /run/systemd/system
for p in ${STOOD_IN}; do
  { echo '#!/bin/sh'
    echo 'echo "\${0##*/} $*" >>/run/called'
    echo 'case $1 in is-active) echo active ;; is-enabled) echo enabled ;; esac'; } >/usr/local/bin/$p
  chmod 755 /usr/local/bin/$p
done`;

test("units, netplan, networkd and NetworkManager are called in reverse", async () => {
  machine.run(STAND_INS);
  const commands: readonly (readonly [command: string, reverse: readonly string[]])[] = [
    ["systemctl mask --now NetworkManager", ["systemctl enable NetworkManager", "systemctl start NetworkManager"]],
    ["systemctl disable --now ssh.service", ["systemctl enable ssh.service", "systemctl start ssh.service"]],
    ["netplan apply", ["netplan apply"]],
    ["nmcli connection down uplink", ["nmcli connection up uplink"]],
    ["nmcli device disconnect eth9", ["nmcli device connect eth9"]],
    ["networkctl down eth9", ["networkctl reload"]],
  ];
  const turns = commands.map(([command]) => shell(`${command}; echo done >>/run/called`, HIGH));
  const { results } = await runOn(turns, { kind: "no" });
  const called = machine
    .run(`cat /run/called; rm -rf /run/called /run/systemd; cd /usr/local/bin && rm -f ${STOOD_IN}`)
    .split("done\n")
    .slice(1);
  for (const [at, [command, reverse]] of commands.entries()) {
    expect([command, results[at]]).toEqual([command, expect.stringContaining(REVERTED)]);
    for (const line of reverse) expect(called[at]?.split("\n")).toContain(line);
  }
});

test("where systemd runs the machine, the revert is a unit of its own", async () => {
  const prepare = `mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/system; mount -t tmpfs tmpfs /usr/local/sbin
printf '%s\n' '#!/bin/sh' 'echo "$*" >/run/called' 'while [ $1 != /bin/sh ]; do shift; done' 'setsid "$@" &' >/usr/local/sbin/systemd-run
chmod 755 /usr/local/sbin/systemd-run; PATH=/usr/local/sbin:$PATH; s=$1; shift; sh -c "$s" sh "$@" >/run/out && cat /run/called`;
  let called = "";
  const root: ScriptOnTarget = async (script, { args }) => {
    const argv = ["unshare", "-mpf", "--mount-proc", "sh", "-c", prepare, "sh", script, ...args];
    const { exitCode, stdout, stderr } = Bun.spawnSync(argv);
    called = stdout.toString().trim();
    return { code: exitCode, stdout, stderr: stderr.toString() };
  };
  await RevertTimer.arm({ run: root, root }, "unit", { save: "", back: "true", seconds: 30, asRoot: true });
  expect(called).toBe(
    "--quiet --collect --unit=buddy-revert-unit /bin/sh /run/buddy-revert-unit/wait /run/buddy-revert-unit 30",
  );
});

test("what buddy cannot revert needs a reverse from the model, which the question shows", async () => {
  const command = "tc qdisc add dev lo root pfifo";
  const { asked, results } = await runOn(
    [shell(command, HIGH), shell(command, { ...HIGH, revert: "tc qdisc del dev lo root" })],
    { kind: "no" },
  );
  expect(results[0]).toContain('"revert"');
  expect(asked[0]).toMatchObject({ action: command, reverse: "tc qdisc del dev lo root" });
  expect(machine.run("tc qdisc show dev lo")).not.toContain("pfifo ");
});

describe("the revert outlives what it guards", () => {
  const late = "nft add table inet late";
  const slow = `sleep 4; ${late}; echo done`;
  const ROWS: readonly (readonly [
    what: string,
    args: Readonly<Record<string, unknown>>,
    keep: ApprovalAnswer["kind"],
  ])[] = [
    ["a command that takes longer than its time", { command: slow }, "no"],
    ["and is kept", { command: slow }, "yes"],
    ["a wait that is shorter than the command", { command: slow, wait: "1s" }, "no"],
  ];
  test.each(ROWS.flatMap(([what, args, keep]) => [false, true].map((pane) => [what, pane, args, keep] as const)))(
    "%s (in a pane: %p)",
    async (_what, pane, args, keep) => {
      const before = ruleset();
      let when = "";
      const { asked, results } = await runOn(
        [shell("", { ...HIGH, ...args })],
        () => ((when = ruleset()), { kind: keep } as ApprovalAnswer),
        2,
        pane,
      );
      expect(asked.filter((one) => one.keep !== undefined)).toHaveLength(1);
      expect(when).toContain("inet late");
      expect(results[0]).toContain(keep === "yes" ? "kept" : REVERTED);
      if (keep === "yes") expect(ruleset()).toContain("inet late");
      else expect(ruleset()).toBe(before);
    },
  );

  test.each([
    ["in the background", { command: slow, mode: "background" }],
    ["not waited for", { command: slow, wait: false }],
    ["behind &", { command: `(${slow}) & echo started` }],
    ["in a session of its own", { command: `setsid sh -c '${slow}'` }],
  ] as const)("what would outlive the call is refused: %s", async (_what, args) => {
    const { asked, results } = await runOn([shell("", { ...HIGH, ...args })], { kind: "yes" }, 2, true);
    expect(asked).toEqual([]);
    expect(results[0]).toContain("foreground");
    expect(left()).toBe("");
  });

  test("a command that waits for input is stopped, and what it has changed is reverted", async () => {
    const before = ruleset();
    const { asked, results } = await runOn([shell(`${late}; read answer; ${late}er`, HIGH)], { kind: "yes" }, 2, true);
    expect(asked.filter((one) => one.keep !== undefined)).toEqual([]);
    expect(results[0]).toContain("stopped");
    expect(results[0]).toContain(REVERTED);
    expect(ruleset()).toBe(before);
  });

  test("what a command changes after its time was up, while the connection was cut, is reverted as well", async () => {
    const before = ruleset();
    const { results, outcomes } = await runOn([shell(`${DROP}; sleep 5; ${late}`, HIGH)], { kind: "yes" }, 2, true);
    expect(results[0]).toContain(REVERTED);
    expect(outcomes).toEqual(["reverted", "reverted"]);
    expect(ruleset()).toBe(before);
  });

  test.each([
    ["while it runs", `${late}; sleep 60`],
    ["at the question", late],
  ])("a stop %s reverts at once, and the audit log says so", async (when, command) => {
    const before = ruleset();
    const stop = new AbortController();
    const stopped = (): ApprovalAnswer => (stop.abort(), { kind: "cancelled" });
    await using here = new Here([shell(command, HIGH), { text: "done" }], {
      answer: ({ keep }) => (keep === undefined ? { kind: "yes" } : stopped()),
    });
    process.env.PATH = machine.env.PATH;
    const run = await here.compose({ ssh: "guarded", "no-tmux": true });
    const turn = drain(run.agent.runTurn("do it", stop.signal));
    if (when === "while it runs") {
      await until(() => ruleset().includes("inet late"), "the change");
      stop.abort();
    }
    await turn;
    expect(ruleset()).toBe(before);
    await run.recorder.close();
    expect([...readRecord(join(here.home, ".local/state/buddy"))].at(-1)).toMatchObject({ outcome: "reverted" });
  });

  test("it is armed after the last question", async () => {
    machine.run("echo mine >~/.ssh/authorized_keys");
    const armed: string[] = [];
    await using here = new Here([shell("echo key >> ~/.ssh/authorized_keys", HIGH), { text: "done" }], {
      answer: ({ keep }) => {
        armed.push(left().trim() === "" ? "no" : "yes");
        return { kind: keep === undefined ? "yes" : "no" };
      },
    });
    // Nothing can be kept for an undo, which is a question.
    here.write("home/.local/state/buddy/changes", "");
    process.env.PATH = machine.env.PATH;
    const run = await here.compose({ ssh: "guarded", "no-tmux": true });
    await drain(run.agent.runTurn("do it", new AbortController().signal));
    expect(armed).toEqual(["no", "no", "yes"]);
    expect(machine.run("cat ~/.ssh/authorized_keys")).toBe("mine\n");
  });

  test("a revert that failed is not called reverted, in the result, in events and in the audit log", async () => {
    const command = shell("tc qdisc add dev lo root pfifo", { ...HIGH, revert: "false" });
    const { results, outcomes } = await runOn([command], { kind: "no" });
    machine.run("tc qdisc del dev lo root");
    expect(results[0]).toContain("failed");
    expect(results[0]).not.toContain(REVERTED);
    expect(outcomes).toEqual(["lost", "lost"]);
  });
});

test("kill -9 of buddy after the revert is armed: it fires all the same", async () => {
  const before = ruleset();
  const source = (path: string) => JSON.stringify(join(import.meta.dir, "../../../src", path));
  const script = `
    import { RevertTimer } from ${source("changes/revert-timer.ts")};
    import { revertRecipe } from ${source("changes/revert-recipes.ts")};
    import { SshTransport } from ${source("targets/connection/ssh.ts")};
    const transport = await SshTransport.open({ destination: "guarded", interactive: false });
    const { recipe } = revertRecipe([{ kind: "firewall", program: "nft", words: ["nft"] }], "/root");
    const run = (text, options) => transport.run(text, options);
    await RevertTimer.arm({ run, root: run }, "killed", { ...recipe, seconds: 2, asRoot: true });
    await transport.run("nft add table inet orphan");
    process.kill(process.pid, "SIGKILL");`;
  const child = Bun.spawn([process.execPath, "-e", script], {
    env: { ...process.env, PATH: machine.env.PATH },
    stderr: "inherit",
  });
  await child.exited;
  expect(ruleset()).toContain("orphan");
  await until(() => ruleset() === before, "the rules are back");
  machine.run("touch /run/buddy-revert-killed/answer/done");
  await until(() => left() === "", "nothing is left of it");
});

/** Answers the first question, and is silent on the next until it is taken back. */
function hanging() {
  return {
    ask: (request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> => {
      if (request.keep === undefined) return Promise.resolve({ kind: "yes" });
      const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
      signal.addEventListener("abort", () => resolve({ kind: "cancelled" }), { once: true });
      return promise;
    },
  };
}
