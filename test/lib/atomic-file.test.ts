/** A file is replaced as a whole, or nothing is left of the attempt. */
import { expect, test } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "../../src/lib/files.ts";
import { processMark } from "../../src/lib/processes.ts";

test("directories are made private, the mode is exact, a failure leaves no temporary file", () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-atomic-"));
  try {
    const path = join(dir, "a/b/file");
    writeFileAtomic(path, "one");
    writeFileAtomic(path, new TextEncoder().encode("two"), 0o644);
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(statSync(join(dir, "a")).mode & 0o777).toBe(0o700);
    mkdirSync(join(dir, "taken"));
    expect(() => writeFileAtomic(join(dir, "taken"), "x")).toThrow();
    expect(readdirSync(dir).sort()).toEqual(["a", "taken"]);
    expect(readdirSync(join(dir, "a/b"))).toEqual(["file"]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test("a link is followed, and a pipe or device is written to instead of being replaced", async () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-atomic-"));
  try {
    writeFileSync(join(dir, "real"), "old");
    symlinkSync("real", join(dir, "link"));
    writeFileAtomic(join(dir, "link"), "new");
    expect(readFileSync(join(dir, "real"), "utf8")).toBe("new");
    expect(lstatSync(join(dir, "link")).isSymbolicLink()).toBe(true);

    Bun.spawnSync(["mkfifo", join(dir, "pipe")]);
    const reader = Bun.spawn(["cat", join(dir, "pipe")], { stdout: "pipe" });
    writeFileAtomic(join(dir, "pipe"), "through");
    expect(await reader.stdout.text()).toBe("through");
    expect(lstatSync(join(dir, "pipe")).isFIFO()).toBe(true);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test("a special file is written into, never replaced", async () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-atomic-"));
  try {
    const pipe = join(dir, "pipe");
    Bun.spawnSync(["mkfifo", pipe]);
    const reader = Bun.spawn(["cat", pipe], { stdout: "pipe" });
    writeFileAtomic(pipe, "through");
    expect(await reader.stdout.text()).toBe("through");
    expect(statSync(pipe).isFIFO()).toBe(true);
    writeFileAtomic("/dev/null", "x");
    expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test("the temporary file of a write that was killed is removed by the next one, that of a live process or of another container is not", () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-atomic-"));
  const gone = processMark().replace(String(process.pid), String(Bun.spawnSync(["true"]).pid));
  const elsewhere = `${gone.split("-")[0]}-1`;
  try {
    const kept = [`.file.${processMark()}.abc123`, `.file.${elsewhere}.abc123`, `.other.${gone}.abc123`, ".file.notes"];
    for (const name of [...kept, `.file.${gone}.abc123`]) writeFileSync(join(dir, name), "half");
    writeFileAtomic(join(dir, "file"), "whole");
    expect(readdirSync(dir).sort()).toEqual([...kept, "file"].sort());
  } finally {
    rmSync(dir, { recursive: true });
  }
});
