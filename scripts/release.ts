/**
 * Everything of a release in dist/release: `bun scripts/release.ts [TARGET...]`.
 * Raw binaries, tar.gz and tar.zst with man page and completions, packages for Debian, rpm, Alpine and npm, install.sh
 * and the Homebrew formula with addresses filled in, SHA256SUMS over all of them, and the notes of this version.
 */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { consola } from "consola";
import { version } from "../package.json";
import { type BuildTarget, compile, downloadedRuntime, TARGETS } from "./build.ts";
import { releaseAddress } from "./release/address.ts";
import { type ArchiveFile, file, gzip, sha256, sourceDate, tar, zstd } from "./release/archives.ts";
import { linuxPackages, type PackageContents, type PackageFacts } from "./release/linux-packages.ts";
import { thirdPartyNotices } from "./release/notices.ts";
import { mainPackage, platformPackage } from "./release/npm-packages.ts";

const ROOT = join(import.meta.dir, "..");
const OUT = join(ROOT, "dist/release");

async function release(targets: readonly BuildTarget[]): Promise<void> {
  // Before the minutes of building: a release without notes is refused.
  const notes = releaseNotes(text("CHANGELOG.md"), version);
  const { homepage, releases } = releaseAddress();
  const facts: PackageFacts = { version, homepage, mtime: sourceDate() };
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT, { recursive: true });
  const sums = new Map<string, string>();
  const put = (name: string, data: Uint8Array | string, mode = 0o644): void => {
    const path = join(OUT, name);
    writeFileSync(path, data);
    chmodSync(path, mode);
    sums.set(name, sha256(readFileSync(path)));
    consola.success(`${name.padEnd(40)} ${(readFileSync(path).length / 1e6).toFixed(1).padStart(6)} MB`);
  };
  for (const target of targets) {
    const path = join(OUT, `buddy-${target}`);
    await compile(target, downloadedRuntime(target), path, { releases });
    put(`buddy-${target}`, readFileSync(path), 0o755);
    const all = contents(readFileSync(path));
    for (const [name, data] of archives(target, all, facts)) put(name, data);
    for (const [name, data] of linuxPackages(target, all, facts)) put(name, data);
    put(...platformPackage(target, all, facts));
  }
  put(...mainPackage(contents(new Uint8Array()), facts, text("README.md")));
  put("install.sh", installScript(text("install.sh"), releases), 0o755);
  if (targets.length === Object.keys(TARGETS).length) put("buddy.rb", formula(sums, releases));
  writeFileSync(join(OUT, "SHA256SUMS"), [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join(""));
  writeFileSync(join(OUT, "NOTES.md"), `${notes}\n${installText(releases)}`);
}

function text(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The binary, and what goes with it on every system. */
export function contents(binary: Uint8Array): PackageContents {
  return {
    binary,
    man: text("docs/buddy.1"),
    license: text("LICENSE"),
    notices: thirdPartyNotices(),
    completions: {
      bash: text("templates/completion/buddy.bash"),
      zsh: text("templates/completion/buddy.zsh"),
      fish: text("templates/completion/buddy.fish"),
    },
  };
}

/** `buddy-VERSION-TARGET.tar.gz` and `.tar.zst`; a lower level is for tests. */
export function archives(
  target: string,
  { binary, man, license, notices, completions }: PackageContents,
  { version: of, mtime }: PackageFacts,
  level?: { readonly gzip: 1; readonly zstd: 1 },
): (readonly [name: string, data: Buffer])[] {
  const name = `buddy-${of}-${target}`;
  const files: ArchiveFile[] = [
    file(`${name}/LICENSE`, license),
    file(`${name}/THIRD-PARTY-NOTICES`, notices),
    file(`${name}/buddy`, binary, 0o755),
    file(`${name}/buddy.1`, man),
    file(`${name}/completions/_buddy`, completions.zsh),
    file(`${name}/completions/buddy.bash`, completions.bash),
    file(`${name}/completions/buddy.fish`, completions.fish),
  ];
  const plain = tar(files, mtime);
  return [
    [`${name}.tar.gz`, gzip(plain, level?.gzip ?? 9)],
    [`${name}.tar.zst`, zstd(plain, level?.zstd ?? 22)],
  ];
}

/** install.sh with the address it downloads from; the one in the repository has none. */
export function installScript(template: string, releases: string): string {
  if (!template.includes("@RELEASES@")) throw new Error("install.sh has no place for the address of the releases");
  return template.replaceAll("@RELEASES@", releases);
}

/** The Homebrew formula with the version and the sums of these very files. */
export function formula(sums: ReadonlyMap<string, string>, releases: string): string {
  return text("templates/homebrew.rb")
    .replaceAll("@VERSION@", version)
    .replaceAll("@HOMEPAGE@", releases.replace(/\/releases$/, ""))
    .replaceAll("@BASE@", `${releases}/download/v${version}`)
    .replace(/@SHA256:([^@]+)@/g, (_, name: string) => {
      const sum = sums.get(name);
      if (sum === undefined) throw new Error(`the formula names ${name}, which was not built`);
      return sum;
    });
}

/**
 * The section of this version in CHANGELOG.md. For a candidate (1.0.0-rc.1) that of the version it leads to, or what is
 * unreleased; a release must have its own.
 */
export function releaseNotes(changelog: string, of: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const [final = "", candidate] = of.split("-");
  const named = (name: string) => sections.find((section) => section.toLowerCase().startsWith(`[${name}]`));
  const section = named(of) ?? (candidate === undefined ? undefined : (named(final) ?? named("unreleased")));
  const notes = section?.slice(section.indexOf("\n")).trim();
  if (!notes) throw new Error(`CHANGELOG.md has no notes for ${of}: write a section "## [${of}] - DATE"`);
  return `${notes}\n`;
}

/** The end of the notes: how to get this version. npm by files: whether its registry has them is a setting. */
export function installText(releases: string): string {
  const files = `${releases}/download/v${version}`;
  return `## Install

\`\`\`sh
curl -fsSL ${files}/install.sh | sh
\`\`\`

or one of the packages below: \`apt install ./FILE.deb\`, \`dnf install ./FILE.rpm\`, \`apk add --allow-untrusted FILE.apk\`,
\`npm install --global ./npm-buddy-${version}.tgz ./npm-buddy-TARGET-${version}.tgz\`. \`buddy update\` brings newer versions where install.sh was used. Check where a file
was built: \`gh attestation verify FILE --repo ${new URL(releases).pathname.split("/").slice(1, 3).join("/")}\`.
`;
}

if (import.meta.main) {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => !(name in TARGETS));
  if (unknown !== undefined) {
    consola.error(`unknown target ${unknown}; known: ${Object.keys(TARGETS).join(", ")}`);
    process.exit(2);
  }
  await release(names.length > 0 ? (names as BuildTarget[]) : (Object.keys(TARGETS) as BuildTarget[]));
}
