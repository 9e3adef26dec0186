/**
 * The read-only namespace cannot be left or undone from inside, follows the mounts of the machine, and ends with its target.
 */
import { expect, jest } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTarget } from "../../../src/targets/open.ts";
import { NAMESPACE } from "../../../src/targets/read-only/standing-shell.ts";
import type { Target } from "../../../src/targets/target.ts";
import { needs } from "../../support/needs.ts";
import { processesWith } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { LOCAL, type Place } from "../../../src/targets/place.ts";
import { targetOptions } from "../../support/target-options.ts";

const { test } = await needs("linux", "root");

const open = (place: Place = LOCAL): Promise<Target> =>
  openTarget(
    targetOptions({
      place,
    }),
  );

async function inside(target: Target, text: string): Promise<string> {
  const { output, stderr } = await target.shell.run(text, { waitMs: 20_000, unasked: { inNamespace: true } });
  return output.head + (stderr?.head ?? "");
}

test("nothing in it makes it writable again or leads out of it", async () => {
  await using target = await open();
  expect(await target.locks.settled).toMatchObject({ kind: "ready", sealed: true });
  const mark = `/tmp/buddy-escape-${crypto.randomUUID()}`;
  const attempts = [
    `: >${mark}`,
    `mount -o remount,rw / ; : >${mark}`,
    `mount -o remount,bind,rw /tmp ; : >${mark}`,
    `mount -t tmpfs x /tmp ; : >${mark}`,
    `umount -l /tmp ; : >${mark}`,
    `: >/proc/1/root${mark}`,
    `: >/proc/$PPID/root${mark}`,
    `: >/proc/$PPID/cwd/../../../../../..${mark}`,
    `nsenter -m -t 1 touch ${mark}`,
    `nsenter -m -t $PPID touch ${mark}`,
    `unshare -Urm sh -c 'mount -o remount,bind,rw / ; : >${mark}'`,
    `chroot /proc/1/root touch ${mark}`,
    `for f in /proc/self/fd/*; do : >"$f/..${mark}"; done`,
    `for f in /proc/$$/fd/* /proc/$PPID/fd/*; do printf 'touch ${mark}\\n' >"$f"; done`,
    `for f in /proc/$$/fd/*; do printf 'touch ${mark}\\0' >"$f"; done`,
  ];
  for (const text of attempts) {
    await inside(target, `${text} 2>&1`);
    await target.shell.run("true", { waitMs: 20_000 });
    expect({ text, exists: existsSync(mark) }).toEqual({ text, exists: false });
  }
});

test("half a minute after it was made it was reported as unavailable", async () => {
  jest.useFakeTimers();
  await using target = await open();
  const made = await target.locks.settled;
  jest.advanceTimersByTime(31_000);
  jest.useRealTimers();
  expect(target.locks.namespace).toEqual(made);
});

test("in a chroot it has the files of the chroot, not those of the machine around it", async () => {
  const root = mkdtempSync(join(tmpdir(), "buddy-namespace-chroot-"));
  // The whole machine below another root directory, and one file more; all of it gone with the process.
  const each = `if [ -L "$d" ]; then cp -P "$d" ${root}; else mkdir "${root}$d" && mount --rbind "$d" "${root}$d"; fi`;
  const machine =
    `mount -t tmpfs none ${root} && for d in /*; do [ ! -d "$d" ] || { ${each}; } || exit 1; done && ` +
    `mount -t tmpfs none ${root}/mnt && echo within >${root}/mnt/mark`;
  const argv = ["unshare", "-m", "sh", "-c", `${machine} && exec chroot ${root} "$@"`, "sh"];
  await using target = await open({ name: "root", path: [{ kind: "via", argv }], names: ["root"] });
  expect(await target.locks.settled).toMatchObject({ kind: "ready", sealed: true });
  expect(await inside(target, "cat /mnt/mark; : >/mnt/other")).toMatch(/^within\n.*Read-only file system/s);
  // bash said that it could not find its directory: it began in that of the machine around it.
  const { id } = await target.background.start("pwd -P", { cwd: "/mnt", unasked: { inNamespace: true } });
  let said = "";
  await until(async () => {
    const { status, stdout, stderr } = await target.background.output(id);
    said += stdout + stderr;
    return status === "completed";
  }, "the background shell ends");
  expect(said).toBe("/mnt\n");
  rmSync(root, { recursive: true });
});

test("for a user, containers of root were enough that there was none: their file systems are out of reach", async () => {
  const at = realpathSync(mkdtempSync(join(tmpdir(), "buddy-namespace-user-")));
  const [shared, closed, home] = ["shared", "closed", "home"].map((name) => join(at, name)) as [string, string, string];
  const machine =
    `chmod 755 ${at} && mkdir -p ${shared} ${closed}/container ${home} && chown 12345 ${home} && ` +
    `mount -t tmpfs none ${shared} && chmod 777 ${shared} && ` +
    `mount -t tmpfs none ${closed}/container && chmod 700 ${closed} && echo mounted && read -r end`;
  const holder = Bun.spawn(["unshare", "-m", "sh", "-c", machine], { stdin: "pipe", stdout: "pipe" });
  try {
    await holder.stdout.getReader().read();
    const user = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "env", `HOME=${home}`];
    const argv = ["nsenter", "-m", "-t", String(holder.pid), ...user];
    await using target = await open({ name: "user", path: [{ kind: "via", argv }], names: ["user"] });
    expect(await target.locks.settled).toMatchObject({ kind: "ready" });
    expect(await inside(target, `id -u; : >${shared}/made`)).toMatch(/^12345\n.*Read-only file system/s);
    expect(await inside(target, `ls ${closed}/container`)).toContain("Permission denied");
  } finally {
    holder.kill();
    await holder.exited;
    rmSync(at, { recursive: true });
    for (const parent of ["/tmp", tmpdir()]) rmSync(join(parent, "buddy-12345"), { recursive: true, force: true });
  }
});

test("one clean shell takes texts until the shell itself runs something, and is part of none of its state", async () => {
  await using target = await open();
  await target.locks.settled;
  const first = await inside(target, "echo $$");
  expect(await inside(target, "x=1; f() { :; }; umask 077; set -f; echo $$")).toBe(first);
  const clean =
    "echo ${x-unset} $(umask) $- $#; declare -F; compgen -v __buddy; for f in 4 5 6 7 8; do [ ! -e /dev/fd/$f ] || echo $f; done; exit 3";
  const seen = await target.shell.run(clean, { waitMs: 20_000, unasked: { inNamespace: true } });
  expect(seen).toMatchObject({ outcome: { kind: "exited", code: 3 }, output: { head: "unset 0022 hpBc 0\n" } });
  expect(await inside(target, "kill -9 $BASHPID; echo no")).toBe("");
  expect(await inside(target, "echo $$")).toBe(first);
  // Neither waits for it, nor sees it.
  const approved = await target.shell.run("export LC_TIME=POSIX; wait; jobs; ulimit -n 99", { waitMs: 20_000 });
  expect(approved).toMatchObject({ outcome: { kind: "exited", code: 0 }, output: { head: "" } });
  expect(await inside(target, "echo $LC_TIME $(ulimit -n)")).toBe("POSIX 99\n");
  expect(await inside(target, "echo $$")).not.toBe(first);
  expect(await inside(target, "grep SigIgn </proc/self/status")).toMatch(/:\s0+\n$/);
});

test("a clean shell that was killed is replaced, and a text that ran is not run again", async () => {
  await using target = await open();
  await target.locks.settled;
  // The one that stays: on a busy machine the first text may have had a shell of its own.
  let first = "";
  await until(async () => first === (first = await inside(target, "echo $$")), "two texts in the same shell");
  expect(await target.transport.run(`kill -9 ${first}`)).toMatchObject({ code: 0 });
  expect(await inside(target, "echo alone $$")).not.toBe(`alone ${first}`);
  await inside(target, "echo $$");
  const killed = await target.shell.run("echo once; kill -9 $$; exec sleep 0", {
    waitMs: 20_000,
    unasked: { inNamespace: true },
  });
  expect(killed).toMatchObject({ outcome: { kind: "exited", code: 137 }, output: { head: "once\n" } });
  expect(await inside(target, "echo after")).toBe("after\n");
});

test("capabilities that a container handed down do not make it writable again", async () => {
  const handed = ["setpriv", "--inh-caps", "+sys_admin,+sys_ptrace"];
  const at = realpathSync(mkdtempSync(join(tmpdir(), "buddy-namespace-caps-")));
  const script = join(at, "namespace.sh");
  writeFileSync(script, NAMESPACE);
  const namespace = Bun.spawn([...handed, "sh", script, at], {
    stdin: "pipe",
    stdout: "pipe",
    cwd: "/",
    detached: true,
  });
  try {
    let said = "";
    for await (const chunk of namespace.stdout) {
      said += new TextDecoder().decode(chunk);
      if (said.includes("\n")) break;
    }
    const [, , file = "", ...enter] = said.trim().split("\t");
    const pid = readFileSync(file, "utf8").split(" ")[0] as string;
    const text = `mount -o remount,bind,rw /tmp; touch ${at}/mark; grep CapInh /proc/self/status`;
    const words = enter.map((word) => (word === "@pid@" ? pid : word));
    const { stdout } = Bun.spawnSync([...handed, ...words, "sh", "-c", text]);
    expect({ inheritable: stdout.toString().trim(), exists: existsSync(join(at, "mark")) }).toEqual({
      inheritable: "CapInh:\t0000000000000000",
      exists: false,
    });
  } finally {
    process.kill(-namespace.pid, "SIGKILL");
    await namespace.exited;
    rmSync(at, { recursive: true, force: true });
  }
});

test("a file system that is mounted later is seen in it, read-only", async () => {
  const at = realpathSync(mkdtempSync(join(tmpdir(), "buddy-namespace-mount-")));
  await using target = await open();
  await target.locks.settled;
  Bun.spawnSync(["mount", "-t", "tmpfs", "tmpfs", at]);
  try {
    writeFileSync(join(at, "seen"), "");
    await until(async () => (await inside(target, `ls ${at}`)).includes("seen"), "the new file system");
    expect(await inside(target, `: >${at}/made`)).toContain("Read-only file system");
  } finally {
    Bun.spawnSync(["umount", at]);
    rmSync(at, { recursive: true, force: true });
  }
});

test("it stays the same while no mount changes, and is made again when what holds it is killed", async () => {
  const at = realpathSync(mkdtempSync(join(tmpdir(), "buddy-namespace-same-")));
  const looks = join(at, "looks");
  mkdirSync(join(at, "bin"));
  writeFileSync(join(at, "bin/sleep"), `#!/bin/sh\necho >>${looks}\nexec /bin/sleep 0.02\n`, { mode: 0o755 });
  const script = join(at, "namespace.sh");
  writeFileSync(script, NAMESPACE);
  // In a mount namespace of its own: other tests mount and unmount.
  const namespace = Bun.spawn(["unshare", "-m", "--propagation", "private", "sh", script, at], {
    env: { PATH: `${join(at, "bin")}:${process.env["PATH"]}` },
    stdin: "pipe",
    stdout: "pipe",
    cwd: "/",
    detached: true,
  });
  try {
    const { value } = await namespace.stdout.getReader().read();
    const [word, , file = ""] = new TextDecoder().decode(value).trim().split("\t");
    expect(word).toBe("ready");
    const first = readFileSync(file, "utf8");
    await until(() => existsSync(looks) && readFileSync(looks, "utf8").length > 10, "the mounts are looked at");
    expect(readFileSync(file, "utf8")).toBe(first);
    process.kill(Number(first.split(" ")[0]), "SIGKILL");
    await until(() => existsSync(file) && ![first, ""].includes(readFileSync(file, "utf8")), "it is made again");
  } finally {
    process.kill(-namespace.pid, "SIGKILL");
    await namespace.exited;
    rmSync(at, { recursive: true, force: true });
  }
});

test("its script ends with its stdin, where nothing else is left to end it", async () => {
  const at = realpathSync(mkdtempSync(join(tmpdir(), "buddy-namespace-alone-")));
  const script = join(at, "namespace.sh");
  writeFileSync(script, NAMESPACE);
  const namespace = Bun.spawn(["sh", script, at], { stdin: "pipe", stdout: "pipe", cwd: "/", detached: true });
  try {
    await namespace.stdout.getReader().read();
    await namespace.stdin.end();
    await namespace.exited;
    await until(() => processesWith(at).length === 0, "the end of what it started");
  } finally {
    if (namespace.exitCode === null && namespace.signalCode === null) process.kill(-namespace.pid, "SIGKILL");
    rmSync(at, { recursive: true, force: true });
  }
});

test("it ends with the target, and leaves nothing behind", async () => {
  const target = await open();
  await target.locks.settled;
  let held = "";
  const holders = () => {
    const { stdout } = Bun.spawnSync(["sh", "-c", "for p in /proc/[0-9]*; do readlink $p/ns/mnt; done 2>/dev/null"]);
    return stdout
      .toString()
      .split("\n")
      .filter((one) => one === held).length;
  };
  // Where mounts come and go meanwhile, the namespace is made anew.
  await until(async () => {
    held = (await inside(target, "readlink /proc/self/ns/mnt")).trim();
    return holders() > 0;
  }, "its namespace");
  await target[Symbol.asyncDispose]();
  await until(() => holders() === 0, "its end");
});

test("another user who has taken buddy's directory in /tmp takes away neither the namespace nor a change of directory", async () => {
  const home = mkdtempSync(join(tmpdir(), "buddy-namespace-taken-"));
  const taken = "mkdir -m 700 -p /tmp/buddy-0 && mount -t tmpfs -o uid=4711,mode=777 none /tmp/buddy-0";
  const argv = ["unshare", "-m", "sh", "-c", `${taken} && export HOME=${home} && exec "$@"`, "sh"];
  await using target = await open({ name: "taken", path: [{ kind: "via", argv }], names: ["taken"] });
  expect(await target.locks.settled).toMatchObject({ kind: "ready", sealed: true });
  expect(await inside(target, ": >/tmp/mark")).toContain("Read-only file system");
  const { cwd } = await target.shell.run("cd /usr", { waitMs: 20_000, unasked: { inNamespace: true } });
  expect(cwd).toBe("/usr");
  const { stdout } = await target.transport.run("ls -A /tmp/buddy-0; ls -d /dir 2>/dev/null; :");
  expect(stdout.toString()).toBe("");
  rmSync(home, { recursive: true });
});

test("a directory that cannot be entered by its name runs beside it", async () => {
  const at = realpathSync(mkdtempSync(join(tmpdir(), "buddy-namespace-gone-")));
  mkdirSync(join(at, "sub"));
  await using target = await open();
  await target.locks.settled;
  await target.shell.run(`cd ${at}/sub`);
  rmSync(at, { recursive: true });
  expect(await inside(target, "echo here")).toContain("here\n");
});

test("one whose process was killed is made again before the next text", async () => {
  const others = new Set(processesWith("", process.pid));
  await using target = await open();
  expect(await target.locks.settled).toMatchObject({ kind: "ready" });
  const mark = `/tmp/buddy-escape-${crypto.randomUUID()}`;
  // The script that keeps the namespace is a child of this process, and what has made it comes from there: from a child of its
  // own where mounts have changed since.
  const makes = (pid: number): boolean =>
    processesWith("/namespace.sh", pid).length > 0 || processesWith("", pid).some(makes);
  let keepers: number[] = [];
  await until(() => {
    keepers = processesWith("", process.pid).filter((pid) => !others.has(pid) && makes(pid));
    return keepers.length === 1;
  }, "the script is found");
  process.kill(keepers[0]!, "SIGKILL");
  await until(() => target.locks.namespace.kind !== "ready", "it is seen to be gone");
  expect(await target.locks.settled).toMatchObject({ kind: "ready" });
  expect(await inside(target, `: >${mark} 2>&1`)).toContain("Read-only file system");
  expect(existsSync(mark)).toBe(false);
});
