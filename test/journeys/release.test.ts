import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";
import { type BuildTarget, compile, downloadedRuntime } from "../../scripts/build.ts";
import { muslLibraries } from "../support/musl.ts";
import { needs } from "../support/needs.ts";

const arm64 = await needs("linux", "arm64");
const musl = await needs("linux-x64", "musl");
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "buddy-release-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function build(target: BuildTarget, name: string): Promise<string> {
  const path = join(directory, name);
  await compile(target, downloadedRuntime(target), path);
  return path;
}

function output(command: string[], env: Record<string, string> = {}): string {
  const done = Bun.spawnSync(command, {
    cwd: directory,
    env: { PATH: process.env.PATH ?? "", HOME: directory, ...env },
    stderr: "pipe",
  });
  return done.stdout.toString() + done.stderr.toString();
}

describe("a release", () => {
  test("of the same source is the same to the byte", async () => {
    const one = Bun.hash(readFileSync(await build("linux-x64", "one")));
    const two = Bun.hash(readFileSync(await build("linux-x64", "two")));
    expect(one).toBe(two);
  }, 300_000);

  arm64.test(
    "for 64-bit ARM starts (emulated)",
    async () => {
      const path = await build("linux-arm64", "arm64");
      const emulated = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", path];
      expect(output([...emulated, "--version"])).toBe(`buddy ${version}\n`);
      expect(output([...emulated, "exec", "--help"])).toContain("Exit codes:");
    },
    300_000,
  );

  musl.test(
    "for musl starts on the musl loader",
    async () => {
      const path = await build("linux-x64-musl", "musl");
      const libraries = join(directory, "libraries");
      mkdirSync(libraries);
      muslLibraries(libraries);
      const env = { LD_LIBRARY_PATH: libraries };
      expect(output([path, "--version"], env)).toBe(`buddy ${version}\n`);
      expect(output([path, "sessions"], env)).toBe("no saved sessions in this directory\n");
    },
    300_000,
  );
});
