/** Undo and revert for root, for a user who becomes root with sudo, in a container, and on several machines. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Run } from "../../../src/app/run.ts";
import { undo } from "../../../src/app/changes/undo.ts";
import type { Turn } from "../../support/scripted-model/playbook.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/policy/approvals.ts";
import { drain, ofType } from "../../support/agent.ts";
import { call, DECLARED, shell } from "../../support/calls.ts";
import { containerTarget } from "../../support/container.ts";
import { type Flags, Here } from "../../support/in-process.ts";
import { machines } from "../../support/machines.ts";
import { needs } from "../../support/needs.ts";
import { type SudoMachine, sudoMachine } from "../../support/sudo-machine.ts";

setDefaultTimeout(90_000);

const sudo = await needs("linux", "root", "sshd", "ip", "nft", "sudo");
const container = await needs("podman");
const ssh = await needs("sshd");

const AS_ROOT = { ...DECLARED, risk: "high", privesc: true };

interface Place {
  readonly flags: Flags;
  readonly path: string;
  /** Where the user's ssh configuration is. */
  readonly home?: string;
  readonly keep?: ApprovalAnswer;
}

async function working<T>(
  turns: readonly Turn[],
  { flags, path, home, keep = { kind: "no" } }: Place,
  work: (run: Run, here: Here) => Promise<T>,
): Promise<T> {
  const answer = ({ keep: asked, typed }: ApprovalRequest): ApprovalAnswer =>
    asked === undefined ? { kind: "yes", ...(typed === undefined ? {} : { typed }) } : keep;
  await using here = new Here([...turns, { text: "done" }], { answer });
  process.env.PATH = path;
  if (home !== undefined) here.write("home/.ssh/config", readFileSync(join(home, ".ssh/config")));
  const run = await here.compose({ "no-tmux": true, ...flags });
  await drain(run.agent.runTurn("do it", new AbortController().signal));
  return await work(run, here);
}

const undone = async (run: Run, which = "") =>
  ofType(await drain(undo(run, which, new AbortController().signal)), "tool_finished").map(({ outcome }) => outcome);

const SYSTEM_FILES = ["/etc/app.conf", "/usr/local/share/app.conf", "/var/lib/app.conf", "/var/log/app.log"];

/** A command, write_file and edit_file each change system files; /undo puts all of them back. */
async function undoesSystemFiles(place: Place, become: string): Promise<void> {
  const turns = SYSTEM_FILES.flatMap((path) => [
    shell(`printf 'one\\n' | ${become} tee ${path} ${path}.new`, AS_ROOT),
    call("edit_file", { path, old_text: "one", new_text: "two", sudo: true }),
    call("write_file", { path: `${path}.written`, content: "new\n", sudo: true }),
  ]);
  await working(turns, place, async (run, here) => {
    const look = async () => {
      const { files } = await run.target.get();
      const names = SYSTEM_FILES.flatMap((path) => [path, `${path}.new`, `${path}.written`]);
      return (await files.look(names.map((path) => ({ path, follow: false })))).map(({ state }) =>
        state.kind === "file" ? Buffer.from(state.bytes).toString() : state.kind,
      );
    };
    expect(await look()).toEqual(SYSTEM_FILES.flatMap(() => ["two\n", "one\n", "new\n"]));
    expect(await undone(run, "all")).toEqual(SYSTEM_FILES.flatMap(() => ["done", "done", "done"]));
    expect(await look()).toEqual(SYSTEM_FILES.flatMap(() => ["missing", "missing", "missing"]));
    const asked = here.asked.filter(({ tool }) => tool === "undo");
    expect(asked.map(({ risk }) => risk)).toEqual(asked.map(() => "high"));
  });
}

sudo.describe("with sudo", () => {
  let machine: SudoMachine;
  beforeAll(async () => {
    machine = await sudoMachine("vault");
  });
  afterAll(() => machine?.[Symbol.asyncDispose]());
  const place = () => ({ flags: { ssh: "admin@vault" }, path: machine.env.PATH });

  sudo.test.each([
    ["root@vault", ""],
    ["admin@vault", "sudo"],
  ])("system files are put back for %s", async (ssh, become) => {
    for (const path of ["/usr/local/share", "/var/lib", "/var/log"]) machine.run(`mount -t tmpfs tmpfs ${path}`);
    await undoesSystemFiles({ ...place(), flags: { ssh } }, become);
    for (const path of ["/usr/local/share", "/var/lib", "/var/log"]) machine.run(`umount ${path}`);
  });

  sudo.test("a file written as root is restored as root, with its owner and mode", async () => {
    machine.run("echo old >/etc/app.conf; chown root:daemon /etc/app.conf; chmod 640 /etc/app.conf");
    const look = () => machine.run("cat /etc/app.conf; stat -c '%U:%G %a' /etc/app.conf");
    const before = look();
    await working(
      [call("write_file", { path: "/etc/app.conf", content: "new\n", sudo: true })],
      place(),
      async (run) => {
        expect(look()).toStartWith("new\n");
        expect(await undone(run)).toEqual(["done"]);
      },
    );
    expect(look()).toBe(before);
  });

  sudo.test("a file removed by sudo rm comes back as root's", async () => {
    machine.run("echo keep >/etc/motd.buddy; chmod 644 /etc/motd.buddy");
    await working([shell("sudo rm /etc/motd.buddy", AS_ROOT)], place(), async (run, here) => {
      expect(await undone(run)).toEqual(["done"]);
      expect(here.asked.at(-1)).toMatchObject({ tool: "undo", privesc: true });
    });
    expect(machine.run("cat /etc/motd.buddy; stat -c %U /etc/motd.buddy")).toBe("keep\nroot\n");
  });

  sudo.test("what only root can read is named in the result as not kept", async () => {
    machine.run("echo x >/etc/only-root; chmod 600 /etc/only-root");
    await working([shell("sudo rm /etc/only-root", AS_ROOT)], place(), async (_run, here) => {
      expect(String(here.results()[0])).toContain("/etc/only-root (not readable without root)");
    });
  });

  sudo.test("firewall rules come back, or stay when they are kept; the answer takes no root", async () => {
    const turn = [shell("sudo nft add table inet guarded", AS_ROOT)];
    await working(turn, place(), async (_run, here) => expect(String(here.results()[0])).toContain("was reverted"));
    expect(machine.run("nft list ruleset")).not.toContain("guarded");
    const keep = { ...place(), keep: { kind: "yes" } as const };
    await working(turn, keep, async (_run, here) => expect(String(here.results()[0])).toContain("kept"));
    expect(machine.run("nft list ruleset")).toContain("guarded");
  });

  sudo.test("without the right to use sudo nothing runs, and the result says why", async () => {
    const guest = { flags: { ssh: "guest@vault" }, path: machine.env.PATH };
    await working([shell("sudo nft add table inet never", AS_ROOT)], guest, async (_run, here) => {
      expect(String(here.results()[0])).toContain("no revert could be prepared");
    });
    expect(machine.run("nft list ruleset")).not.toContain("never");
  });
});

container.test("in a container: system files are put back for its root", async () => {
  await using box = await containerTarget();
  await box.engine("exec", box.name, "mkdir", "-p", ...SYSTEM_FILES.map((path) => dirname(path)));
  await undoesSystemFiles({ flags: { container: box.name }, path: `${box.env["PATH"]}` }, "");
});

container.test("in a container: a removed file comes back", async () => {
  await using box = await containerTarget();
  const flags = { container: box.name };
  const path = `${box.env["PATH"]}`;
  const turns = [call("write_file", { path: "/tmp/f", content: "one\n" }), shell("rm /tmp/f", { ...DECLARED })];
  await working(turns, { flags, path }, async (run) => {
    expect(await undone(run)).toEqual(["done"]);
    const target = await run.target.get();
    expect((await target.files.read("/tmp/f")).text).toBe("one\n");
  });
});

ssh.test("on several machines: one change a machine, and all of them are undone after a resume", async () => {
  const fleet = await machines(["web01", "web02"]);
  const turns = [call("write_file", { path: "~/name", content: "changed\n" })];
  const look = () => fleet.names.map((name) => readFileSync(join(fleet.home(name), "name"), "utf8"));
  const before = look();
  await working(
    turns,
    { flags: { on: "web01,web02" }, path: fleet.env.PATH, home: fleet.env.HOME },
    async (run, here) => {
      expect(look()).toEqual(["changed\n", "changed\n"]);
      await run[Symbol.asyncDispose]();
      // None of them is connected yet.
      const again = await here.compose({ on: "web01,web02", "no-tmux": true }, { resume: run.sessions.id });
      expect(await undone(again, "all")).toEqual(["done", "done"]);
    },
  );
  expect(look()).toEqual(before);
});
