import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";
import { type BuildTarget, compile, downloadedRuntime, TARGETS } from "../../scripts/build.ts";
import { formula, releaseNotes } from "../../scripts/release.ts";
import { muslLibraries } from "../support/musl.ts";
import { needs } from "../support/needs.ts";

const arm64 = await needs("linux", "arm64");
const musl = await needs("linux-x64", "musl");
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "buddy-release-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function build(target: BuildTarget, name: string): string {
  const path = join(directory, name);
  compile(target, downloadedRuntime(target), path);
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
  test("of the same source is the same to the byte", () => {
    const [one, two] = [build("linux-x64", "one"), build("linux-x64", "two")].map((path) =>
      Bun.hash(readFileSync(path)),
    );
    expect(one).toBe(two as bigint);
  }, 60_000);

  arm64.test(
    "for 64-bit ARM starts (emulated)",
    () => {
      const path = build("linux-arm64", "arm64");
      const emulated = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", path];
      expect(output([...emulated, "--version"])).toBe(`buddy ${version}\n`);
      expect(output([...emulated, "exec", "--help"])).toContain("Exit codes:");
    },
    90_000,
  );

  musl.test(
    "for musl starts on the musl loader",
    () => {
      const path = build("linux-x64-musl", "musl");
      const libraries = join(directory, "libraries");
      mkdirSync(libraries);
      muslLibraries(libraries);
      const env = { LD_LIBRARY_PATH: libraries };
      expect(output([path, "--version"], env)).toBe(`buddy ${version}\n`);
      expect(output([path, "sessions"], env)).toBe("no saved sessions in this directory\n");
    },
    60_000,
  );

  test("has a Homebrew formula with the sums of its files", () => {
    const sums = new Map(Object.keys(TARGETS).map((target, i) => [`buddy-${target}.gz`, String(i).repeat(64)]));
    const text = formula(sums);
    expect(text).not.toContain("@");
    expect(text).toContain(`version "${version}"`);
    expect(text).toContain(`buddy-darwin-arm64.gz"\n      sha256 "${"5".repeat(64)}"`);
    expect(() => formula(new Map())).toThrow(/was not built/);
  });

  test("has the notes of its version", () => {
    const changelog = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [1.0.0] - 2026-01-01\n\n- first\n";
    expect(releaseNotes(changelog, "1.0.0")).toBe("- first\n");
    expect(releaseNotes(changelog, "2.0.0")).toBe("- new\n");
    expect(() => releaseNotes("", "1.0.0")).toThrow(/no section/);
  });
});
