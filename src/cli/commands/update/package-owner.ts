/** The package manager that installed a file: only it may replace it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { BuddyError } from "../../../lib/errors.ts";
import { askProgram, lookUpEnv } from "../../../lib/start-child.ts";

interface PackageOwner {
  readonly manager: string;
  /** The command that updates it. */
  readonly how: string;
}

export function refusePackaged(executable: string): void {
  const owner = packageOwner(executable);
  if (owner === undefined) return;
  throw new BuddyError("usage", `${executable} belongs to ${owner.manager}`, {
    hint: `Update it with ${owner.manager}: ${owner.how}`,
  });
}

/** `path` without links in it. */
export function packageOwner(path: string): PackageOwner | undefined {
  const byPath = PATHS.find(([pattern]) => pattern.test(path));
  if (byPath !== undefined) return byPath[1];
  return DATABASES.find(({ ask, files }) => files.some((file) => existsSync(file)) && owns(ask, path));
}

const PATHS: readonly (readonly [RegExp, PackageOwner])[] = [
  [/\/(?:Cellar|linuxbrew|homebrew)\//, { manager: "Homebrew", how: "brew upgrade buddy" }],
  [/\/node_modules\//, { manager: "npm", how: "npm install --global the two newer .tgz files" }],
  [/^\/nix\/store\//, { manager: "Nix", how: "nix profile upgrade buddy" }],
  [/^\/snap\//, { manager: "snap", how: "snap refresh buddy" }],
];

/** `files`: of its database. Without one, rpm is not asked: it would make an empty one in HOME. */
const DATABASES: readonly (PackageOwner & { readonly ask: readonly string[]; readonly files: readonly string[] })[] = [
  {
    manager: "dpkg",
    how: "install the newer .deb: apt install ./buddy_VERSION_ARCH.deb",
    ask: ["dpkg", "-S"],
    files: ["/var/lib/dpkg/status"],
  },
  {
    manager: "rpm",
    how: "install the newer .rpm: dnf install ./buddy-VERSION.ARCH.rpm",
    ask: ["rpm", "-qf"],
    files: ["/usr/lib/sysimage/rpm", "/var/lib/rpm"].flatMap((directory) =>
      ["rpmdb.sqlite", "Packages.db", "Packages"].map((name) => join(directory, name)),
    ),
  },
  {
    manager: "apk",
    how: "install the newer .apk: apk add --allow-untrusted FILE",
    ask: ["apk", "info", "--who-owns"],
    files: ["/lib/apk/db/installed", "/usr/lib/apk/db/installed"],
  },
  { manager: "pacman", how: "pacman -Syu", ask: ["pacman", "-Qo"], files: ["/var/lib/pacman/local"] },
];

function owns([program = "", ...args]: readonly string[], path: string): boolean {
  const PATH = `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`;
  if (Bun.which(program, { PATH }) === null) return false;
  const env = lookUpEnv({ PATH, LC_ALL: "C" });
  return askProgram([program, ...args, path], { timeoutMs: 10_000, env }).code === 0;
}
