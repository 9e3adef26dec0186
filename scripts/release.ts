/**
 * Everything of a release in dist/release: `bun scripts/release.ts [TARGET...]`.
 * Raw binaries, the same compressed, SHA256SUMS over both, install.sh, the Homebrew formula, the notes of this version.
 */
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json";
import { type BuildTarget, compile, downloadedRuntime, TARGETS } from "./build.ts";

const ROOT = join(import.meta.dir, "..");
const OUT = join(ROOT, "dist/release");
const BASE = `https://github.com/buddy-terminal/buddy/releases/download/v${version}`;

export function release(targets: readonly BuildTarget[]): void {
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT, { recursive: true });
  const sums = new Map<string, string>();
  for (const target of targets) {
    const name = `buddy-${target}`;
    const path = join(OUT, name);
    compile(target, downloadedRuntime(target), path);
    chmodSync(path, 0o755);
    const binary = readFileSync(path);
    // Bun's gzip writes no name and no time, so that the same binary gives the same archive.
    const packed = Bun.gzipSync(binary, { level: 9 });
    writeFileSync(`${path}.gz`, packed);
    sums.set(name, sha256(binary)).set(`${name}.gz`, sha256(packed));
    console.log(`${name.padEnd(24)} ${mb(binary)} MB, ${mb(packed)} MB compressed`);
  }
  copyFileSync(join(ROOT, "install.sh"), join(OUT, "install.sh"));
  sums.set("install.sh", sha256(readFileSync(join(OUT, "install.sh"))));
  writeFileSync(join(OUT, "SHA256SUMS"), [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join(""));
  if (targets.length === Object.keys(TARGETS).length) writeFileSync(join(OUT, "buddy.rb"), formula(sums));
  writeFileSync(join(OUT, "NOTES.md"), releaseNotes(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), version));
}

/** The Homebrew formula with the version and the sums of these very files. */
export function formula(sums: ReadonlyMap<string, string>): string {
  return readFileSync(join(ROOT, "templates/homebrew.rb"), "utf8")
    .replaceAll("@VERSION@", version)
    .replaceAll("@BASE@", BASE)
    .replace(/@SHA256:([^@]+)@/g, (_, name: string) => {
      const sum = sums.get(name);
      if (sum === undefined) throw new Error(`the formula names ${name}, which was not built`);
      return sum;
    });
}

/** The section of this version in CHANGELOG.md, or what is unreleased yet. */
export function releaseNotes(changelog: string, of: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section =
    sections.find((text) => text.startsWith(`[${of}]`)) ?? sections.find((text) => /^\[Unreleased\]/i.test(text));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section for ${of}`);
  return `${section.slice(section.indexOf("\n")).trim()}\n`;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function mb(bytes: Uint8Array): string {
  return (bytes.length / 1e6).toFixed(1);
}

if (import.meta.main) {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => !(name in TARGETS));
  if (unknown !== undefined) {
    console.error(`unknown target ${unknown}; known: ${Object.keys(TARGETS).join(", ")}`);
    process.exit(2);
  }
  release(names.length > 0 ? (names as BuildTarget[]) : (Object.keys(TARGETS) as BuildTarget[]));
}
