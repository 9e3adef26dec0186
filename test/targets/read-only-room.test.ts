/** The read-only room cannot be left or undone from inside, follows the mounts of the machine, and ends with its target. */
import { expect } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTarget } from "../../src/targets/open.ts";
import type { Target } from "../../src/targets/target.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/until.ts";
import { LOCAL } from "../../src/targets/place.ts";

const { test } = await needs("linux", "root");

const open = (): Promise<Target> =>
  openTarget({
    place: LOCAL,
    tmux: "never",
    agentName: "",
    tmuxSocket: "",
    maxSessions: 1,
    maxPanes: 1,
    backgroundTimeoutMs: 60_000,
    secretEnv: [],
  });

async function inside(target: Target, text: string): Promise<string> {
  const { output, stderr } = await target.shell.run(text, { waitMs: 20_000, unasked: { inRoom: true } });
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
  ];
  for (const text of attempts) {
    await inside(target, `${text} 2>&1`);
    expect({ text, exists: existsSync(mark) }).toEqual({ text, exists: false });
  }
});

test("a file system that is mounted later is seen in it, read-only", async () => {
  const at = realpathSync(mkdtempSync(join(tmpdir(), "buddy-room-mount-")));
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

test("it ends with the target, and leaves nothing behind", async () => {
  const target = await open();
  await target.locks.settled;
  const held = (await inside(target, "readlink /proc/self/ns/mnt")).trim();
  const holders = () => {
    const { stdout } = Bun.spawnSync(["sh", "-c", "for p in /proc/[0-9]*; do readlink $p/ns/mnt; done 2>/dev/null"]);
    return stdout
      .toString()
      .split("\n")
      .filter((one) => one === held).length;
  };
  expect(holders()).toBeGreaterThan(0);
  await target[Symbol.asyncDispose]();
  await until(() => holders() === 0, "its end");
});

test("a directory that cannot be entered by its name runs beside it", async () => {
  const at = realpathSync(mkdtempSync(join(tmpdir(), "buddy-room-gone-")));
  mkdirSync(join(at, "sub"));
  await using target = await open();
  await target.locks.settled;
  await target.shell.run(`cd ${at}/sub`);
  rmSync(at, { recursive: true });
  expect(await inside(target, "echo here")).toContain("here\n");
});
