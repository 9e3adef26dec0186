/**
 * npm packages: `@OWNER/buddy` with a launcher, and one package a platform with the binary, of which npm installs the
 * fitting one. In the scope of the repository's owner: `buddy` is the package of somebody else, and anybody could
 * publish a `buddy-linux-x64` for npm to install.
 */
import { type BuildTarget, TARGETS } from "../build.ts";
import { file, gzip, tar } from "./archives.ts";
import type { PackageContents, PackageFacts } from "./linux-packages.ts";

/** File name of the tarball → bytes: what `npm publish FILE` takes. */
export function platformPackage(
  target: BuildTarget,
  { binary, license, notices }: PackageContents,
  { version, homepage, mtime }: PackageFacts,
): readonly [name: string, bytes: Buffer] {
  const [os, cpu, libc] = target.split("-");
  const manifest = {
    name: npmName(homepage, `buddy-${target}`),
    version,
    description: `The binary of buddy for ${target}`,
    license: "MIT",
    homepage,
    repository: repository(homepage),
    os: [os],
    cpu: [cpu],
    ...(os === "linux" && { libc: [libc ?? "glibc"] }),
    files: ["bin/buddy", "THIRD-PARTY-NOTICES"],
  };
  return [
    `npm-buddy-${target}-${version}.tgz`,
    tarball(mtime, [
      file("package/package.json", json(manifest)),
      file("package/LICENSE", license),
      file("package/THIRD-PARTY-NOTICES", notices),
      file("package/bin/buddy", binary, 0o755),
    ]),
  ];
}

export function mainPackage(
  { man, license, completions }: Omit<PackageContents, "binary">,
  { version, homepage, mtime }: PackageFacts,
  readme: string,
): readonly [name: string, bytes: Buffer] {
  const manifest = {
    name: npmName(homepage),
    version,
    description: "A terminal agent for people who run machines",
    license: "MIT",
    homepage,
    repository: repository(homepage),
    bin: { buddy: "bin/buddy.cjs" },
    man: ["man/buddy.1"],
    engines: { node: ">=18" },
    // Of these npm installs the one whose os, cpu and libc fit.
    optionalDependencies: Object.fromEntries(
      Object.keys(TARGETS).map((target) => [npmName(homepage, `buddy-${target}`), version]),
    ),
  };
  return [
    `npm-buddy-${version}.tgz`,
    tarball(mtime, [
      file("package/package.json", json(manifest)),
      file("package/README.md", readme),
      file("package/LICENSE", license),
      file("package/man/buddy.1", man),
      ...Object.entries(completions).map(([shell, text]) => file(`package/completions/buddy.${shell}`, text)),
      file("package/bin/buddy.cjs", launcher(npmName(homepage)), 0o755),
    ]),
  ];
}

/** A package in the scope of the repository's owner. */
export function npmName(homepage: string, name = "buddy"): string {
  return `@${new URL(homepage).pathname.split("/")[1]?.toLowerCase()}/${name}`;
}

/** npm refuses the provenance of a package that does not name the repository it was built in. */
function repository(homepage: string): { type: string; url: string } {
  return { type: "git", url: `git+${homepage}.git` };
}

/**
 * Works with --ignore-scripts, too. Where Node can replace itself it does; elsewhere it waits, and passes signals on,
 * except those that a terminal sends to both: the second Ctrl-C ends buddy at once.
 */
const launcher = (name: string) => `#!/usr/bin/env node
"use strict";
const fs = require("node:fs");
const targets = [process.platform + "-" + process.arch];
if (process.platform === "linux") {
  // By the loader on disk, as install.sh does: npm before 10 and yarn bring both builds.
  const glibc = ["/lib", "/lib64"].some((directory) => {
    try {
      return fs.readdirSync(directory).some((name) => name.startsWith("ld-linux-"));
    } catch {
      return false;
    }
  });
  targets[glibc ? "push" : "unshift"](targets[0] + "-musl");
}
const found = targets.map((target) => {
  try {
    return require.resolve("${name}-" + target + "/bin/buddy");
  } catch {
    return undefined;
  }
}).find((path) => path !== undefined);
if (found === undefined) {
  console.error("buddy: the package for " + targets[0] + " is not installed");
  console.error("  install again without --omit=optional (--no-optional); builds exist for Linux and macOS on x64 and arm64");
  process.exit(1);
}
const args = process.argv.slice(2);
const noWarning = process.emitWarning;
process.emitWarning = () => {};
try {
  if (typeof process.execve === "function") process.execve(found, [found, ...args], process.env);
} catch {}
process.emitWarning = noWarning;
let terminal = true;
try {
  fs.closeSync(fs.openSync("/dev/tty", "r"));
} catch {
  terminal = false;
}
const child = require("node:child_process").spawn(found, args, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => {
    if (signal === "SIGTERM" || !terminal) child.kill(signal);
  });
child.on("error", (error) => {
  console.error("buddy: " + found + " cannot be started: " + error.message);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(name);
  if (signal !== null) process.kill(process.pid, signal);
  else process.exit(code ?? 1);
});
`;

function tarball(mtime: number, files: Parameters<typeof tar>[0]): Buffer {
  return gzip(tar(files, mtime));
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
