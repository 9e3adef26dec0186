/**
 * Machines where tmux is present and of no use: a direct shell with the reason, or an error where a pane is required.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quote } from "../../../src/lib/quote.ts";
import prepareScript from "../../../templates/shell-init/prepare.sh" with { type: "text" };
import { DIRECT_LOOP, DIRECT_START } from "../../../src/targets/direct/direct-scripts.ts";
import { openTarget } from "../../../src/targets/open.ts";
import { OWN_DIRECTORY } from "../../../src/targets/script-line.ts";
import { choosePaneShell } from "../../../src/targets/tmux/bootstrap.ts";
import { PREPARE } from "../../../src/targets/tmux/session-files.ts";
import { ConnectionLost } from "../../../src/targets/errors.ts";
import { TmuxSession } from "../../../src/targets/tmux/tmux-session.ts";
import { openTestTarget, temporaryHome } from "../../support/tmux.ts";
import { needs } from "../../support/needs.ts";
import { targetOptions } from "../../support/target-options.ts";

const { describe, test } = await needs("tmux");

setDefaultTimeout(60_000);

const ROOT = join(import.meta.dir, "../../..");
/** The checkout may be below what gets another file system. */
const SEEN_AT = "/mnt";
const seen = (path: string): string => (path.startsWith(`${ROOT}/`) ? SEEN_AT + path.slice(ROOT.length) : path);
const worker = seen(join(ROOT, "test/support/open-worker.ts"));
const NO_PLACE = 'mount -t tmpfs -o ro none /dev/shm; mkdir -p "$HOME"; mount -t tmpfs -o ro none "$HOME"';

async function openAfter(prepare: string, tmux: "auto" | "required") {
  const options = targetOptions({ tmux, tmuxSocket: `buddy-test-${process.pid}-opening` });
  // Its directory in memory would stay, under the number that the user has in the namespace.
  const script = `mount -t tmpfs none /dev/shm && mount --rbind ${quote(ROOT)} ${SEEN_AT} && cd ${SEEN_AT} && { ${prepare}; exec "$@"; }`;
  const command = [seen(process.execPath), worker, "x", "1", "2", JSON.stringify(options)];
  const child = Bun.spawn(["unshare", process.getuid?.() === 0 ? "-m" : "-rm", "sh", "-c", script, "sh", ...command], {
    stdout: "pipe",
    stderr: "pipe",
  });
  return { out: await new Response(child.stdout).text(), err: await new Response(child.stderr).text() };
}

describe("a target without room for tmux", () => {
  test.each([
    ["a read-only /tmp", "mount -t tmpfs -o ro none /tmp", "Read-only file system"],
    ["a full /tmp", "mount -t tmpfs -o size=4k,nr_inodes=3 none /tmp; cat /dev/zero >/tmp/f", "No space left"],
    ["no pseudo terminals", "mount -t tmpfs none /tmp; mount -t tmpfs none /dev/pts", "create window failed"],
    ["no place to write at all", `mount -t tmpfs -o ro none /tmp; ${NO_PLACE}`, "no private directory"],
  ])("%s: a direct shell, with the reason in one line", async (_, prepare, reason) => {
    const { out } = await openAfter(`( ${prepare} ) 2>/dev/null`, "auto");
    const { kind, wrong, notices } = JSON.parse(out) as { kind: string; wrong: unknown[]; notices: string[] };
    expect({ kind, wrong }).toEqual({ kind: "direct", wrong: [] });
    expect(notices).toEqual([expect.stringContaining(reason)]);
    expect(notices[0]).not.toContain("\n");
  });

  test("is an error where a pane is required", async () => {
    const { out, err } = await openAfter("mount -t tmpfs -o ro none /tmp", "required");
    expect(out).toBe("");
    expect(err).toContain("Read-only file system");
  });
});

test("nothing is made through a link in the place of buddy's directory", () => {
  const trap = mkdtempSync("/var/tmp/buddy-trap-");
  const script = `
mount -t tmpfs none /tmp; mount -t tmpfs none /dev/shm; mkdir /tmp/home; HOME=/tmp/home
ln -s ${trap} /tmp/buddy-7; ln -s ${trap} /dev/shm/buddy-7
echo key | sh -c "$2" sh /tmp/buddy-7/direct-0 '' / job '' "$3"
sh -c "$1" sh session 7`;
  const prepare = `files() { : >"$n/a.sh" && : >"$n/zsh/.zshrc"; }\nk=key s=stamp\n${OWN_DIRECTORY}\n${prepareScript}\necho "$d $r"`;
  const unshare = ["unshare", process.getuid?.() === 0 ? "-m" : "-rm"];
  const { stdout } = Bun.spawnSync([...unshare, "sh", "-c", script, "sh", prepare, DIRECT_LOOP, DIRECT_START]);
  const made = readdirSync(trap);
  rmSync(trap, { recursive: true });
  expect(made).toEqual([]);
  expect(stdout.toString()).toEndWith("/tmp/home/.cache/buddy/session /tmp/home/.cache/buddy/session\n");
});

test("a place without room for the files keeps none of them", () => {
  const script = `
mount -t tmpfs -o size=64k none /tmp; mount -t tmpfs none /dev/shm; mkdir /dev/shm/home; HOME=/dev/shm/home
sh -c "$1" sh session 7; ls -A /tmp/buddy-7`;
  const prepare = `files() { : >"$n/zsh/.zshrc"; printf %s "$(head -c 100000 /dev/zero | tr '\\0' x)" >"$n/large.sh"; }\nk=key s=stamp\n${OWN_DIRECTORY}\n${prepareScript}\necho "$d"`;
  const unshare = ["unshare", process.getuid?.() === 0 ? "-m" : "-rm"];
  const { stdout } = Bun.spawnSync([...unshare, "sh", "-c", script, "sh", prepare]);
  expect(stdout.toString()).toBe("/dev/shm/home/.cache/buddy/session\n");
});

test("a tmux server that does not answer hung for ever", async () => {
  await using place = await openTestTarget("local", { shell: "bash" });
  const server = Number(await place.tmux("display-message", "-p", "#{pid}"));
  process.kill(server, "SIGSTOP");
  try {
    const notices: string[] = [];
    // The same where the whole machine is silent: then tmux is not what to end, and a direct shell does not help either.
    const { transport, identity } = place.target;
    Object.defineProperty(transport, "answers", { value: () => Promise.resolve(false) });
    const session = new TmuxSession({
      transport,
      socket: place.options.tmuxSocket,
      session: identity.tmuxSession ?? "",
      owner: identity.tmuxSession ?? "",
      shell: choosePaneShell(transport.facts, "bash"),
      cwd: "/",
      notice: () => {},
    });
    const lost = session.open().catch((error: unknown) => error);
    await using direct = await openTarget({
      ...place.options,
      tmux: "auto",
      onNotice: (notice) => notices.push(notice.text),
    });
    expect(direct.shell.kind).toBe("direct");
    expect(notices).toHaveLength(2);
    expect(notices[1]).toContain("did not answer");
    expect(await lost).toBeInstanceOf(ConnectionLost);
  } finally {
    process.kill(server, "SIGCONT");
  }
});

test("a tmux server that stops in the middle of a command was taken for a command that runs on", async () => {
  await using place = await openTestTarget("local", { shell: "bash", heartbeatMs: 300 });
  const server = Number(await place.tmux("display-message", "-p", "#{pid}"));
  const { promise: started, resolve } = Promise.withResolvers<void>();
  const running = place.target.shell.run("echo started; sleep 0.2", { onOutput: () => resolve() });
  await started;
  process.kill(server, "SIGSTOP");
  try {
    expect((await running).outcome).toEqual({ kind: "lost", why: expect.stringContaining("did not answer") });
  } finally {
    process.kill(server, "SIGCONT");
  }
  expect((await place.target.shell.run("echo again")).output.head).toContain("again");
});

test("a tmux that ignores signals and does not print its version hung for ever", async () => {
  const bin = mkdtempSync(join(tmpdir(), "buddy-bin-"));
  writeFileSync(join(bin, "tmux"), '#!/bin/sh\ntrap "" TERM HUP; while :; do sleep 1; done\n', { mode: 0o755 });
  const before = process.env["PATH"];
  process.env["PATH"] = `${bin}:${before}`;
  try {
    const notices: string[] = [];
    await using target = await openTarget(
      targetOptions({ tmux: "auto", onNotice: ({ text }) => void notices.push(text) }),
    );
    expect(target.shell.kind).toBe("direct");
    expect(notices).toEqual([expect.stringContaining("did not answer")]);
  } finally {
    process.env["PATH"] = before;
    rmSync(bin, { recursive: true });
  }
});

const root = await needs("linux", "root");

root.test(
  "a full /dev/shm took commands that no shell could read: what is written for each goes elsewhere then",
  () => {
    const mounts = "mount --make-rprivate /; mount -t tmpfs tmpfs /tmp; mount -t tmpfs -o size=4k tmpfs /dev/shm";
    const script = `${mounts}; head -c 4096 /dev/zero >/dev/shm/full; exec sh -c "$1" sh session 0`;
    const argv = ["unshare", "--mount", "sh", "-c", script, "sh", `${PREPARE}\necho "$r"`];
    const { stdout } = Bun.spawnSync(argv, { stdin: Buffer.from("key\n"), stderr: "inherit" });
    expect(stdout.toString()).toBe("/tmp/buddy-0/session\n");
  },
);

root.test("links in the directory of a session are removed, and nothing is written to where they lead", () => {
  const mounts = "mount --make-rprivate /; mount -t tmpfs tmpfs /tmp; mount -t tmpfs tmpfs /dev/shm; umask 077";
  const plant = `for d in /tmp/buddy-0 /dev/shm/buddy-0; do mkdir -p $d/session
for f in opened stamp key run room servers 0.env; do echo kept >/tmp/$f; ln -s /tmp/$f $d/session/$f; done; done`;
  const script = `${mounts}; ${plant}; exec sh -c "$1" sh session 0`;
  const argv = [
    "unshare",
    "--mount",
    "sh",
    "-c",
    script,
    "sh",
    `${PREPARE}\necho "$r"; cat /tmp/[a-z0]*[a-z] | sort -u`,
  ];
  const { stdout } = Bun.spawnSync(argv, { stdin: Buffer.from("key\n"), stderr: "ignore" });
  expect(stdout.toString()).toBe("/dev/shm/buddy-0/session\nkept\n");
});

test("what commands print reaches neither the clipboard nor the terminal of whoever attaches, whatever .tmux.conf says", async () => {
  using home = temporaryHome();
  writeFileSync(
    join(home.path, ".tmux.conf"),
    "set -g @read yes\nset -s set-clipboard on\nset -g -q allow-passthrough on\n",
  );
  await using opened = await openTestTarget("local", { shell: "bash" });
  await opened.target.shell.run("true");
  expect(await opened.tmux("show-options", "-g", "-v", "@read")).toContain("yes");
  expect(await opened.tmux("show-options", "-s", "set-clipboard")).toContain("external");
  const pane = (await opened.tmux("list-panes", "-a", "-F", "#{pane_id}")).trim();
  expect(await opened.tmux("show-options", "-q", "-A", "-p", "-t", pane, "allow-passthrough")).not.toMatch(/\bon\b/);
});

test("a login shell whose path has a space was not found", () => {
  const facts = { loginShell: "/opt/my shells/bash", programs: {} };
  expect(choosePaneShell(facts)).toEqual({ kind: "bash", name: "bash", argv: ["/opt/my shells/bash"] });
  expect(choosePaneShell(facts, "busybox ash").argv).toEqual(["busybox", "ash"]);
  const inFish = { loginShell: "/usr/bin/fish", programs: { fish: "/usr/bin/fish", bash: "/bin/bash" } };
  expect([choosePaneShell(inFish), choosePaneShell(inFish, undefined, true)].map(({ kind }) => kind)).toEqual([
    "fish",
    "bash",
  ]);
});
